import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { compileAgent, createRuntime, executeAgent, type Runtime } from "../../app.ts";
import { systemClock, systemIds } from "../../clock.ts";
import { readWaiting } from "../../compile/guards/waiting.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { StratagraphError } from "../../errors.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import type { ExecuteOptions, ExecuteResult } from "../../runtime/execute-agent.ts";
import type { Status } from "../../state/lifecycle.ts";
import { isRecord } from "../../values/json.ts";
import { type CliIo, type StopReason, UsageError } from "../io.ts";
import { type ChatArguments, resumeCommand } from "../options.ts";
import { exitCodes, reportError } from "../report-error.ts";
import { followTurn, type GivenAnswers } from "../run/follow-turn.ts";
import { type PreparedAgent, prepareAgent, withPrepared } from "../run/prepare-run.ts";
import { titlesOf, turnOptions } from "../run/run-report.ts";
import { openingLines } from "../view/run/lines.ts";
import { outputLayout } from "../view/values.ts";
import { chatReport, plainReport } from "./chat-report.ts";
import { type MessageSource, pipedMessages, typedMessages } from "./read-messages.ts";
import {
  addTurn,
  type Conversation,
  noTotal,
  readSlash,
  runSlash,
  threadLines,
} from "./slash-commands.ts";

/**
 * `stratagraph chat`: turns of an agent in one thread, on a terminal or for the lines of standard input.
 *
 * @returns the exit code: `waits` if the last turn waits for a person, without a terminal also that of a failed one
 * @throws UsageError, and what loading the agent throws; without a terminal also what its turns throw
 */
export async function chatCommand(given: ChatArguments, io: CliIo): Promise<number> {
  if (given.thread !== undefined && !given.save) {
    throw new UsageError(
      "--thread needs the database, which --no-save disables. Drop one of them.",
    );
  }
  if (given.thread !== undefined) checkThreadId(given.thread);
  const prepared = await prepareAgent(given, io);
  return withPrepared(prepared, async () => {
    checkTakesMessage(prepared.definition, given.agent);
    const runtime = await createRuntime({
      ...prepared.services,
      ...(given.save
        ? { folder: join(io.cwd, ".stratagraph") }
        : { checkpointer: new MemorySaver() }),
    });
    try {
      return await new Chat({ given, prepared, runtime, io }).run();
    } finally {
      await runtime.close();
    }
  });
}

/** @throws UsageError for an agent that a message alone is no input of */
function checkTakesMessage({ spec }: AgentDefinition, agent: string): void {
  const { properties, required = [] } = spec.input_schema as Readonly<Record<string, unknown>>;
  const message = isRecord(properties) ? properties["message"] : undefined;
  const takesText = isRecord(message) && (message["type"] ?? "string") === "string";
  const others = Array.isArray(required) ? required.filter((name) => name !== "message") : [];
  if (takesText && others.length === 0) return;
  const found = takesText ? `it also requires ${others.join(", ")}` : "it takes no message";
  throw new UsageError(
    `A chat sends {"message": "…"}, which is no input of agent "${spec.name}": ${found}. Run it with: run ${agent} --input JSON`,
    "no_message_input",
  );
}

interface ChatOptions {
  readonly given: ChatArguments;
  readonly prepared: PreparedAgent;
  readonly runtime: Runtime;
  readonly io: CliIo;
}

/** Statuses after which the next message begins a turn; a thread without one is new. */
const ended: ReadonlySet<unknown> = new Set<Status | undefined>([
  undefined,
  "CREATED",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
]);

class Chat {
  readonly #options: ChatOptions;
  readonly #conversation: Conversation;
  readonly #source: MessageSource;
  /** Why the chat ends early; null if it does not. */
  #stopped: StopReason | null = null;
  #code: number = exitCodes.done;

  constructor(options: ChatOptions) {
    const { given, io } = options;
    this.#options = options;
    this.#conversation = {
      threadId: given.thread ?? systemIds(),
      model: given.model,
      attachments: [],
      last: null,
      total: noTotal,
    };
    this.#source = io.openPrompt === null ? pipedMessages(io.stdin) : typedMessages(io.openPrompt);
  }

  async run(): Promise<number> {
    const { given } = this.#options;
    this.#greet();
    if (given.thread !== undefined && (await this.#isUnfinished())) await this.#turn(null);
    while (this.#goesOn) {
      const message = await this.#nextMessage();
      if (message === null) break;
      if (message.trim() === "") continue;
      const slash = this.#isTyped ? readSlash(message) : null;
      if (slash === null) await this.#reporting(() => this.#turn({ message }));
      else if (!(await this.#runCommand(slash))) break;
    }
    this.#leave();
    const waits = this.#code === exitCodes.waits;
    return this.#isTyped && !waits ? exitCodes.done : this.#code;
  }

  get #isTyped(): boolean {
    return this.#options.io.openPrompt !== null;
  }

  /** A turn that still waits was left by the person, or no one can be asked. */
  get #goesOn(): boolean {
    return this.#stopped === null && this.#code !== exitCodes.waits;
  }

  #greet(): void {
    if (!this.#isTyped) return;
    const { prepared, given } = this.#options;
    const { name, version } = prepared.definition.spec;
    const threadId = given.thread ?? null;
    const { width, style } = outputLayout(this.#options.io);
    this.#print([
      ...openingLines({ agent: { name, version }, model: prepared.model, threadId }, width, style),
      style.dim("/help lists the commands; Ctrl-D leaves."),
      "",
    ]);
  }

  /** Whether the thread waits for a person, or a crash interrupted its turn. */
  async #isUnfinished(): Promise<boolean> {
    const { prepared, runtime } = this.#options;
    const graph = await compileAgent(prepared.definition, runtime);
    const { threadId } = this.#conversation;
    const { snapshot, waiting } = await readWaiting(graph, {
      configurable: { thread_id: threadId },
    });
    return waiting.length > 0 || !ended.has((snapshot.values as { status?: Status }).status);
  }

  async #nextMessage(): Promise<string | null> {
    const leave = new AbortController();
    const release = this.#options.io.onStop((reason) => {
      this.#stopped = reason;
      leave.abort();
    });
    try {
      return await this.#source.next(leave.signal);
    } finally {
      release();
    }
  }

  /** Runs a turn until it ends or waits. Null resumes the one of the thread. */
  async #turn(input: { readonly message: string } | null): Promise<void> {
    const { prepared, runtime, io } = this.#options;
    const { definition } = prepared;
    const { threadId, model, attachments } = this.#conversation;
    const given = { ...this.#options.given, ...(model !== undefined && { model }) };
    const { max_attempts: maxAttempts } = definition.spec.execution_config;
    const showReasoning = given.showReasoning ?? false;
    const report = this.#isTyped
      ? chatReport(
          {
            maxAttempts,
            showReasoning,
            titles: titlesOf(this.#options.prepared),
            resume: this.#resume("run"),
          },
          io,
        )
      : plainReport(io, this.#resume("run"));
    this.#conversation.attachments = [];
    const execute = (
      turnInput: typeof input,
      signal: AbortSignal,
      more: GivenAnswers | AttachmentOptions = {},
    ): Promise<ExecuteResult> => {
      const options: ExecuteOptions = { ...turnOptions(given, { report, signal }), ...more };
      return executeAgent(definition, turnInput, { runtime, threadId, ...options });
    };
    const since = systemClock.monotonic();
    this.#code = await followTurn<ExecuteResult>({
      io: { onStop: (listener) => this.#onStop(listener) },
      report,
      openPrompt: io.openPrompt,
      openRuntime: async () => runtime,
      keepsRuntime: true,
      begin: (_runtime, signal) =>
        execute(input, signal, input === null ? {} : attachmentOptions(attachments)),
      goOn: (_runtime, signal, answers) => execute(null, signal, answers),
      end: (result) => {
        const elapsedMs = systemClock.monotonic() - since;
        this.#conversation.last = result;
        this.#conversation.total = addTurn(this.#conversation.total, result, elapsedMs);
        report.end(result);
      },
    });
  }

  /** Ctrl-C ends a turn; on a terminal the chat goes on, and everything else that stops a turn stops the chat. */
  #onStop(listener: (reason: StopReason) => void): () => void {
    return this.#options.io.onStop((reason) => {
      if (!this.#isTyped || reason !== "SIGINT") this.#stopped = reason;
      listener(reason);
    });
  }

  /** On a terminal, an error of a turn or a command is reported, and the chat goes on. */
  async #reporting(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (thrown) {
      if (!this.#isTyped || !(thrown instanceof StratagraphError)) throw thrown;
      reportError(thrown, this.#options.io, false);
    }
  }

  /** Returns whether the chat goes on. */
  async #runCommand(slash: NonNullable<ReturnType<typeof readSlash>>): Promise<boolean> {
    const { io, prepared, runtime } = this.#options;
    let goesOn = true;
    await this.#reporting(async () => {
      const lines = await runSlash(slash, this.#conversation, {
        cwd: io.cwd,
        ...outputLayout(io),
        resolveModel: async (name) => {
          const config = { ...prepared.definition.spec.llm_config, default_model: name };
          return (await runtime.models.resolve(config)).ref;
        },
        newThreadId: systemIds,
        resume: () => this.#resume("chat"),
      });
      goesOn = lines !== null;
      if (lines !== null) this.#print([...lines, ""]);
    });
    return goesOn;
  }

  #resume(command: "run" | "chat"): string | null {
    const { given, io } = this.#options;
    const { threadId, model } = this.#conversation;
    if (!given.save) return null;
    const now = { ...given, ...(model !== undefined && { model }), command };
    return resumeCommand(now, threadId, io);
  }

  /** Says how to continue the thread, if it has a turn. */
  #leave(): void {
    const { given, io } = this.#options;
    const isStored = given.thread !== undefined || this.#conversation.last !== null;
    const resume = this.#resume("chat");
    if (!isStored || resume === null || (!this.#isTyped && !this.#goesOn)) return;
    const lines = threadLines(this.#conversation.threadId, resume);
    const sink = this.#isTyped ? io.stdout : io.stderr;
    sink.write(lines.map((line) => `${line}\n`).join(""));
  }

  #print(lines: readonly string[]): void {
    this.#options.io.stdout.write(lines.map((line) => `${line}\n`).join(""));
  }
}

interface AttachmentOptions {
  readonly attachments?: readonly { readonly path: string }[];
}

/** The files that go with a message, as `executeAgent` takes them. */
function attachmentOptions(paths: readonly string[]): AttachmentOptions {
  return paths.length === 0 ? {} : { attachments: paths.map((path) => ({ path })) };
}

import type { RunnableConfig } from "@langchain/core/runnables";
import { isGraphInterrupt, type Interrupt } from "@langchain/langgraph";
import { answersInText } from "../../context/answer-form.ts";
import { classifyFailure } from "../../models/failure.ts";
import { yieldToEventLoop } from "../../event-loop.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { workerMessage } from "../../planning/worker-message.ts";
import type { GraphState } from "../../state/channels.ts";
import { cutText } from "../../state/cut-text.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { isRecord } from "../../state/is-record.ts";
import type { CodeWorker } from "../../definition/worker.ts";
import type { SubtaskError } from "../../state/subtask-state.ts";
import type { Subtask } from "../../state/task-plan.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { toJson } from "../../tools/json-value.ts";
import { inspectGiven } from "../loop/inspect-given.ts";
import type { NodeRun } from "../loop/node-body.ts";
import type { RailDesk } from "../loop/rail-desk.ts";
import { turnSignal } from "../loop/turn-signal.ts";
import { withheldFailure } from "../nodes/inspect-output.ts";
import { runSubagent, type Subagent, type SubagentTurn } from "../nodes/run-subagent.ts";
import { attemptNamespace } from "./attempt-namespace.ts";
import { ResultTooLargeError, SubtaskTimeoutError } from "./errors.ts";
import type { PlannerLimits, Worker } from "./planner-parts.ts";

/** What an attempt needs to know of its subtask. */
export interface SubtaskWork {
  readonly subtask: Subtask;
  readonly worker: Worker;
  /** Those that it depends on, in the order in which it names them. */
  readonly dependencies: readonly {
    readonly id: string;
    readonly description: string;
    readonly result: unknown;
  }[];
  /** From 1. */
  readonly attempt: number;
}

/** What one attempt of a subtask came to. */
export type AttemptOutcome =
  | {
      readonly kind: "done";
      readonly result: unknown;
      /** What a guardrail says of the result; null where none says anything. */
      readonly warning: string | null;
      readonly usage: Usage;
    }
  | {
      readonly kind: "failed";
      readonly error: SubtaskError;
      /** Whether another attempt may do better. */
      readonly transient: boolean;
      /** What was asked for before that: 0 where nothing was. */
      readonly retryAfterMs: number;
      readonly usage: Usage;
    }
  | { readonly kind: "waits"; readonly interrupts: readonly Interrupt[] };

type EndedOutcome = Exclude<AttemptOutcome, { kind: "waits" }>;

type Hiding = Pick<RailDesk, "hide">;

/** Characters of an error's message that are kept. */
const messageCharacters = 4000;

/** What an attempt runs in. */
interface AttemptRun {
  readonly state: GraphState;
  readonly run: NodeRun;
  /** Of the node, with what its workers share. */
  readonly config: RunnableConfig;
  /** Aborts with the run, and with the attempt's time. */
  readonly signal: AbortSignal;
}

/**
 * Makes one attempt within its time. An agent ends its turn by itself when its time is over, with what it has done kept
 * in its namespace; code that does not end is left to itself.
 *
 * @throws what ends the whole run: the signal's reason when that aborts, and what an agent's graph throws
 */
export async function attemptSubtask(
  work: SubtaskWork,
  limits: Pick<PlannerLimits, "timeoutSeconds" | "maxResultBytes">,
  at: AttemptRun,
): Promise<AttemptOutcome> {
  const { subtask, worker } = work;
  const { timeoutSeconds } = limits;
  const { rails } = at.run;
  const bounds = turnSignal({
    clock: at.run.parts.clock,
    outer: [at.signal],
    remainingMs: timeoutSeconds * 1000,
    timeUp: () => new SubtaskTimeoutError(subtask.id, timeoutSeconds),
  });
  const { signal } = bounds;
  let spent = noUsage;
  try {
    const outcome =
      worker.kind === "agent"
        ? await runAgent(work, worker.agent, { ...at, signal })
        : await bounds.race(runCode(work, worker.code, { signal, rails }));
    if (outcome.kind === "waits") return outcome;
    spent = outcome.usage;
    signal.throwIfAborted();
    return await bounds.race(
      inspected(limited(outcome, limits.maxResultBytes, rails), worker, {
        ...at,
        callId: subtask.id,
      }),
    );
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    if (!at.signal.aborted) return failed(signal.reason, spent, rails);
    at.run.spend(spent);
  } finally {
    bounds.release();
  }
  throw at.signal.reason;
}

async function runAgent(
  { subtask, dependencies, attempt }: SubtaskWork,
  agent: Subagent,
  { run, config, signal }: AttemptRun,
): Promise<AttemptOutcome> {
  const { rails } = run;
  const { spec } = agent.definition;
  const message = workerMessage(subtask, dependencies);
  const takesResults = isRecord(spec.input_schema["properties"])
    ? Object.hasOwn(spec.input_schema["properties"], "results")
    : false;
  const input = { message, ...(takesResults && { results: resultsOf(dependencies) }) };
  let spent = noUsage;
  try {
    for (let cut = 0; ; cut += 1) {
      const place = namespaced(config, { id: subtask.id, attempt, cut });
      const turn = await runSubagent(
        agent,
        { input, messages: [] },
        { config: place, signal, rails, inside: (origin) => run.inside(origin) },
      );
      spent = addUsage(spent, turn.usage);
      // The process was gone before more than the end of the agent's turn was written: nobody knows of the attempt.
      const isCutOff = turn.status === "CANCELLED" && !signal.aborted;
      if (!isCutOff) return outcomeOf(turn, spent, agent, rails);
    }
  } catch (thrown) {
    if (isGraphInterrupt(thrown)) return { kind: "waits", interrupts: thrown.interrupts };
    throw thrown;
  }
}

function outcomeOf(
  { failure, output }: SubagentTurn,
  usage: Usage,
  agent: Subagent,
  rails: RailDesk,
): AttemptOutcome {
  if (failure === null) return done(plainOutput(output, agent), usage);
  const { cause: code, transient = false } = failure;
  const error = { code, message: cutText(rails.hide(failure.message), messageCharacters) };
  return { kind: "failed", error, transient, retryAfterMs: 0, usage };
}

/** The text itself of an agent that answers in text. */
function plainOutput(output: unknown, { definition }: Subagent): unknown {
  if (!answersInText(definition.spec.output_schema) || !isRecord(output)) return output;
  return output["message"];
}

/** In the namespace of the attempt, with a scratchpad of its own, in which LangGraph counts the subgraphs of a task. */
function namespaced(
  config: RunnableConfig,
  of: Parameters<typeof attemptNamespace>[1],
): RunnableConfig {
  const { configurable = {} } = config;
  const within = String(configurable["checkpoint_ns"]);
  const scratchpad = configurable["__pregel_scratchpad"] as object | undefined;
  return {
    ...config,
    configurable: {
      ...configurable,
      checkpoint_ns: attemptNamespace(within, of),
      ...(scratchpad && { __pregel_scratchpad: { ...scratchpad, subgraphCounter: 0 } }),
    },
  };
}

async function runCode(
  { subtask, dependencies: given, attempt }: SubtaskWork,
  code: CodeWorker,
  { signal, rails }: { readonly signal: AbortSignal; readonly rails: RailDesk },
): Promise<AttemptOutcome> {
  const { id, description, expected_output = "" } = subtask;
  const dependencies = given.map((one) => one.id);
  const results = resultsOf(given);
  // Code gets what was redacted; models read neither that in its result nor in what it throws.
  const told = rails.reveal({ description, expected_output, results });
  const task = { id, ...told, dependencies, attempt, signal };
  try {
    // What is thrown at once is reported as a rejection is, and code that does no I/O leaves the event loop no other turn.
    await yieldToEventLoop();
    signal.throwIfAborted();
    const result = await code.run(task);
    return done(result, noUsage);
  } catch (thrown) {
    return failed(thrown, noUsage, rails);
  }
}

function resultsOf(dependencies: SubtaskWork["dependencies"]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(dependencies.map(({ id, result }) => [id, result]));
}

function done(result: unknown, usage: Usage): EndedOutcome {
  return { kind: "done", result, warning: null, usage };
}

function failed(thrown: unknown, usage: Usage, rails: Hiding): EndedOutcome {
  try {
    return failedWith(thrown, usage, rails);
  } catch {
    return failedWith(new Error("it threw something that cannot be read"), usage, rails);
  }
}

function failedWith(thrown: unknown, usage: Usage, rails: Hiding): EndedOutcome {
  const isOurs = thrown instanceof StratagraphError;
  const failure = isOurs ? null : classifyFailure(thrown);
  const transient = failure?.transient ?? (isOurs && thrown.transient);
  const retryAfterMs = failure?.retryAfterMs ?? 0;
  const code = isOurs ? thrown.code : "worker_error";
  const message = cutText(rails.hide(errorMessage(thrown)), messageCharacters);
  return { kind: "failed", error: { code, message }, transient, retryAfterMs, usage };
}

/** A result as plain JSON; one that is too large fails the subtask, and would do so again. */
function limited(outcome: EndedOutcome, maxBytes: number, rails: Hiding): EndedOutcome {
  if (outcome.kind === "failed") return outcome;
  const { usage } = outcome;
  try {
    const json = toJson(outcome.result ?? null, maxBytes);
    if (json.whole) return { ...outcome, result: json.value };
    return failed(new ResultTooLargeError(json.bytes, json.counted, maxBytes), usage, rails);
  } catch (thrown) {
    return failed(thrown, usage, rails);
  }
}

/** The planner's own models read what its workers gave and threw, as those of an agent read what its tools give. */
async function inspected(
  outcome: EndedOutcome,
  { profile: { name: by } }: Worker,
  at: Pick<AttemptRun, "state" | "run"> & { readonly callId: string },
): Promise<EndedOutcome> {
  const given = outcome.kind === "done" ? outcome.result : outcome.error.message;
  const { callId } = at;
  const looked = await inspectGiven<unknown>(given, { by, stepIndex: null, callId }, at);
  const { value, withheldBy, warning } = looked;
  if (withheldBy !== null) {
    const { cause: code, message } = withheldFailure(`worker "${by}"`, withheldBy);
    const { usage } = outcome;
    const { transient = false, retryAfterMs = 0 } = outcome.kind === "failed" ? outcome : {};
    return { kind: "failed", error: { code, message }, transient, retryAfterMs, usage };
  }
  if (outcome.kind === "failed") {
    return { ...outcome, error: { ...outcome.error, message: String(value) } };
  }
  // Frozen, as several may be given it.
  return { ...outcome, result: deepFreeze(value), warning };
}

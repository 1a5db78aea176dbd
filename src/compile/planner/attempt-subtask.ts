import { deadline } from "../../async.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Interrupt, isGraphInterrupt } from "@langchain/langgraph";
import { v5 as uuidv5 } from "@langchain/core/utils/uuid";
import { answersInText } from "../../context/answer-form.ts";
import type { CodeWorker } from "../../definition/worker.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { yieldToEventLoop } from "../../event-loop.ts";
import { classifyFailure } from "../../models/failure.ts";
import { workerMessage } from "../../planning/prompts.ts";
import type { GraphState } from "../../state/channels.ts";
import type { Subtask, SubtaskError } from "../../state/plan.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { toJson } from "../../values/bounded-json.ts";
import { deepFreeze, isRecord } from "../../values/json.ts";
import { truncateText } from "../../values/text.ts";
import type { NodeContext, NodeRails } from "../loop/node.ts";
import { applyResultRails } from "../loop/tools.ts";
import { withheldFailure } from "../nodes/node-work.ts";
import { runSubagent, type Subagent, type SubagentTurn } from "../nodes/run-subagent.ts";
import {
  type PlannerLimits,
  ResultTooLargeError,
  SubtaskTimeoutError,
  type Worker,
} from "./planner-config.ts";

/** The inputs of a subtask's attempt. */
export interface SubtaskWork {
  readonly subtask: Subtask;
  readonly worker: Worker;
  /** Its dependencies, in the order in which it names them. */
  readonly dependencies: readonly {
    readonly id: string;
    readonly description: string;
    readonly result: unknown;
  }[];
  /** From 1. */
  readonly attempt: number;
}

/** The outcome of one attempt of a subtask. */
export type AttemptOutcome =
  | {
      readonly kind: "done";
      readonly result: unknown;
      /** A guardrail's warning about the result; null if there is none. */
      readonly warning: string | null;
      readonly usage: Usage;
    }
  | {
      readonly kind: "failed";
      readonly error: SubtaskError;
      /** Whether another attempt may succeed. */
      readonly transient: boolean;
      /** Requested delay before the next attempt; 0 if there was none. */
      readonly retryAfterMs: number;
      readonly usage: Usage;
    }
  | { readonly kind: "waits"; readonly interrupts: readonly Interrupt[] };

type EndedOutcome = Exclude<AttemptOutcome, { kind: "waits" }>;

type Hiding = Pick<NodeRails, "redact">;

/** Maximum length of a stored error message. */
const messageCharacters = 4000;

/** The environment of an attempt. */
interface AttemptRun {
  readonly state: GraphState;
  readonly run: NodeContext;
  /** The node's config, with the data its workers share. */
  readonly config: RunnableConfig;
  /** Aborts with the run, and when the attempt times out. */
  readonly signal: AbortSignal;
}

/**
 * Runs one attempt within its timeout. An agent ends its turn itself at the timeout, and its work stays in its
 * namespace. Code that does not end is abandoned.
 *
 * @throws errors that end the whole run: the signal's reason if that aborts, and errors of an agent's graph
 */
export async function attemptSubtask(
  work: SubtaskWork,
  limits: Pick<PlannerLimits, "timeoutSeconds" | "maxResultBytes">,
  at: AttemptRun,
): Promise<AttemptOutcome> {
  const { subtask, worker } = work;
  const { timeoutSeconds } = limits;
  const { rails } = at.run;
  const limit = deadline({
    clock: at.run.loop.clock,
    outer: [at.signal],
    remainingMs: timeoutSeconds * 1000,
    timeUp: () => new SubtaskTimeoutError(subtask.id, timeoutSeconds),
  });
  const { signal } = limit;
  let spent = noUsage;
  try {
    const outcome =
      worker.kind === "agent"
        ? await runAgent(work, worker.agent, { ...at, signal })
        : await limit.race(runCode(work, worker.code, { signal, rails }));
    if (outcome.kind === "waits") return outcome;
    spent = outcome.usage;
    signal.throwIfAborted();
    return await limit.race(
      inspected(limited(outcome, limits.maxResultBytes, rails), worker, {
        ...at,
        callId: subtask.id,
      }),
    );
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    if (!at.signal.aborted) return failed(signal.reason, spent, rails);
    at.run.addUsage(spent);
  } finally {
    limit.release();
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
        { config: place, signal, rails, boundsInside: (origin) => run.boundsInside(origin) },
      );
      spent = addUsage(spent, turn.usage);
      // The process ended before more than the end of the agent's turn was written; the attempt itself was not
      // recorded.
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
  rails: NodeRails,
): AttemptOutcome {
  if (failure === null) return done(plainOutput(output, agent), usage);
  const { cause: code, transient = false } = failure;
  const error = { code, message: truncateText(rails.redact(failure.message), messageCharacters) };
  return { kind: "failed", error, transient, retryAfterMs: 0, usage };
}

/** Returns the plain text of an agent that answers in text. */
function plainOutput(output: unknown, { definition }: Subagent): unknown {
  if (!answersInText(definition.spec.output_schema) || !isRecord(output)) return output;
  return output["message"];
}

/**
 * Returns the config for the namespace of the attempt, with a scratchpad of its own, in which LangGraph counts the
 * subgraphs of a task.
 */
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
  { signal, rails }: { readonly signal: AbortSignal; readonly rails: NodeRails },
): Promise<AttemptOutcome> {
  const { id, description, expected_output = "" } = subtask;
  const dependencies = given.map((one) => one.id);
  const results = resultsOf(given);
  // Code receives unredacted values; its results and errors are redacted before models read them.
  const told = rails.unredact({ description, expected_output, results });
  const task = { id, ...told, dependencies, attempt, signal };
  try {
    // A synchronous throw becomes a rejection, and code without I/O does not block the event loop.
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
    return failedWith(new Error("it threw a value that cannot be read"), usage, rails);
  }
}

function failedWith(thrown: unknown, usage: Usage, rails: Hiding): EndedOutcome {
  const isOurs = thrown instanceof StratagraphError;
  const failure = isOurs ? null : classifyFailure(thrown);
  const transient = failure?.transient ?? (isOurs && thrown.transient);
  const retryAfterMs = failure?.retryAfterMs ?? 0;
  const code = isOurs ? thrown.code : "worker_error";
  const message = truncateText(rails.redact(errorMessage(thrown)), messageCharacters);
  return { kind: "failed", error: { code, message }, transient, retryAfterMs, usage };
}

/** Returns a result as plain JSON. One that is too large fails the subtask, and would do so again. */
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

/**
 * Applies the rails on tool results: the planner's models read the workers' results and errors as an agent's models
 * read those of tools.
 */
async function inspected(
  outcome: EndedOutcome,
  { profile: { name: by } }: Worker,
  at: Pick<AttemptRun, "state" | "run"> & { readonly callId: string },
): Promise<EndedOutcome> {
  const given = outcome.kind === "done" ? outcome.result : outcome.error.message;
  const { callId } = at;
  const looked = await applyResultRails<unknown>(given, { by, stepIndex: null, callId }, at);
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
  // Frozen, because several subtasks may receive it.
  return { ...outcome, result: deepFreeze(value), warning };
}

/**
 * Returns the checkpoint namespace of a subtask's attempt. It is like that of a LangGraph task within the namespace of
 * its node, so that it is found again on resume, and a further attempt starts empty.
 *
 * @param within the node's namespace, which ends in its task: `planner:task
 *
 * execute:task`
 */
export function attemptNamespace(
  within: string,
  of: {
    readonly id: string;
    /** From 1. */
    readonly attempt: number;
    /** How often it was interrupted and restarted. */
    readonly cut?: number;
  },
): string {
  const { id, attempt, cut = 0 } = of;
  const task = within.slice(within.lastIndexOf(":") + 1);
  const name = JSON.stringify(cut === 0 ? [id, attempt] : [id, attempt, cut]);
  return `${within}|${id}:${uuidv5(name, task)}`;
}

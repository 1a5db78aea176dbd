import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { compileAgentWith, llmConfigFor, type CompileServices } from "../compile/compile-agent.ts";
import { AnswerError } from "../compile/answer-errors.ts";
import type { GivenAnswers } from "../compile/check-answers.ts";
import { checkInput } from "../compile/input.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { AgentState } from "../state/agent-state.ts";
import { StratagraphError } from "../errors.ts";
import { contextSchema, type GraphState, type RunContext } from "../state/channels.ts";
import type { AgentEvent } from "../state/event.ts";
import type { PendingRequest } from "../state/human-request.ts";
import { canTransition, type Status } from "../state/lifecycle.ts";
import type { StepRecord } from "../state/step-record.ts";
import {
  stepsOfTurn,
  turnUsage,
  type FailedAttempt,
  type TurnFailure,
  type TurnState,
} from "../state/turn.ts";
import { noUsage, type Usage } from "../state/usage.ts";
import { InvalidRunOptionError, NoCheckpointerError, ThreadBusyError } from "./errors.ts";
import { givenAnswers, resumeWith, type AnswerOptions } from "./run-answers.ts";
import { streamTurn, type StreamedTurn, type TurnRun } from "./stream-turn.ts";
import { checkThreadId } from "./thread-id.ts";
import { startOfNewTurn, startOfResumption } from "./thread-start.ts";

export interface ExecuteOptions extends AnswerOptions {
  /** The conversation to go on with. 1 to 255 characters. Default: a new one. */
  readonly threadId?: string;
  /** Aborting it ends the turn CANCELLED; the thread can be resumed, unless its turns keep one checkpoint each. */
  readonly signal?: AbortSignal;
  /** `provider:model` instead of the definition's. */
  readonly model?: string;
  /** 0.0 to 2.0, instead of the definition's. */
  readonly temperature?: number;
  /** Called in order with everything that happens, in agents inside of this one too; must not throw. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** Called with the deltas of the text that models write. */
  readonly onToken?: (text: string) => void;
}

/** One attempt of a turn; the accepted one has no errors. */
export interface AttemptOutcome {
  readonly attempt_number: number;
  readonly errors: readonly string[];
}

export interface ExecuteResult<Output = unknown, Exec = unknown, Attempt = unknown> {
  /** Null unless `status` is COMPLETED. */
  readonly output: Output | null;
  /** AWAITING_HUMAN while any request waits. */
  readonly status: Status;
  /** What waits for people's answers; each is answered by its id. Empty unless `status` is AWAITING_HUMAN. */
  readonly interrupts: readonly PendingRequest[];
  readonly state: AgentState<Exec, Attempt>;
  /** The records of this turn. */
  readonly steps: readonly StepRecord[];
  /** What this turn has spent. */
  readonly usage: Usage;
  readonly attempts: readonly AttemptOutcome[];
  /** True when the answer was made from what was known because `max_iterations` was reached. */
  readonly incomplete: boolean;
  /** Why the turn FAILED; else null. */
  readonly failure: TurnFailure | null;
  readonly threadId: string;
}

const graphs = new WeakMap<CompileServices, WeakMap<AgentDefinition, Promise<AgentGraph>>>();

/** Compiles an agent once for each set of services. */
function graphOf(definition: AgentDefinition, services: CompileServices): Promise<AgentGraph> {
  const known = graphs.get(services) ?? new WeakMap<AgentDefinition, Promise<AgentGraph>>();
  graphs.set(services, known);
  const graph = known.get(definition) ?? compileAgentWith(definition, services);
  known.set(definition, graph);
  graph.catch(() => known.delete(definition));
  return graph;
}

/**
 * Runs one turn of an agent, or with `input: null` goes on with the thread's turn: one that waits for people (with
 * their answers, or without, so that a time that is over takes effect), an unfinished one, or a cancelled one. A turn
 * that goes wrong comes back as FAILED with its cause; what the caller did wrong is thrown, and nothing was written then.
 *
 * @throws InvalidInputError, InvalidThreadIdError, InvalidRunOptionError, UnfinishedTurnError, NothingToResumeError,
 * NoCheckpointerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, NothingToAnswerError, and what
 * compiling throws; HandlerMutationError and HandlerReturnError for a stateful tool that breaks its contract
 */
export async function executeAgentWith<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  input: Input | null,
  options: ExecuteOptions & { services: CompileServices },
): Promise<ExecuteResult<Output, Exec, Attempt>> {
  const { services, signal, onEvent, onToken } = options;
  const general = definition as AgentDefinition;
  const given = givenAnswers(options, input);
  const durable = services.checkpointer !== undefined;
  if (!durable && (input === null || options.threadId !== undefined)) {
    throw new NoCheckpointerError("thread");
  }
  const threadId = checkThreadId(options.threadId ?? services.ids());
  if (input !== null) checkInput(general, input);
  const context = checkContext(options);
  const graph = await graphOf(general, services);
  await services.models.resolve(llmConfigFor(general, context));
  const thread: RunnableConfig = { configurable: { thread_id: threadId } };
  const running = runningThreads(services);
  if (running.has(threadId)) throw new ThreadBusyError(threadId);
  running.add(threadId);
  try {
    const of = { definition: general, input, given, threadId };
    const start = durable ? await startOf(graph, thread, of) : { input: { input }, start: thread };
    const run = { graph, thread, ...start, context, signal, onEvent, onToken };
    const turn = await alone(() => streamTurn(run)).catch(async (thrown: unknown) => {
      if (durable) await markFailed(graph, thread, thrown);
      else if (isMissingCheckpointer(thrown)) {
        throw new NoCheckpointerError("human", { cause: thrown });
      }
      throw thrown;
    });
    return toResult(turn, threadId) as ExecuteResult<Output, Exec, Attempt>;
  } finally {
    running.delete(threadId);
  }
}

const threadsOf = new WeakMap<CompileServices, Set<string>>();

function runningThreads(services: CompileServices): Set<string> {
  const threads = threadsOf.get(services) ?? new Set<string>();
  threadsOf.set(services, threads);
  return threads;
}

/** @throws InvalidRunOptionError */
function checkContext({ model, temperature }: ExecuteOptions): RunContext {
  const checked = contextSchema.safeParse({
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
  });
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new InvalidRunOptionError(String(issue?.path[0]), issue?.message ?? "");
}

async function startOf(
  graph: AgentGraph,
  thread: RunnableConfig,
  of: {
    definition: AgentDefinition;
    input: unknown;
    given: GivenAnswers | null;
    threadId: string;
  },
): Promise<Pick<TurnRun, "input" | "start">> {
  const { input, given, threadId } = of;
  if (given !== null) {
    return { input: await resumeWith(graph, thread, { given, threadId }), start: thread };
  }
  if (input === null) {
    return { input, start: await startOfResumption(graph, thread, threadId) };
  }
  const { checkpoint_frequency, max_turns } = of.definition.spec.execution_config;
  const start = await startOfNewTurn(graph, thread, {
    threadId,
    everyTurn: checkpoint_frequency === "every_turn",
    maxTurns: max_turns,
  });
  return { input: { input }, start };
}

/** Outside any LangGraph run that the caller may be in: a tool that runs an agent must not lend it its own thread. */
function alone<T>(run: () => Promise<T>): Promise<T> {
  return AsyncLocalStorageProviderSingleton.runWithConfig(undefined, run, true);
}

/** A run that a mistake of its definition ended is over: the thread goes on from its last completed turn. */
async function markFailed(
  graph: AgentGraph,
  thread: RunnableConfig,
  thrown: unknown,
): Promise<void> {
  if (!(thrown instanceof StratagraphError) || thrown.kind !== "usage") return;
  // Somebody else answered meanwhile.
  if (thrown instanceof AnswerError) return;
  const stored = (await graph.getState(thread)).values as Partial<GraphState>;
  if (stored.status === undefined || !canTransition(stored.status, "FAILED")) return;
  const failure = { cause: thrown.code, message: thrown.message };
  const turn = { ...stored.turn, failure } as TurnState;
  await graph.updateState(thread, { status: "FAILED", turn }, "finalize");
}

/** What LangGraph's `interrupt` throws where nothing could keep the run. */
function isMissingCheckpointer(thrown: unknown): boolean {
  return (thrown as { lc_error_code?: unknown } | null)?.lc_error_code === "MISSING_CHECKPOINTER";
}

function toResult({ state, interrupts }: StreamedTurn, threadId: string): ExecuteResult {
  const { turn, usage = noUsage } = state;
  const failed = turn?.failed_attempts ?? [];
  const accepted =
    state.status === "COMPLETED" ? [{ attempt_number: failed.length, errors: [] }] : [];
  return {
    output: state.output ?? null,
    status: interrupts.length > 0 ? "AWAITING_HUMAN" : (state.status ?? "CREATED"),
    interrupts,
    state: { execution: state.execution, attempt: state.attempt },
    steps: stepsOfTurn(state.steps ?? [], state.turn_number ?? 0),
    usage: turnUsage({ turn, usage }),
    attempts: [...failed.map(outcomeOf), ...accepted],
    incomplete: turn?.draft?.incomplete ?? false,
    failure: turn?.failure ?? null,
    threadId,
  };
}

function outcomeOf({ attempt_number, errors }: FailedAttempt): AttemptOutcome {
  return { attempt_number, errors };
}

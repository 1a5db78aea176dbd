import { llmConfigFor } from "../compile/bound-models.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { GraphDrained } from "@langchain/langgraph";
import { inOwnRun } from "../compile/run/withheld-callbacks.ts";
import {
  type AgentGraph,
  durabilities,
  type Durability,
  durabilityOf,
  leastDurabilityOf,
} from "../compile/agent-graph.ts";
import { AnswerError } from "../compile/errors.ts";
import { compileAgentWith, type CompileServices } from "../compile/compile-agent.ts";
import { logTurn, type TurnLog } from "../compile/run/log-turn.ts";
import type { HeldThread } from "../compile/run/acquire-thread.ts";
import { ownerChecked } from "../compile/guards/threads.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { StratagraphError } from "../errors.ts";
import { contextSchema, type GraphState, type RunContext } from "../state/channels.ts";
import type { AgentEvent } from "../state/events.ts";
import { canTransition } from "../state/lifecycle.ts";
import type { TurnState } from "../state/turn.ts";
import { TurnDrainedError } from "./drain-control.ts";
import { InvalidRunOptionError, NoCheckpointerError } from "./errors.ts";
import { withWriteFailureGuard } from "./write-failure-guard.ts";
import { type ExecuteResult, streamTurn, toResult, type TurnRun } from "./run-result.ts";
import type { TokenOrigin } from "./streamed-text.ts";

/** Run options of a turn, independent of its input. */
export interface TurnOptions {
  /** Aborting it ends the turn CANCELLED. The thread can be resumed, unless it stores only one checkpoint per turn. */
  readonly signal?: AbortSignal;
  /**
   * Aborting it stops the turn before its next step, with a TurnDrainedError. The thread can be resumed. Under durability
   * `exit` the turn runs on.
   */
  readonly drain?: AbortSignal;
  /** `provider:model` instead of the definition's. */
  readonly model?: string;
  /** 0.0 to 2.0, instead of the definition's. */
  readonly temperature?: number;
  /** Whose memories the run reads and writes, 1 to 200 characters. Default: those that all users of the agent share. */
  readonly user?: string;
  /**
   * When checkpoints are written: `sync` before the next node runs, `async` while it runs, `exit` when the run ends or
   * waits. Default: from the definition's `checkpoint_frequency`, `exit` for `every_turn`, else `async`. An `on_change`
   * agent accepts only `sync`. docs/checkpoints.md lists what each mode may lose.
   */
  readonly durability?: Durability;
  /** Called in order with every event, including those of nested agents; must not throw. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** Called with the text deltas that models stream, never empty. After a `message_reset` event the reply begins again. */
  readonly onToken?: (text: string, of: TokenOrigin) => void;
  /** Called with the deltas of what models think before they reply, never empty. */
  readonly onReasoning?: (text: string, of: TokenOrigin) => void;
  /**
   * Called with what a JSON answer holds so far while it streams: unchecked, and each time a new object. Workflow nodes
   * and replies that are refused later are included.
   */
  readonly onPartialOutput?: (value: Readonly<Record<string, unknown>>) => void;
}

/** An agent that is ready to run. */
export interface PreparedRun {
  readonly graph: AgentGraph;
  readonly context: RunContext;
  readonly options: TurnOptions;
  readonly durability: Durability;
  readonly checkpointer: CompileServices["checkpointer"];
  /** Where turns are logged. */
  readonly log: TurnLog;
}

/** The checkpoint from which a turn starts, and the graph's input. */
export type TurnStart = Pick<TurnRun, "input" | "start">;

const graphs = new WeakMap<CompileServices, WeakMap<AgentDefinition, Promise<AgentGraph>>>();

/** Returns the compiled agent, cached per set of services. */
export function graphOf(
  definition: AgentDefinition,
  services: CompileServices,
): Promise<AgentGraph> {
  const known = graphs.get(services) ?? new WeakMap<AgentDefinition, Promise<AgentGraph>>();
  graphs.set(services, known);
  const graph = known.get(definition) ?? compileAgentWith(definition, services);
  known.set(definition, graph);
  graph.catch(() => known.delete(definition));
  return graph;
}

/** @throws InvalidRunOptionError, and the errors of compiling and of resolving models */
export async function prepareRun(
  definition: AgentDefinition,
  services: CompileServices,
  options: TurnOptions,
): Promise<PreparedRun> {
  const context = checkContext(options);
  const durability = checkDurability(definition, options.durability);
  const graph = await graphOf(definition, services);
  await services.models.resolve(llmConfigFor(definition, context));
  return {
    graph,
    context,
    options,
    durability,
    checkpointer: services.checkpointer,
    log: services,
  };
}

/**
 * Runs a turn until it ends or waits.
 *
 * @throws TurnDrainedError, the error of a failed checkpoint write, or the reason the thread's lock was lost
 */
export async function runTurn(
  run: PreparedRun,
  of: TurnStart & { readonly held: HeldThread },
): Promise<ExecuteResult> {
  const { graph, context, options, durability, checkpointer } = run;
  const { held, input } = of;
  const { threadId, lockLost } = held;
  const { onEvent, onToken, onReasoning, onPartialOutput } = options;
  const [thread, start] = [held.within(threadConfig(threadId)), held.within(of.start)];
  const { cancelled } = held;
  const signal = options.signal ? AbortSignal.any([options.signal, cancelled]) : cancelled;
  const ends = { threadId, signal, lockLost, durability };
  const running = withWriteFailureGuard(checkpointer, ends, async (ending, hasFailed) => {
    const listeners = { onEvent, onToken, onReasoning, onPartialOutput };
    const drain = durability === "exit" ? undefined : options.drain;
    const turn = { graph, thread, input, context, signal: ending, drain, ...listeners, durability };
    const streaming = inOwnRun(start, (own) => streamTurn({ ...turn, start: own }));
    return streaming.catch(async (thrown: unknown) => {
      if (thrown instanceof GraphDrained) throw new TurnDrainedError(threadId);
      if (checkpointer === undefined) {
        if (isMissingCheckpointer(thrown))
          throw new NoCheckpointerError("human", { cause: thrown });
      } else if (!hasFailed()) await markFailed(graph, thread, thrown);
      throw thrown;
    });
  });
  try {
    return toResult(await running, threadId);
  } finally {
    if (checkpointer !== undefined) await logTurn(run.log, checkpointer, threadId);
  }
}

/** Returns the config of a thread. */
export function threadConfig(threadId: string): RunnableConfig {
  return ownerChecked({ configurable: { thread_id: threadId } });
}

/** @throws InvalidRunOptionError */
function checkContext({ model, temperature, user }: TurnOptions): RunContext {
  const checked = contextSchema.safeParse({
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(user !== undefined && { user }),
  });
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new InvalidRunOptionError(String(issue?.path[0]), issue?.message ?? "");
}

/** @throws InvalidRunOptionError */
function checkDurability(
  { spec }: AgentDefinition,
  durability: Durability | undefined,
): Durability {
  if (durability === undefined) return durabilityOf(spec);
  const asked = durabilities.indexOf(durability);
  if (asked < 0) {
    throw new InvalidRunOptionError("durability", `expected one of ${durabilities.join(", ")}`);
  }
  if (asked > durabilities.indexOf(leastDurabilityOf(spec))) {
    throw new InvalidRunOptionError(
      "durability",
      `the agent stores every step (checkpoint_frequency: on_change), and a run may not store less; with manual each run decides`,
    );
  }
  return durability;
}

/** Ends a run that failed by an error in its definition; the thread resumes from its last completed turn. */
async function markFailed(
  graph: AgentGraph,
  thread: RunnableConfig,
  thrown: unknown,
): Promise<void> {
  if (!(thrown instanceof StratagraphError) || thrown.kind !== "usage") return;
  // Another caller answered in the meantime.
  if (thrown instanceof AnswerError) return;
  const stored = (await graph.getState(thread)).values as Partial<GraphState>;
  if (stored.status === undefined || !canTransition(stored.status, "FAILED")) return;
  const failure = { cause: thrown.code, message: thrown.message };
  const turn = { ...stored.turn, failure } as TurnState;
  await graph.updateState(thread, { status: "FAILED", turn }, "finalize");
}

/** Returns whether an error is what LangGraph's `interrupt` throws without a checkpointer. */
function isMissingCheckpointer(thrown: unknown): boolean {
  return (thrown as { lc_error_code?: unknown } | null)?.lc_error_code === "MISSING_CHECKPOINTER";
}

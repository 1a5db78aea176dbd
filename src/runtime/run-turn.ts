import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { AnswerError } from "../compile/answer-errors.ts";
import {
  compileAgentWith,
  llmConfigFor,
  type AgentCheckpointer,
  type CompileServices,
} from "../compile/compile-agent.ts";
import {
  durabilities,
  durabilityOf,
  leastDurabilityOf,
  type Durability,
} from "../compile/durability.ts";
import type { HeldThread } from "../compile/hold-thread.ts";
import { ownerChecked } from "../compile/thread-owner.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { StratagraphError } from "../errors.ts";
import { contextSchema, type GraphState, type RunContext } from "../state/channels.ts";
import type { AgentEvent } from "../state/event.ts";
import { canTransition } from "../state/lifecycle.ts";
import type { TurnState } from "../state/turn.ts";
import { InvalidRunOptionError, NoCheckpointerError } from "./errors.ts";
import { guardedRun, type RunWatch } from "./guarded-run.ts";
import { toResult, type ExecuteResult } from "./run-result.ts";
import { streamTurn, type TurnRun } from "./stream-turn.ts";

/** How a turn is run, whatever it is given. */
export interface TurnOptions {
  /** Aborting it ends the turn CANCELLED; the thread can be resumed, unless its turns keep one checkpoint each. */
  readonly signal?: AbortSignal;
  /** `provider:model` instead of the definition's. */
  readonly model?: string;
  /** 0.0 to 2.0, instead of the definition's. */
  readonly temperature?: number;
  /**
   * When what the turn does is kept: `sync` before the next node runs, `async` while it runs, `exit` when the run ends
   * or waits. Default: what the definition's `checkpoint_frequency` says: `exit` for `every_turn`, else `async`. A run of an
   * `on_change` agent may ask for `sync` alone; what each may lose is in docs/checkpoints.md.
   */
  readonly durability?: Durability;
  /** Called in order with everything that happens, in agents inside of this one too; must not throw. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** Called with the deltas of the text that models write. */
  readonly onToken?: (text: string) => void;
}

/** An agent that is ready to run. */
export interface PreparedRun {
  readonly graph: AgentGraph;
  readonly context: RunContext;
  readonly options: TurnOptions;
  readonly durability: Durability;
  readonly checkpointer: (AgentCheckpointer & RunWatch) | undefined;
}

/** From where a turn goes on, and what the graph is given for it. */
export type TurnStart = Pick<TurnRun, "input" | "start">;

const graphs = new WeakMap<CompileServices, WeakMap<AgentDefinition, Promise<AgentGraph>>>();

/** Compiles an agent once for each set of services. */
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

/** @throws InvalidRunOptionError, and what compiling and resolving models throws */
export async function prepareRun(
  definition: AgentDefinition,
  services: CompileServices,
  options: TurnOptions,
): Promise<PreparedRun> {
  const context = checkContext(options);
  const durability = checkDurability(definition, options.durability);
  const graph = await graphOf(definition, services);
  await services.models.resolve(llmConfigFor(definition, context));
  return { graph, context, options, durability, checkpointer: services.checkpointer };
}

/**
 * Runs a turn to its end, or until it waits.
 * @throws what a checkpoint could not be written for, and what ended the hold of the thread
 */
export async function runTurn(
  run: PreparedRun,
  of: TurnStart & { readonly held: HeldThread },
): Promise<ExecuteResult> {
  const { graph, context, options, durability, checkpointer } = run;
  const { held, input } = of;
  const { threadId, lost } = held;
  const { onEvent, onToken } = options;
  const [thread, start] = [held.within(threadConfig(threadId)), held.within(of.start)];
  const ends = { threadId, signal: options.signal, lost };
  const streamed = await guardedRun(checkpointer, ends, async (signal, hasFailed) => {
    const turn = { graph, thread, input, start, context, signal, onEvent, onToken, durability };
    return alone(() => streamTurn(turn)).catch(async (thrown: unknown) => {
      if (checkpointer === undefined) {
        if (isMissingCheckpointer(thrown))
          throw new NoCheckpointerError("human", { cause: thrown });
      } else if (!hasFailed()) await markFailed(graph, thread, thrown);
      throw thrown;
    });
  });
  return toResult(streamed, threadId);
}

/** The config of a thread, once it is known that the agent may go on with it. */
export function threadConfig(threadId: string): RunnableConfig {
  return ownerChecked({ configurable: { thread_id: threadId } });
}

/** @throws InvalidRunOptionError */
function checkContext({ model, temperature }: TurnOptions): RunContext {
  const checked = contextSchema.safeParse({
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
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
      `the agent keeps every step (checkpoint_frequency: on_change), and a run may keep no less; with manual each run says`,
    );
  }
  return durability;
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

// oxlint-disable no-underscore-dangle -- LangGraph's name for the loop of a run.
import type { RunnableConfig } from "@langchain/core/runnables";
import { getConfig } from "@langchain/langgraph";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { StratagraphError } from "../../errors.ts";
import { isRecord } from "../../values/json.ts";
import { overrideGraph } from "../agent-graph.ts";
import {
  heldBy,
  type HeldThread,
  withThread,
  acquireThread,
  type ThreadKeeper,
} from "../run/acquire-thread.ts";
import { logTurn, type TurnLog } from "../run/log-turn.ts";
import { cancellable, cancelSignal, isInsideGraph, PrivateConfig } from "../run/run-config.ts";

/** The parts of a compiled graph that the guard needs: `invoke` and `streamEvents` go through `stream`. */
interface Guarded {
  readonly checkpointer?: BaseCheckpointSaver | boolean | undefined;
  stream(input: never, options?: never): Promise<unknown>;
  bulkUpdateState(config: never, supersteps: never): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
  /** The config bound to the graph, which may name a thread. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/** LangGraph's runner of a graph's nodes, in the background of the stream. */
interface LoopRunner {
  _runLoop(run: LoopRun): Promise<void>;
}

interface LoopRun {
  readonly loop: { readonly checkpointerPromises?: readonly Promise<unknown>[] };
  readonly config: RunnableConfig;
}

/** A run that releases its thread when it ends. */
interface OwnRun {
  readonly graph: object;
  readonly thread: HeldThread;
  hasBegun: boolean;
}

const ownRun = new PrivateConfig<OwnRun | null>("own_run");

/** Returns the options of a preparatory run, which leaves the thread held for the main run. */
export function leavingHeld(options: RunnableConfig | undefined): RunnableConfig {
  return ownRun.with(options ?? {}, null);
}

/**
 * Makes a graph acquire its thread for each run and each state edit, as `executeAgent` does, and returns it: of two
 * concurrent answers to a request, one is refused before anything is written. LangGraph by itself runs both on separate
 * branches, and so makes a call that one of them rejected. Changes the graph itself; graphs derived by `withConfig` do
 * the same. It does not affect nested graphs: the thread is the outer one's.
 */
export function guardThread<Compiled extends Guarded>(
  compiled: Compiled,
  keeper: Pick<ThreadKeeper, "lockThread"> & TurnLog,
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const runner = graph as unknown as LoopRunner;
    const stream = graph.stream.bind(graph);
    const bulkUpdateState = graph.bulkUpdateState.bind(graph);
    const runLoop = runner._runLoop.bind(graph);
    const keeperOf = (checkpointer: object): ThreadKeeper => ({ ...keeper, checkpointer });
    return {
      stream: async (input: never, options: RunnableConfig = {}) => {
        const at = threadToTake(graph, options);
        if (at === null) return stream(input, options as never);
        const thread = await acquireThread(keeperOf(at.checkpointer), at.threadId, options.signal);
        const run: OwnRun = { graph, thread, hasBegun: false };
        const bounded = cancelledWith(untilLost(options, thread.lockLost), thread.cancelled);
        const held = ownRun.with(thread.within(bounded), run);
        try {
          return await stream(input, held as never);
        } catch (thrown) {
          if (!run.hasBegun) await thread.release();
          throw thrown;
        }
      },
      bulkUpdateState: async (config: RunnableConfig, supersteps: never) => {
        const at = threadToTake(graph, config);
        if (at === null) return bulkUpdateState(config as never, supersteps);
        return withThread(keeperOf(at.checkpointer), at.threadId, (thread) =>
          bulkUpdateState(thread.within(config) as never, supersteps),
        );
      },
      /** Ends with the run, whether or not its stream is read. */
      _runLoop: async (of: LoopRun) => {
        const run = ownRun.in(of.config);
        if (run?.graph !== graph || isInsideGraph(of.config.configurable)) return runLoop(of);
        run.hasBegun = true;
        try {
          await runLoop(of);
        } finally {
          await Promise.allSettled(of.loop.checkpointerPromises ?? []);
          if (typeof graph.checkpointer === "object") {
            await logTurn(keeper, graph.checkpointer, run.thread.threadId);
          }
          await run.thread.release();
        }
      },
    };
  });
}

/** Returns the thread of a run or an edit; null if there is none to acquire, or the caller holds it. */
function threadToTake(
  { config, checkpointer }: Guarded,
  options: RunnableConfig,
): { readonly threadId: string; readonly checkpointer: object } | null {
  const configurable = { ...config?.configurable, ...options.configurable };
  const threadId: unknown = configurable["thread_id"];
  // Without a thread LangGraph throws its own errors.
  if (typeof checkpointer !== "object" || typeof threadId !== "string") return null;
  if (isInsideGraph(configurable)) return null;
  // LangGraph passes a run's config on to the tools that it calls.
  const around = getConfig()?.configurable;
  const held = heldBy({ configurable: { ...around, ...configurable } });
  return held?.isOf(checkpointer, threadId) === true ? null : { threadId, checkpointer };
}

function untilLost(options: RunnableConfig, lost: AbortSignal | undefined): RunnableConfig {
  if (lost === undefined) return options;
  const { signal } = options;
  return { ...options, signal: signal === undefined ? lost : AbortSignal.any([signal, lost]) };
}

function cancelledWith(options: RunnableConfig, cancelled: AbortSignal): RunnableConfig {
  const own = cancelSignal(options);
  return cancellable(options, own === undefined ? cancelled : AbortSignal.any([own, cancelled]));
}

/** Config key that lets a run continue another agent's thread. */
const acceptKey = "accept_agent";
const checked = new PrivateConfig<true>("owner_checked");

/** The thread belongs to another agent. Nothing was written. */
export class ForeignThreadError extends StratagraphError {
  readonly code = "foreign_thread";

  constructor(
    readonly threadId: string,
    /** The name of the agent that the thread belongs to. */
    readonly owner: string,
    /** The name of the agent that was refused. */
    readonly agent: string,
    option: string,
  ) {
    super(`Thread "${threadId}" belongs to agent "${owner}", and this is agent "${agent}".`, {
      advice: `Use another thread, or ${option} to have "${agent}" continue it.`,
    });
  }
}

/** Returns the agent that owns a checkpoint's thread; null if it is not recorded. */
export function ownerAt(tuple: Pick<CheckpointTuple, "checkpoint"> | undefined): string | null {
  const turn: unknown = tuple?.checkpoint.channel_values["turn"];
  const owner = isRecord(turn) ? turn["agent"] : undefined;
  return typeof owner === "string" ? owner : null;
}

/**
 * Refuses a checkpoint of another agent's thread. A checkpoint that does not name its agent is accepted.
 *
 * @param agent the name of the agent that would continue the thread
 * @throws ForeignThreadError
 */
export function refuseForeign(
  agent: string,
  tuple: CheckpointTuple | undefined,
  thread: {
    readonly threadId: string;
    readonly acceptAgent?: boolean;
    /** How to accept the thread, for the error. Default: the option of `executeAgent`. */
    readonly option?: string;
  },
): void {
  const { threadId, acceptAgent = false, option = "pass acceptAgent: true" } = thread;
  const owner = ownerAt(tuple);
  if (owner === null || owner === agent || acceptAgent) return;
  throw new ForeignThreadError(threadId, owner, agent, option);
}

/** Marks a run whose thread owner was checked, or whose caller accepts another agent's thread. */
export function ownerChecked(config: RunnableConfig): RunnableConfig {
  return checked.with(config, true);
}

/** The parts of a compiled graph that the guard needs: `invoke` and `streamEvents` go through `stream`. */
interface OwnedGraph {
  readonly checkpointer?: BaseCheckpointSaver | boolean | undefined;
  stream(input: never, options?: never): Promise<unknown>;
  bulkUpdateState(config: never, supersteps: never): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
  /** The config bound to the graph, which may name a thread. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/**
 * Makes a graph refuse the threads of other agents before LangGraph writes anything, and returns it. A config with
 * `configurable.accept_agent: true` continues them. A thread without a recorded owner belongs to the agent that
 * continues it. Changes the graph itself; graphs derived by `withConfig` do the same. It does not affect nested graphs:
 * the thread is the outer one's.
 *
 * @param agent the name of the graph's agent
 */
export function guardOwner<Compiled extends OwnedGraph>(
  compiled: Compiled,
  agent: string,
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    const bulkUpdateState = graph.bulkUpdateState.bind(graph);
    return {
      stream: async (input: never, options?: RunnableConfig) => {
        await checkOwner(graph, agent, options);
        return stream(input, options as never);
      },
      bulkUpdateState: async (config: RunnableConfig, supersteps: never) => {
        await checkOwner(graph, agent, config);
        return bulkUpdateState(config as never, supersteps);
      },
    };
  });
}

/** @throws ForeignThreadError */
async function checkOwner(
  { config, checkpointer }: OwnedGraph,
  agent: string,
  options: RunnableConfig | undefined,
): Promise<void> {
  const configurable = { ...config?.configurable, ...options?.configurable };
  const { thread_id, checkpoint_ns = "", checkpoint_id } = configurable;
  const isOfSubgraph = checkpoint_ns !== "";
  // Without a thread LangGraph throws its own errors.
  if (typeof checkpointer !== "object" || typeof thread_id !== "string") return;
  if (isInsideGraph(configurable)) return;
  if (configurable[acceptKey] === true || checked.in({ configurable }) === true) return;
  // A subgraph has the thread of its outer graph.
  const named = checkpoint_id === undefined || isOfSubgraph ? {} : { checkpoint_id };
  const at = { thread_id, checkpoint_ns: "", ...named };
  const tuple = await checkpointer.getTuple({ configurable: at });
  const option = `set configurable.${acceptKey} to true`;
  refuseForeign(agent, tuple, { threadId: thread_id, option });
}

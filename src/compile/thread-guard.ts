// oxlint-disable no-underscore-dangle -- what LangGraph calls the loop of a run.
import type { RunnableConfig } from "@langchain/core/runnables";
import { getConfig } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import {
  heldBy,
  holdThread,
  takeThread,
  type HeldThread,
  type ThreadKeeper,
} from "./hold-thread.ts";
import { overrideGraph } from "./override-graph.ts";
import { isInsideGraph, PrivateConfig } from "./private-config.ts";

/** What guarding needs of a compiled graph: `invoke` and `streamEvents` go through `stream`. */
interface Guarded {
  readonly checkpointer?: BaseCheckpointSaver | boolean | undefined;
  stream(input: never, options?: never): Promise<unknown>;
  bulkUpdateState(config: never, supersteps: never): Promise<RunnableConfig>;
  withConfig(config: never): unknown;
  /** A thread may be bound to the graph. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/** Where LangGraph runs the nodes of a graph, in the background of the stream. */
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

/** The options of a run before the one that the thread was taken for, which leaves the thread held. */
export function leavingHeld(options: RunnableConfig | undefined): RunnableConfig {
  return ownRun.with(options ?? {}, null);
}

/**
 * Makes a graph take its thread for each run and each edit of the state, as `executeAgent` does, and returns it: of two
 * that answer a request, one is refused before anything is written. LangGraph by itself runs both, each on a branch of its
 * own, and so makes a call that one of them has rejected. The graph itself is changed; graphs derived by `withConfig` do
 * the same. Inside of another graph it changes nothing: the thread is that one's.
 */
export function guardThread<Compiled extends Guarded>(
  compiled: Compiled,
  keeper: Pick<ThreadKeeper, "lockThread">,
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
        const thread = await takeThread(keeperOf(at.checkpointer), at.threadId, options.signal);
        const run: OwnRun = { graph, thread, hasBegun: false };
        const held = ownRun.with(thread.within(untilLost(options, thread.lost)), run);
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
        return holdThread(keeperOf(at.checkpointer), at.threadId, (thread) =>
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
          await run.thread.release();
        }
      },
    };
  });
}

/** The thread of a run or an edit; null where there is none to take, or where the caller has it. */
function threadToTake(
  { config, checkpointer }: Guarded,
  options: RunnableConfig,
): { readonly threadId: string; readonly checkpointer: object } | null {
  const configurable = { ...config?.configurable, ...options.configurable };
  const threadId: unknown = configurable["thread_id"];
  // Without a thread LangGraph has its own errors.
  if (typeof checkpointer !== "object" || typeof threadId !== "string") return null;
  if (isInsideGraph(configurable)) return null;
  // LangGraph hands a run's config on to the tools that it calls.
  const around = getConfig()?.configurable;
  const held = heldBy({ configurable: { ...around, ...configurable } });
  return held?.isOf(checkpointer, threadId) === true ? null : { threadId, checkpointer };
}

function untilLost(options: RunnableConfig, lost: AbortSignal | undefined): RunnableConfig {
  if (lost === undefined) return options;
  const { signal } = options;
  return { ...options, signal: signal === undefined ? lost : AbortSignal.any([signal, lost]) };
}

// oxlint-disable no-underscore-dangle -- an internal method of LangGraph, which all ways to run a graph use.
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { BaseCheckpointSaver, LangGraphRunnableConfig } from "@langchain/langgraph";
import type { DurableSaver } from "../../durable-saver.ts";
import { v5 as uuidv5 } from "@langchain/core/utils/uuid";
import type { GraphState } from "../../state/channels.ts";
import type { Awaitable } from "../../state/tiers.ts";
import { turnUsage } from "../../state/turn.ts";
import { isRecord } from "../../values/json.ts";
import { PrivateConfig } from "./run-config.ts";

/** The origin of a call that counts for a turn: its agent, or one that a node or a tool handler runs. */
export type CallOrigin = "own" | "node" | "tool";

/** Calls as stored at the checkpoint of the agent whose limit they count towards. */
interface KeptCalls {
  /** `turn.run` of the turn that they count for. */
  readonly run: string;
  /** The task of that agent's graph in which they were made. */
  readonly task: string;
  readonly origin: CallOrigin;
  /** By key, in order: whether the limit allowed the call. */
  readonly calls: Readonly<Record<string, boolean>>;
}

interface Counting extends Pick<KeptCalls, "task" | "origin"> {
  /** Number of calls in the state. */
  readonly before: number;
  readonly most: number;
}

const keptChannel = "calls_of_turn";

/** The calls of one turn of an agent during one run of its graph, shared by all branches. */
class TurnCalls {
  readonly #known = new Map<string, boolean>();
  /** Number of calls by agents of tool handlers, by the task of the node that called the tools. */
  readonly #ofTools = new Map<string, number>();
  #used = 0;
  #loaded: Promise<void> | null = null;
  /** The checkpoint that was durable at the last write to it. */
  #durable: unknown;
  #late: (() => Promise<void>)[] = [];

  /** Resets the count when the run begins the turn. */
  begin(): void {
    this.#loaded = Promise.resolve();
  }

  /**
   * Loads the calls that earlier runs of this superstep counted.
   *
   * @param of `before`: number of calls in the state
   */
  load(place: CheckpointPlace | null, of: { readonly run: string; before: number }): Promise<void> {
    this.#loaded ??= this.#load(place, of);
    return this.#loaded;
  }

  /** Counts calls, each once, and returns which are within the limit. */
  count(
    keys: readonly string[],
    of: Counting,
  ): { readonly admitted: readonly boolean[]; readonly fresh: Readonly<Record<string, boolean>> } {
    this.#used = Math.max(this.#used, of.before);
    const fresh: Record<string, boolean> = {};
    for (const key of keys) {
      if (this.#known.has(key)) continue;
      fresh[key] = this.#used < of.most;
      this.#add(key, fresh[key], of);
    }
    return { admitted: keys.map((key) => this.#known.get(key) === true), fresh };
  }

  /** Stores calls; durable when it resolves, unless the checkpoint itself is stored later. */
  async keep(kept: KeptCalls, { saver, config, task, isKeptLate }: CheckpointPlace): Promise<void> {
    const id = uuidv5(JSON.stringify([kept.run, keptChannel, ...Object.keys(kept.calls)]), task);
    const write = () => saver.putWrites(config, [[keptChannel, kept]], id);
    if (isKeptLate) {
      this.#late.push(write);
      return;
    }
    const { thread_id, checkpoint_id } = config.configurable ?? {};
    // Writes are lost with their checkpoint, which may still be in flight.
    if (this.#durable !== checkpoint_id) await saver.flush?.(String(thread_id));
    this.#durable = checkpoint_id;
    await write();
  }

  /** Flushes before the run waits, when its checkpoint is stored in any case. */
  async flush(): Promise<void> {
    await Promise.all(this.#late.splice(0).map((write) => write()));
  }

  ofTools(task: string): number {
    return this.#ofTools.get(task) ?? 0;
  }

  async #load(
    place: CheckpointPlace | null,
    { run, before }: { readonly run: string; readonly before: number },
  ): Promise<void> {
    this.#used = before;
    if (place === null) return;
    const { saver, config } = place;
    await saver.flush?.(String(config.configurable?.["thread_id"]));
    this.#durable = config.configurable?.["checkpoint_id"];
    const writes = (await saver.getTuple(config))?.pendingWrites ?? [];
    for (const [, channel, value] of writes) {
      if (channel !== keptChannel || !isKeptCalls(value) || value.run !== run) continue;
      for (const [key, isAdmitted] of Object.entries(value.calls)) {
        if (!this.#known.has(key)) this.#add(key, isAdmitted, value);
      }
    }
  }

  #add(key: string, isAdmitted: boolean, { task, origin }: Pick<KeptCalls, "task" | "origin">) {
    this.#known.set(key, isAdmitted);
    this.#used += 1;
    if (origin === "tool") this.#ofTools.set(task, this.ofTools(task) + 1);
  }
}

function isKeptCalls(value: unknown): value is KeptCalls {
  return isRecord(value) && typeof value["run"] === "string" && isRecord(value["calls"]);
}

const turnCalls = new PrivateConfig<TurnCalls>("turn_calls");

/** Passes on whether custom events are read, to nested agents too: they write to the stream of the outer run. */
const eventsRead = new PrivateConfig<boolean>("events_read");

/** Returns whether the custom events of a run are read. */
export function areEventsRead(config: RunnableConfig): boolean {
  return eventsRead.in(config) ?? true;
}

/** Sets whether the events of a run are read: without the stream mode `custom`, LangGraph's own writer drops them. */
function withEventsRead(options: RunOptions, { config, streamMode }: Streamed): RunOptions {
  if ((options.writer ?? config?.writer) !== undefined) return options;
  const modes = [options.streamMode ?? streamMode].flat();
  // A run within the context of another one may write to its stream.
  const isInContext = AsyncLocalStorageProviderSingleton.getRunnableConfig() !== undefined;
  return eventsRead.with(options, isInContext || modes.includes("custom"));
}

interface RunOptions extends LangGraphRunnableConfig {
  readonly streamMode?: string | readonly string[];
}

/** The parts of a compiled graph that counting needs: `stream` and `invoke` read `_streamIterator`. */
interface Streamed {
  readonly config?: LangGraphRunnableConfig | undefined;
  readonly streamMode?: string | readonly string[];
  _streamIterator(input: never, options?: never): AsyncGenerator;
  withConfig(config: never): unknown;
}

/**
 * Gives every run of a graph a shared call count and turn time for its nodes, with whether its events are read, and
 * returns the graph. Changes the graph itself; graphs derived by `withConfig` do the same.
 */
export function countTurnCalls<Compiled extends Streamed>(graph: Compiled): Compiled {
  const streamIterator = graph._streamIterator.bind(graph);
  const withConfig = graph.withConfig.bind(graph);
  const own = {
    _streamIterator: (input: never, options: RunOptions = {}) => {
      const given = withTurnTime(withEventsRead(options, graph));
      return streamIterator(input, turnCalls.with(given, new TurnCalls()) as never);
    },
    withConfig: (config: never) => countTurnCalls(withConfig(config) as Streamed),
  };
  for (const [name, value] of Object.entries(own)) {
    // Not enumerable: `withConfig` passes the graph's enumerable properties to a constructor.
    Object.defineProperty(graph, name, { value, configurable: true, writable: true });
  }
  return graph;
}

/** The call count of an agent for one of its nodes and everything nested in it. */
export interface CallCount {
  /** `max_calls_per_turn`; undefined without a limit. */
  readonly maxCalls: number | undefined;
  /**
   * Counts calls, each once and regardless of their outcome, and returns which are within the limit; synchronous
   * without one. The count is durable when it resolves: neither a concurrent branch nor another process counts the
   * calls again or misses them.
   *
   * @param keys unique within the turn, and the same when the node runs again
   */
  count(keys: readonly string[], origin: CallOrigin): Awaitable<readonly boolean[]>;
  /** Flushes before the run waits for a person. */
  flush(): Promise<void>;
  /**
   * Returns the number of calls by agents that the node's tool handlers ran, including those before it was interrupted
   * or waited.
   */
  ofTools(): number;
}

/** @param node LangGraph's config of the node */
export function callCount(
  state: GraphState,
  node: {
    readonly config: RunnableConfig;
    readonly maxCalls: number | undefined;
    /** Whether it is the node that begins the turn. */
    readonly beginsTurn: boolean;
  },
): CallCount {
  const { config, maxCalls } = node;
  const shared = turnCalls.in(config) ?? new TurnCalls();
  if (node.beginsTurn) shared.begin();
  const place = checkpointPlace(config);
  const task = place?.task ?? "";
  const run = state.turn?.run ?? "";
  const countLimited = async (keys: readonly string[], of: Counting) => {
    await shared.load(place, { run, before: of.before });
    const { admitted, fresh } = shared.count(keys, of);
    // The state contains the agent's own calls, but not while branches run in parallel to its node.
    const isKept = of.origin !== "own" || state.branches.length > 1;
    if (isKept && place !== null && Object.keys(fresh).length > 0) {
      await shared.keep({ run, task, origin: of.origin, calls: fresh }, place);
    }
    return admitted;
  };
  return {
    maxCalls,
    count(keys, origin) {
      const before = turnUsage(state).tool_calls;
      const of = { task, origin, before, most: maxCalls ?? Infinity };
      return maxCalls === undefined ? shared.count(keys, of).admitted : countLimited(keys, of);
    },
    flush: () => shared.flush(),
    ofTools: () => shared.ofTools(task),
  };
}

/**
 * Active time of a turn during one run of its graph, in milliseconds of a monotonic clock. It runs from the run's first
 * node without gaps: the time of checkpoints, and of other runs of the process between nodes, is included.
 */
export class TurnTime {
  #startedAt: number | null = null;

  /**
   * Returns the turn's active time at `now`.
   *
   * @param stored active time in the node's input state; null for the node that begins the turn
   */
  elapsed(now: number, stored: number | null): number {
    if (stored === null) this.#startedAt = now;
    this.#startedAt ??= now - (stored ?? 0);
    return Math.max(stored ?? 0, now - this.#startedAt);
  }
}

const turnTimes = new PrivateConfig<TurnTime>("turn_time");

/** Gives a run of a graph a time of its own. */
export function withTurnTime<Config extends RunnableConfig>(config: Config): Config {
  return turnTimes.with(config, new TurnTime());
}

/** Returns the time of the run that a node is part of. */
export function turnTime(config: RunnableConfig): TurnTime {
  return turnTimes.in(config) ?? new TurnTime();
}

/** A saver; those of this package report when all writes of a thread are durable. */
export type Saver = BaseCheckpointSaver & Partial<Pick<DurableSaver, "flush">>;

/** The checkpoint from which a node was started, where the node may store writes of its own. */
interface CheckpointPlace {
  readonly saver: Saver;
  readonly config: RunnableConfig;
  /** The node's task, in which ids of writes are unique. */
  readonly task: string;
  /** Whether the checkpoint itself is stored only when the run waits. */
  readonly isKeptLate: boolean;
}

/**
 * Returns null without a checkpointer.
 *
 * @param config LangGraph's config of the node
 */
export function checkpointPlace({ configurable = {} }: RunnableConfig): CheckpointPlace | null {
  const saver = configurable["__pregel_checkpointer"] as Saver | undefined;
  const task: unknown = configurable["__pregel_task_id"];
  const namespace: unknown = configurable["checkpoint_ns"];
  const checkpoints: unknown = configurable["checkpoint_map"];
  if (saver === undefined || typeof task !== "string") return null;
  if (typeof namespace !== "string" || !isRecord(checkpoints)) return null;
  const graph = namespace.split("|").slice(0, -1).join("|");
  const checkpoint = checkpoints[graph];
  if (typeof checkpoint !== "string") return null;
  const { thread_id } = configurable;
  return {
    saver,
    task,
    isKeptLate: configurable["__pregel_durability"] === "exit",
    config: { configurable: { thread_id, checkpoint_ns: graph, checkpoint_id: checkpoint } },
  };
}

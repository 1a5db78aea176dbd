// oxlint-disable no-underscore-dangle -- what LangGraph calls it, through which all ways to run a graph go.
import type { RunnableConfig } from "@langchain/core/runnables";
import { v5 as uuidv5 } from "uuid";
import type { Awaitable } from "../state/agent-state.ts";
import type { GraphState } from "../state/channels.ts";
import { isRecord } from "../state/is-record.ts";
import { turnUsage } from "../state/turn.ts";
import { checkpointPlace, type CheckpointPlace } from "./checkpoint-place.ts";
import { PrivateConfig } from "./private-config.ts";
import { withTurnTime } from "./turn-time.ts";

/** Who makes a call that counts for a turn: its agent, or one that a node of it runs or that the handler of a tool runs. */
export type CallOrigin = "own" | "node" | "tool";

/** Calls as they are kept beside the checkpoint of the agent whose limit they count for. */
interface KeptCalls {
  /** `turn.run` of the turn that they count for. */
  readonly run: string;
  /** The task of that agent's graph within which they were made. */
  readonly task: string;
  readonly origin: CallOrigin;
  /** By their keys, in their order: whether the limit let them be made. */
  readonly calls: Readonly<Record<string, boolean>>;
}

interface Counting extends Pick<KeptCalls, "task" | "origin"> {
  /** Calls that the state knows of. */
  readonly before: number;
  readonly most: number;
}

const keptChannel = "calls_of_turn";

/** The calls that count for one turn of an agent while one run of its graph lasts: all that branches share of the limit. */
class TurnCalls {
  readonly #known = new Map<string, boolean>();
  /** Calls that handlers' agents made, by the task of the node that called the tools. */
  readonly #ofTools = new Map<string, number>();
  #used = 0;
  #loaded: Promise<void> | null = null;
  /** The checkpoint that was durable when a write was last put beside it. */
  #durable: unknown;
  #late: (() => Promise<void>)[] = [];

  /** The run begins the turn: there are no calls of it yet. */
  begin(): void {
    this.#loaded = Promise.resolve();
  }

  /**
   * Finds the calls that earlier runs of this superstep have counted.
   * @param of `before`: calls that the state knows of
   */
  load(place: CheckpointPlace | null, of: { readonly run: string; before: number }): Promise<void> {
    this.#loaded ??= this.#load(place, of);
    return this.#loaded;
  }

  /** Counts calls, each once, and says which are within the limit. */
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

  /** Durable when it resolves, but where the checkpoint itself is stored later. */
  async keep(kept: KeptCalls, { saver, config, task, isKeptLate }: CheckpointPlace): Promise<void> {
    const id = uuidv5(JSON.stringify([kept.run, keptChannel, ...Object.keys(kept.calls)]), task);
    const write = () => saver.putWrites(config, [[keptChannel, kept]], id);
    if (isKeptLate) {
      this.#late.push(write);
      return;
    }
    const { thread_id, checkpoint_id } = config.configurable ?? {};
    // What is kept beside a checkpoint is lost with it, which may still be on its way.
    if (this.#durable !== checkpoint_id) await saver.durable?.(String(thread_id));
    this.#durable = checkpoint_id;
    await write();
  }

  /** The run is about to wait, so that its checkpoint is stored in any case. */
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
    await saver.durable?.(String(config.configurable?.["thread_id"]));
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

/** What counting needs of a compiled graph: `stream` and `invoke` read `_streamIterator`. */
interface Streamed {
  _streamIterator(input: never, options?: never): AsyncGenerator;
  withConfig(config: never): unknown;
}

/**
 * Gives every run of a graph a count of its turn's calls and the turn's time, which its nodes share, and returns the graph. The graph itself is
 * changed; graphs derived by `withConfig` do the same.
 */
export function countTurnCalls<Compiled extends Streamed>(graph: Compiled): Compiled {
  const streamIterator = graph._streamIterator.bind(graph);
  const withConfig = graph.withConfig.bind(graph);
  const own = {
    _streamIterator: (input: never, options: RunnableConfig = {}) =>
      streamIterator(input, turnCalls.with(withTurnTime(options), new TurnCalls()) as never),
    withConfig: (config: never) => countTurnCalls(withConfig(config) as Streamed),
  };
  for (const [name, value] of Object.entries(own)) {
    // Not enumerable: `withConfig` hands the graph's enumerable properties to a constructor.
    Object.defineProperty(graph, name, { value, configurable: true, writable: true });
  }
  return graph;
}

/** The count of an agent's calls, as a node of it and everything inside of that node see it. */
export interface CallCount {
  /** `max_calls_per_turn`; undefined where there is no limit. */
  readonly maxCalls: number | undefined;
  /**
   * Counts calls, each once, whatever becomes of them, and says which are within the limit: at once where there is none.
   * They are durable when it resolves: neither a branch beside this one nor another process counts them again or leaves
   * them out.
   * @param keys unique within the turn, and the same when the node runs again
   */
  count(keys: readonly string[], origin: CallOrigin): Awaitable<readonly boolean[]>;
  /** The run is about to wait for a person. */
  flush(): Promise<void>;
  /** Calls of agents that handlers of the node's tools have run, those before it was cut off or waited included. */
  ofTools(): number;
}

/** @param node what LangGraph gave it */
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
    // The state tells of the agent's own calls, but not while branches beside its node are under way.
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

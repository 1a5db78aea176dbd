import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { v5 as uuidv5 } from "uuid";
import type { PlanningState } from "../../state/channels.ts";
import { isRecord } from "../../state/is-record.ts";
import type { NodeBody, NodeRun } from "../loop/node-body.ts";
import { planningOf } from "./planning-of.ts";

/**
 * What planners of a cancelled turn leave for its resumption. That goes on from the checkpoint of the outermost graph before
 * the node that was cancelled, and runs the graphs inside of it afresh; so the plan and what is done of it are kept
 * beside that checkpoint, and taken up by the planner that stands in the same place then.
 */
interface LeftBehind {
  /** The execution of the turn: a fork or a replay has another one, and begins anew. */
  readonly origin: string;
  /** The nodes and subtasks from the outermost graph to the planner. */
  readonly path: string;
  /** ISO 8601: what was left last counts. */
  readonly at: string;
  readonly planning: PlanningState;
}

const channel = "left_plans";
/** LangGraph keeps keys with two underscores out of metadata and checkpoints. */
const originKey = "__stratagraph_origin";

/** Names the execution of the turn for planners in a node; within others, it is the outermost one's. */
export function withOrigin(config: RunnableConfig, run: string): RunnableConfig {
  if (originOf(config) !== null) return config;
  return { ...config, configurable: { ...config.configurable, [originKey]: run } };
}

function originOf({ configurable = {} }: RunnableConfig): string | null {
  const origin: unknown = configurable[originKey];
  return typeof origin === "string" ? origin : null;
}

/** A body that leaves the plan behind when its turn is cancelled. It ends by itself soon after that. */
export function leaving(body: NodeBody): NodeBody {
  return async (state, run) => {
    let planning = planningOf(state);
    const keep: NodeRun["keep"] = (update) => {
      planning = { ...planning, subtasks: { ...planning.subtasks, ...update.subtasks } };
      run.keep(update);
    };
    try {
      run.signal.throwIfAborted();
      return await body(state, { ...run, keep });
    } catch (thrown) {
      if (run.signal.aborted && planning.plan !== null) await leave(run, planning);
      throw thrown;
    }
  };
}

async function leave({ config, parts }: NodeRun, planning: PlanningState): Promise<void> {
  const place = placeOf(config);
  if (place === null) return;
  const { saver, origin, path } = place;
  const { plan, subtasks, depth, gaps, criteria_met } = planning;
  const left: LeftBehind = {
    origin,
    path,
    at: parts.clock.now().toISOString(),
    planning: { plan, subtasks, depth, gaps, criteria_met },
  };
  const task = uuidv5(JSON.stringify([origin, path, left.at]), uuidv5.URL);
  await saver.putWrites(place.at, [[channel, left]], task);
}

/** What a planner in this place left when the turn that goes on was cancelled; null where it begins. */
export async function takeUp(config: RunnableConfig): Promise<PlanningState | null> {
  // A turn that was cancelled is gone on with from an earlier checkpoint; any other is not.
  if (config.configurable?.["__pregel_replay_state"] === undefined) return null;
  const place = placeOf(config);
  if (place === null) return null;
  const { saver, origin, path, at } = place;
  // LangGraph goes on from a copy of the checkpoint, which it may still be writing; when that is cancelled too, from
  // the copy itself.
  await saver.durable?.(String(at.configurable?.["thread_id"]));
  const here = await saver.getTuple(at);
  const before = here?.parentConfig && (await saver.getTuple(here.parentConfig));
  const left = [before, here]
    .flatMap((tuple) => tuple?.pendingWrites ?? [])
    .flatMap(([, name, value]) => (name === channel ? [value as LeftBehind] : []))
    .filter((one) => one.origin === origin && one.path === path)
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .at(-1);
  return left?.planning ?? null;
}

/** Of our own savers: waits until all that a thread's run was given to write is written. */
interface Durable {
  durable(threadId: string): Promise<void>;
}

function placeOf(config: RunnableConfig): {
  readonly saver: BaseCheckpointSaver & Partial<Durable>;
  readonly origin: string;
  readonly path: string;
  /** The outermost graph's checkpoint. */
  readonly at: RunnableConfig;
} | null {
  const { configurable = {} } = config;
  const saver = configurable["__pregel_checkpointer"] as
    (BaseCheckpointSaver & Partial<Durable>) | undefined;
  const checkpoints: unknown = configurable["checkpoint_map"];
  const namespace: unknown = configurable["checkpoint_ns"];
  const origin = originOf(config);
  const isKept = configurable["__pregel_durability"] !== "exit";
  if (saver === undefined || origin === null || !isKept || !isRecord(checkpoints)) return null;
  const checkpoint = checkpoints[""];
  if (typeof checkpoint !== "string" || typeof namespace !== "string") return null;
  const { thread_id } = configurable;
  return {
    saver,
    origin,
    // Whichever of the planner's own nodes it is.
    path: JSON.stringify(namesOf(namespace).slice(0, -1)),
    at: { configurable: { thread_id, checkpoint_ns: "", checkpoint_id: checkpoint } },
  };
}

/** Of `node:task|node:task`. */
function namesOf(namespace: string): readonly string[] {
  return namespace.split("|").map((part) => part.slice(0, part.lastIndexOf(":")));
}

import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import {
  namespaceInside,
  namespaceOf,
  type PendingTask,
  pendingTasks,
  withAncestors,
} from "../../compile/guards/waiting.ts";
import { attemptNamespace } from "../../compile/planner/attempt-subtask.ts";
import { criticalPath, planLevels } from "../../planning/plan-graph.ts";
import {
  isSettled,
  type SubtaskState,
  type SubtaskStates,
  type TaskPlan,
} from "../../state/plan.ts";
import { isRecord } from "../../values/json.ts";
import { checkThreadId } from "../errors.ts";
import { durableSaver } from "../../durable-saver.ts";
import { checkpointAt, checkpointerOf, type ThreadServices } from "./services.ts";
import { allSubtasks, type Planning, planningIn, activePlanning, valuesOf } from "./stored.ts";

/** The plan of a planner and its progress. */
export interface ThreadPlan {
  /** The planner node; empty if the thread itself is a planner's. */
  readonly node: string;
  /**
   * The nodes around the planner node, outermost first, as in events: `team`, `execute`, `survey` for a planner within
   * a worker.
   */
  readonly within: readonly string[];
  /** All subtasks planned so far, including plans for gaps. */
  readonly plan: TaskPlan;
  /** The state of every subtask. A running code worker shows as pending: nothing of it is stored before it ends. */
  readonly subtasks: SubtaskStates;
  /** Ids of subtasks that wait for a person and are not settled. */
  readonly waiting: readonly string[];
  /** Number of plans made for gaps. */
  readonly depth: number;
  /** The gaps found when the results were last judged. */
  readonly gaps: readonly string[];
  /** Null before the first judgement. */
  readonly criteria_met: boolean | null;
  /** Ids by dependency level, for display; subtasks without dependencies first. */
  readonly levels: readonly (readonly string[])[];
  readonly criticalPath: MeasuredPath;
}

/**
 * Returns the plans of a thread's last turn, or of the turn at a checkpoint, each followed by those of planners within its workers. They are read from
 * stored checkpoints; nothing is run.
 */
export async function readPlans(
  services: ThreadServices,
  threadId: string,
  checkpointId?: string,
): Promise<readonly ThreadPlan[]> {
  const source = checkpointerOf(services);
  checkThreadId(threadId);
  await durableSaver(source, ["drain"])?.drain(threadId);
  return plansOf(source, await checkpointAt(services, { threadId, checkpointId }), []);
}

type Source = Pick<BaseCheckpointSaver, "getTuple">;

/** Returns the plans of a graph, whose last checkpoint is given, and of its nested graphs. */
async function plansOf(
  source: Source,
  last: CheckpointTuple,
  path: readonly string[],
): Promise<readonly ThreadPlan[]> {
  const own = activePlanning(last);
  if (own !== null) return plansOfPlanner(source, last, path, own);
  const next = new Set(pendingTasks(last).map(({ node }) => node));
  const { nodes, status } = valuesOf(last);
  const outputs = isRecord(nodes) ? nodes : {};
  const given = Object.keys(outputs).filter((node) => isOfGraph(outputs[node]));
  // A node that ended the turn has no output.
  const isCutOff = status === "FAILED" || status === "CANCELLED";
  const tasks = given.length > 0 || isCutOff ? await tasksOfTurn(source, last) : pendingTasks(last);
  const cutOff = isCutOff ? tasks.map(({ node }) => node) : [];
  const ended = [...new Set([...given, ...cutOff])].filter((node) => !next.has(node));
  const found: ThreadPlan[] = [];
  for (const node of [...ended, ...next]) {
    const task = tasks.find((one) => one.node === node);
    const inside =
      task === undefined
        ? undefined
        : await tupleAt(source, last, namespaceInside(task, namespaceOf(last)));
    const hasEnded = given.includes(node) && !next.has(node);
    const isKnown = inside !== undefined && !(hasEnded && isUnfinished(inside));
    const plans = isKnown ? await plansOf(source, inside, [...path, node]) : [];
    const output = next.has(node) ? null : planningIn(outputs[node]);
    // The planner's own checkpoints may have been removed.
    if (output !== null && !plans.some(({ within }) => within.length === path.length)) {
      found.push(threadPlan(output, [...path, node]));
    }
    found.push(...plans);
  }
  return found;
}

/** Returns the planner's own plan and those of its workers. */
async function plansOfPlanner(
  source: Source,
  last: CheckpointTuple,
  path: readonly string[],
  planning: Planning,
): Promise<readonly ThreadPlan[]> {
  const subtasks: Record<string, SubtaskState> = { ...allSubtasks(planning) };
  const runs = (await tasksOfTurn(source, last)).filter(({ node }) => node === workersNode);
  const inside: ThreadPlan[] = [];
  for (const { id, dependencies } of planning.plan.subtasks) {
    const state = subtasks[id] as SubtaskState;
    const canBegin = dependencies.every((one) => subtasks[one]?.status === "done");
    if (!canBegin || state.status === "skipped") continue;
    for (const run of runs) {
      const tuple = await tupleOfWorker(source, { last, run, id, state });
      if (tuple === undefined) continue;
      if (state.status === "done" && isUnfinished(tuple)) break;
      if (state.status === "pending") subtasks[id] = { ...state, status: "running" };
      inside.push(...(await plansOf(source, tuple, [...path, workersNode, id])));
      break;
    }
  }
  return [threadPlan({ ...planning, subtasks }, path), ...inside];
}

/** The node of a planner that runs its workers. */
const workersNode = "execute";

/**
 * Returns the last checkpoint of a subtask's last attempt. An interrupted attempt starts again in another namespace.
 */
async function tupleOfWorker(
  source: Source,
  {
    last,
    run,
    id,
    state,
  }: {
    readonly last: CheckpointTuple;
    readonly run: PendingTask;
    readonly id: string;
    readonly state: SubtaskState;
  },
): Promise<CheckpointTuple | undefined> {
  const within = namespaceInside(run, namespaceOf(last));
  const attempt = isSettled(state) ? state.attempts : state.attempts + 1;
  let newest: CheckpointTuple | undefined;
  for (let cut = 0; ; cut += 1) {
    const tuple = await tupleAt(source, last, attemptNamespace(within, { id, attempt, cut }));
    if (tuple === undefined) return newest;
    newest = tuple;
    if (valuesOf(tuple).status !== "CANCELLED") return newest;
  }
}

function threadPlan(planning: Planning, path: readonly string[]): ThreadPlan {
  const { plan, depth, gaps, criteria_met, waiting } = planning;
  const subtasks = allSubtasks(planning);
  return {
    node: path.at(-1) ?? "",
    within: path.slice(0, -1),
    plan,
    subtasks,
    waiting,
    depth,
    gaps,
    criteria_met,
    levels: planLevels(plan.subtasks),
    criticalPath: planTimes(plan, subtasks).criticalPath,
  };
}

/** Returns the pending tasks at a checkpoint and at its ancestors in the same turn, newest first. */
async function tasksOfTurn(source: Source, last: CheckpointTuple): Promise<readonly PendingTask[]> {
  const turn = turnOf(last);
  const tasks: PendingTask[] = [];
  const parentOf = async ({ parentConfig }: CheckpointTuple) =>
    parentConfig && source.getTuple(parentConfig);
  for await (const tuple of withAncestors(last, parentOf)) {
    if (turnOf(tuple) !== turn) break;
    tasks.push(...pendingTasks(tuple));
  }
  return tasks;
}

/**
 * Returns whether the stored state of an ended graph is from when it last waited, as in threads with one checkpoint per
 * turn.
 */
function isUnfinished(tuple: CheckpointTuple): boolean {
  return pendingTasks(tuple).length > 0;
}

function turnOf(tuple: CheckpointTuple): unknown {
  return valuesOf(tuple)["turn_number"];
}

function tupleAt(
  source: Source,
  of: CheckpointTuple,
  namespace: string,
): Promise<CheckpointTuple | undefined> {
  const thread_id: unknown = of.config.configurable?.["thread_id"];
  return source.getTuple({ configurable: { thread_id, checkpoint_ns: namespace } });
}

/** Returns whether a node's output is from an agent or a planner. */
function isOfGraph(output: unknown): boolean {
  return isRecord(output) && "status" in output && "failure" in output;
}

/** Durations of a plan's subtasks, in milliseconds. Unfinished subtasks count as 0. */
export interface PlanTimes {
  /**
   * Time during which at least one subtask ran. Gaps between plans, or between a crash and its resume, are excluded.
   */
  readonly wallMs: number;
  /** Sum over all subtasks. */
  readonly summedMs: number;
  /** The longest path through the plan by measured durations: a lower bound for any schedule. */
  readonly criticalPath: MeasuredPath;
}

export interface MeasuredPath {
  /**
   * In execution order, without skipped subtasks. While the plan is running, unfinished subtasks are weighted with the
   * average duration of the finished ones.
   */
  readonly ids: readonly string[];
  /** Measured time along the path. */
  readonly ms: number;
}

export function planTimes(
  { subtasks }: Pick<TaskPlan, "subtasks">,
  states: SubtaskStates,
): PlanTimes {
  const durations = subtasks.map(({ id }) => durationOf(states[id]));
  const measured = durations.filter((one) => one !== null);
  const summedMs = measured.reduce((sum, one) => sum + one, 0);
  const mean = summedMs > 0 ? summedMs / measured.length : 1;
  const byId = new Map(subtasks.map(({ id }, index) => [id, durations[index] ?? null]));
  const path = criticalPath(subtasks, (id) => byId.get(id) ?? mean);
  const ids = path.ids.filter((id) => states[id]?.status !== "skipped");
  const ms = ids.reduce((sum, id) => sum + (byId.get(id) ?? 0), 0);
  return { wallMs: coveredMs(Object.values(states)), summedMs, criticalPath: { ids, ms } };
}

/** Returns the milliseconds from a subtask's first start to its end; 0 if it was skipped, null if it has not ended. */
export function durationOf(state: SubtaskState | undefined): number | null {
  if (state === undefined || state.ended_at === null) return null;
  if (state.started_at === null) return 0;
  return Math.max(0, Date.parse(state.ended_at) - Date.parse(state.started_at));
}

/** Returns the length of the union of all subtask intervals. */
function coveredMs(states: readonly SubtaskState[]): number {
  const spans = states
    .flatMap(({ started_at: start, ended_at: end }) =>
      start === null || end === null ? [] : [{ from: Date.parse(start), to: Date.parse(end) }],
    )
    .toSorted((a, b) => a.from - b.from);
  let covered = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans) {
    covered += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return covered;
}

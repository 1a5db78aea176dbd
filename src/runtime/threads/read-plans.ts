import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { attemptNamespace } from "../../compile/planner/attempt-namespace.ts";
import { planLevels } from "../../planning/levels.ts";
import { isRecord } from "../../state/is-record.ts";
import { isSettled, type SubtaskState, type SubtaskStates } from "../../state/subtask-state.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import { withAncestors } from "../../compile/ancestors.ts";
import { checkThreadId } from "../thread-id.ts";
import { archiveIn } from "./archive.ts";
import {
  namespaceInside,
  namespaceOf,
  pendingTasks,
  type PendingTask,
} from "../../compile/pending-tasks.ts";
import { planTimes, type MeasuredPath } from "./plan-times.ts";
import { allSubtasks, planningIn, planningUnderWay, type Planning } from "./stored-planning.ts";
import { valuesOf } from "./stored-state.ts";
import { checkpointAt, checkpointerOf, type ThreadServices } from "./thread-services.ts";

/** What a planner has planned, and how far that is. */
export interface ThreadPlan {
  /** Its node; empty where the thread itself is a planner's. */
  readonly node: string;
  /** What the node is within, outermost first, as events say it: of a planner within a worker `team`, `execute`, `survey`. */
  readonly within: readonly string[];
  /** All that was planned so far, plans for gaps included. */
  readonly plan: TaskPlan;
  /** Every subtask of the plan. Code that is under way shows as pending: nothing of it is stored before it ends. */
  readonly subtasks: SubtaskStates;
  /** Ids of subtasks that have asked people, and are not settled. */
  readonly waiting: readonly string[];
  /** How many plans for gaps were made. */
  readonly depth: number;
  /** What was missing when the results were last judged. */
  readonly gaps: readonly string[];
  /** Null before anything was judged. */
  readonly criteria_met: boolean | null;
  /** Ids for display: what depends on nothing first. */
  readonly levels: readonly (readonly string[])[];
  readonly criticalPath: MeasuredPath;
}

/**
 * The plans of a thread's last turn, those of planners within workers after the one that they are within. Nothing is
 * run: they are read from what is stored of the thread and of the graphs inside of it.
 */
export async function readPlans(
  services: ThreadServices,
  threadId: string,
): Promise<readonly ThreadPlan[]> {
  const source = checkpointerOf(services);
  checkThreadId(threadId);
  await archiveIn(source, ["settled"])?.settled(threadId);
  return plansOf(source, await checkpointAt(services, { threadId }), []);
}

type Source = Pick<BaseCheckpointSaver, "getTuple">;

/** Those of a graph, whose last checkpoint is given, and of the graphs inside of it. */
async function plansOf(
  source: Source,
  last: CheckpointTuple,
  path: readonly string[],
): Promise<readonly ThreadPlan[]> {
  const own = planningUnderWay(last);
  if (own !== null) return plansOfPlanner(source, last, path, own);
  const next = new Set(pendingTasks(last).map(({ node }) => node));
  const { nodes, status } = valuesOf(last);
  const outputs = isRecord(nodes) ? nodes : {};
  const given = Object.keys(outputs).filter((node) => isOfGraph(outputs[node]));
  // A node that ended the turn has given nothing.
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
    // What is stored of the planner itself may be gone.
    if (output !== null && !plans.some(({ within }) => within.length === path.length)) {
      found.push(threadPlan(output, [...path, node]));
    }
    found.push(...plans);
  }
  return found;
}

/** The planner's own, and those of its workers. */
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

/** The node of a planner that its workers run within. */
const workersNode = "execute";

/**
 * What is stored of the last attempt of a subtask. One that is not settled counts the attempts that have failed. An
 * attempt that was cut off is begun again elsewhere.
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

/** What was next at a checkpoint and at those before it in the same turn, newest first. */
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

/** Of a graph that has ended: it is stored as it last waited, as where threads keep one checkpoint a turn. */
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

/** Whether a node's output is that of an agent or a planner. */
function isOfGraph(output: unknown): boolean {
  return isRecord(output) && "status" in output && "failure" in output;
}

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import { isSettled, type SubtaskStates } from "../../state/subtask-state.ts";
import type { Draft } from "../../state/turn.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { withAncestors } from "../ancestors.ts";
import { goesOn } from "../cancellation.ts";
import { namespaceInside, namespaceOf, pendingTasks } from "../pending-tasks.ts";
import type { Saver } from "../checkpoint-place.ts";
import { keptRedactions, keptSubtasks } from "./subtask-log.ts";

/** How far a planner had come when its turn was cancelled. */
export interface TakenUp
  extends PlanningState, Pick<GraphState, "steps" | "attempt" | "redactions"> {
  /** What it and its workers had spent. */
  readonly usage: Usage;
  /** Its result, where it had one. */
  readonly draft: Draft | null;
}

/**
 * What a planner of the outermost graph goes on with when its turn was cancelled; null where it begins. Such a turn goes on
 * from the checkpoint before the node that was cancelled, and the graphs inside of it run afresh; but what they had come
 * to is still stored where they stood then. So a planner does not have its finished subtasks done again. A planner that
 * is further inside begins anew, with the worker that it is.
 *
 * @param config what LangGraph gave the planner's node
 */
export async function takeUp(config: RunnableConfig): Promise<TakenUp | null> {
  const { configurable = {} } = config;
  const saver = configurable["__pregel_checkpointer"] as Saver | undefined;
  const [planner = "", ...inside] = String(configurable["checkpoint_ns"]).split("|");
  if (saver === undefined || !goesOn(config) || inside.length !== 1) return null;
  const node = planner.slice(0, planner.lastIndexOf(":"));
  const thread = { thread_id: configurable["thread_id"] as unknown };
  const { [""]: here } = configurable["checkpoint_map"] as Readonly<Record<string, string>>;
  // LangGraph may be still writing the copy that the turn goes on from.
  await saver.durable?.(String(thread.thread_id));
  let tuple = await saver.getTuple({
    configurable: { ...thread, checkpoint_ns: "", checkpoint_id: here },
  });
  // Where the node comes round again later, nothing stands at its own checkpoint, which is no copy.
  while (tuple !== undefined) {
    const task = pendingTasks(tuple).find((one) => one.node === node);
    const namespace = task && namespaceInside(task, namespaceOf(tuple));
    const left = namespace && (await lastWithPlan(saver, { ...thread, checkpoint_ns: namespace }));
    if (left) return takenUp(saver, left);
    // A turn that was cancelled goes on from a copy; one that was cancelled twice from the same.
    const isCopy = tuple.metadata?.source === "fork" && tuple.parentConfig !== undefined;
    tuple = isCopy ? await saver.getTuple(tuple.parentConfig!) : undefined;
  }
  return null;
}

/** Newer ones without a plan are those of the planner that looks. */
async function lastWithPlan(
  saver: BaseCheckpointSaver,
  configurable: Readonly<Record<string, unknown>>,
): Promise<CheckpointTuple | null> {
  for await (const tuple of saver.list({ configurable })) {
    if (valuesOf(tuple).plan) return tuple;
  }
  return null;
}

function valuesOf({ checkpoint }: CheckpointTuple): Partial<GraphState & PlanningState> {
  return checkpoint.channel_values;
}

async function takenUp(saver: BaseCheckpointSaver, last: CheckpointTuple): Promise<TakenUp> {
  const earlier: CheckpointTuple[] = [];
  const parentOf = async ({ parentConfig }: CheckpointTuple) =>
    parentConfig && saver.getTuple(parentConfig);
  for await (const tuple of withAncestors(last, parentOf)) earlier.push(tuple);
  const values = valuesOf(last);
  const { plan = null, depth = 0, gaps = [], criteria_met = null } = values;
  const { steps = [], attempt = null, usage = noUsage, turn } = values;
  // What settled while nothing was written of the node any more; what it spent is not in `usage` either.
  const unwritten = keptSubtasks(last.pendingWrites ?? []);
  const redactions = { ...values.redactions, ...keptRedactions(last.pendingWrites ?? []) };
  const subtasks = { ...begun(earlier, values.subtasks ?? {}), ...unwritten };
  const spent = Object.values(unwritten).reduce((sum, one) => addUsage(sum, one.usage), usage);
  const draft = turn?.draft ?? null;
  const taken = { plan, subtasks, depth, gaps, criteria_met, steps, attempt, redactions };
  return { ...taken, usage: spent, draft };
}

/** With the attempts that had failed of subtasks that were not settled. */
function begun(earlier: readonly CheckpointTuple[], subtasks: SubtaskStates): SubtaskStates {
  const kept = keptSubtasks(earlier.flatMap(({ pendingWrites = [] }) => pendingWrites));
  const open = Object.entries(kept).filter(([id]) => {
    const known = subtasks[id];
    return known !== undefined && !isSettled(known);
  });
  return { ...subtasks, ...Object.fromEntries(open) };
}

import { planLevels } from "../../planning/levels.ts";
import type { GraphState, GraphUpdate, PlanningState } from "../../state/channels.ts";
import { cutText } from "../../state/cut-text.ts";
import type { SubtaskError, SubtaskState } from "../../state/subtask-state.ts";
import type { NodeRun } from "../loop/node-body.ts";
import type { PlannerInput } from "./planner-input.ts";
import type { PlannerParts } from "./planner-parts.ts";
import { sharedOf } from "./slots.ts";

/** The state of a planner's graph, as its nodes read it. */
export function planningOf(state: GraphState): PlanningState {
  return state as GraphState & PlanningState;
}

/** Whether the plan that is due, the first or one for gaps, is there. */
export function isPlanned({
  plan,
  subtasks,
  depth,
}: Pick<PlanningState, "plan" | "subtasks" | "depth">): boolean {
  return plan !== null && Object.values(subtasks).some((subtask) => subtask.depth === depth);
}

export function inputOf(state: GraphState): PlannerInput {
  return state.input as PlannerInput;
}

/** What the result is judged by: what the definition says, else the plan; empty where neither does. */
export function criteriaOf(state: GraphState): string {
  return inputOf(state).success_criteria || planningOf(state).plan?.success_criteria || "";
}

export function emitPlan(
  run: NodeRun,
  { plan, subtasks, depth }: Pick<PlanningState, "plan" | "subtasks" | "depth">,
): void {
  if (plan === null) return;
  run.emit({ type: "plan", plan, levels: planLevels(plan.subtasks), subtasks, depth });
}

/** A subtask that gave nothing. */
export interface Failure {
  readonly id: string;
  readonly state: SubtaskState;
  readonly error: SubtaskError;
  /** For people and models. */
  readonly gap: string;
}

const errorCharacters = 500;

/**
 * Those of the plan at a depth that gave nothing, in their order, those that failed before those that were skipped for
 * them; of the last one before where none came for its gaps.
 */
export function failuresOf(
  { plan, subtasks }: Pick<PlanningState, "plan" | "subtasks">,
  depth: number,
): readonly Failure[] {
  const planned = Object.values(subtasks).reduce((most, one) => Math.max(most, one.depth), 0);
  const last = Math.min(depth, planned);
  const all = (plan?.subtasks ?? []).flatMap(({ id, description }): Failure[] => {
    const state = subtasks[id];
    const error = state?.error ?? null;
    if (state === undefined || error === null || state.depth !== last) return [];
    if (state.status !== "failed" && state.status !== "skipped") return [];
    const what = state.status === "failed" ? "failed" : "was not begun";
    const gap = `${description} (subtask "${id}" ${what}: ${cutText(error.message, errorCharacters)})`;
    return [{ id, state, error, gap }];
  });
  return all.toSorted(
    (a, b) => Number(a.state.status === "skipped") - Number(b.state.status === "skipped"),
  );
}

/** What the last plan was for, but for what failed in it: that is a gap in any case. */
export function missingBefore(
  { gaps, depth }: Pick<PlanningState, "gaps" | "depth">,
  failures: readonly Failure[],
): readonly string[] {
  if (depth === 0) return [];
  return gaps.filter((gap) => !failures.some((failure) => failure.gap.startsWith(gap)));
}

/** What a further plan is begun with, for these gaps; null where none may be made any more. */
export function replanFor(
  run: NodeRun,
  { limits }: PlannerParts,
  { depth, subtasks }: Pick<PlanningState, "depth" | "subtasks">,
  gaps: readonly string[],
): Pick<GraphUpdate, "gaps" | "depth" | "criteria_met"> | null {
  const hasRoom = Object.keys(subtasks).length < limits.maxSubtasks;
  if (depth >= depthLimit(run, limits) || !hasRoom) return null;
  run.emit({ type: "gap", gaps, replans: true });
  return { gaps, depth: depth + 1, criteria_met: false };
}

/** Plans for gaps that may be made: fewer in a planner within others, whose own plans count too. */
export function depthLimit(run: NodeRun, { maxDepth }: PlannerParts["limits"]): number {
  return Math.min(maxDepth, sharedOf(run.config)?.depthLeft ?? Infinity);
}

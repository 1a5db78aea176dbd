import { planLevels } from "../../planning/plan-graph.ts";
import type { GraphState, GraphUpdate, PlanningState } from "../../state/channels.ts";
import type { SubtaskError, SubtaskState, TaskPlan } from "../../state/plan.ts";
import type { Draft } from "../../state/turn.ts";
import { isRecord } from "../../values/json.ts";
import { truncateText } from "../../values/text.ts";
import type { NodeContext } from "../loop/node.ts";
import type { PlannerInput, PlannerConfig } from "./planner-config.ts";
import { sharedOf } from "./worker-slots.ts";

/** Returns the state of a planner's graph with its own channels. */
export function readPlanningState(state: GraphState): PlanningState {
  return state as GraphState & PlanningState;
}

/** Returns whether the current plan, the first or one for gaps, exists. */
export function isPlanned({
  plan,
  subtasks,
  depth,
}: Pick<PlanningState, "plan" | "subtasks" | "depth">): boolean {
  return plan !== null && Object.values(subtasks).some((subtask) => subtask.depth === depth);
}

export function readPlannerInput(state: GraphState): PlannerInput {
  return state.input as PlannerInput;
}

/** Returns the criteria for the result: the definition's, else the plan's; empty without either. */
export function successCriteria(state: GraphState): string {
  return (
    readPlannerInput(state).success_criteria ||
    readPlanningState(state).plan?.success_criteria ||
    ""
  );
}

export function emitPlan(
  run: NodeContext,
  { plan, subtasks, depth }: Pick<PlanningState, "plan" | "subtasks" | "depth">,
): void {
  if (plan === null) return;
  run.emit({ type: "plan", plan, levels: planLevels(plan.subtasks), subtasks, depth });
}

/** A subtask without a result. */
export interface Failure {
  readonly id: string;
  readonly state: SubtaskState;
  readonly error: SubtaskError;
  /** Text for people and models. */
  readonly gap: string;
}

const errorCharacters = 500;

/**
 * Returns the subtasks of the plan at a depth that have no result, in their order, failed ones before skipped ones. If
 * no plan was made for the gaps, those of the previous depth.
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
    const gap = `${description} (subtask "${id}" ${what}: ${truncateText(error.message, errorCharacters)})`;
    return [{ id, state, error, gap }];
  });
  return all.toSorted(
    (a, b) => Number(a.state.status === "skipped") - Number(b.state.status === "skipped"),
  );
}

/** Returns the gaps that the last plan was made for, without those from failed subtasks, which are gaps anyway. */
export function missingBefore(
  { gaps, depth }: Pick<PlanningState, "gaps" | "depth">,
  failures: readonly Failure[],
): readonly string[] {
  if (depth === 0) return [];
  return gaps.filter((gap) => !failures.some((failure) => failure.gap.startsWith(gap)));
}

/** Returns the update that starts a further plan for these gaps; null if none is allowed. */
export function replanFor(
  run: NodeContext,
  { limits }: PlannerConfig,
  { depth, subtasks }: Pick<PlanningState, "depth" | "subtasks">,
  gaps: readonly string[],
): Pick<GraphUpdate, "gaps" | "depth" | "criteria_met"> | null {
  const hasRoom = Object.keys(subtasks).length < limits.maxSubtasks;
  if (depth >= depthLimit(run, limits) || !hasRoom) return null;
  run.emit({ type: "gap", gaps, replans: true });
  return { gaps, depth: depth + 1, criteria_met: false };
}

/**
 * Returns how many plans for gaps are allowed: fewer in a nested planner, because the plans of outer planners count
 * too.
 */
export function depthLimit(run: NodeContext, { maxDepth }: PlannerConfig["limits"]): number {
  return Math.min(maxDepth, sharedOf(run.config)?.depthLeft ?? Infinity);
}

/** A joined and judged result. It is stored in the attempt's tier: another attempt makes its own. */
export interface Candidate {
  readonly answer: string;
  readonly message_id: string | null;
  readonly gaps: readonly string[];
  /** False without a verdict: then its gaps are the failed subtasks. */
  readonly judged: boolean;
}

/** A plan that a person must approve, and the plans that were rejected before it. */
export interface PlanProposal {
  /** Null after a rejection, until there is another plan. */
  readonly plan: TaskPlan | null;
  /** Whether the caller supplied it. */
  readonly isSupplied: boolean;
  /** The plan that was rejected last; null if there is none. */
  readonly rejected: TaskPlan | null;
  /** The reasons of all rejections since the last approved plan, oldest first; empty texts where none was given. */
  readonly reasons: readonly string[];
}

interface AttemptTier {
  /** Joined, but not judged yet. */
  readonly candidate: Omit<Candidate, "gaps" | "judged"> | null;
  /** The candidate with the fewest gaps; see `betterOf`. */
  readonly best: Candidate | null;
  /** Stored here, not in the channel `plan`, which has only plans that may run. */
  readonly proposal: PlanProposal | null;
}

export function attemptTier(attempt: unknown): AttemptTier {
  const tier: Partial<AttemptTier> = isRecord(attempt) ? attempt : {};
  const { candidate = null, best = null, proposal = null } = tier;
  return { candidate, best, proposal };
}

/** Returns the candidate with fewer known gaps; of two with equally many the judged one, then the newer. */
export function betterOf(best: Candidate | null, next: Candidate): Candidate {
  if (best === null || next.gaps.length < best.gaps.length) return next;
  const isAsGood = next.gaps.length === best.gaps.length && (next.judged || !best.judged);
  return isAsGood ? next : best;
}

/** Returns the best result as the draft of the attempt; null without one. */
export function draftFromBest(attempt: unknown): {
  readonly draft: Draft;
  readonly update: Pick<GraphUpdate, "gaps" | "criteria_met">;
} | null {
  const { best } = attemptTier(attempt);
  if (best === null) return null;
  const { answer, message_id, gaps, judged } = best;
  const withoutGaps = judged ? true : null;
  return {
    draft: { answer, message_id, incomplete: false, problem: null },
    update: { gaps, criteria_met: gaps.length === 0 ? withoutGaps : false },
  };
}

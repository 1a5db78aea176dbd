import { planLevels } from "../../src/planning/plan-graph.ts";
import { planTimes } from "../../src/runtime/threads/plans.ts";
import { allSubtasks } from "../../src/runtime/threads/stored.ts";
import type { ThreadPlan } from "../../src/runtime/threads/threads.ts";

/** A plan of the planner node `team`, as threads tell of it. */
export function threadPlanOf(
  given: Pick<ThreadPlan, "plan" | "subtasks"> & Partial<ThreadPlan>,
): ThreadPlan {
  const { plan } = given;
  const subtasks = allSubtasks(given);
  return {
    node: "team",
    within: [],
    waiting: [],
    depth: 0,
    gaps: [],
    criteria_met: null,
    levels: planLevels(plan.subtasks),
    criticalPath: planTimes(plan, subtasks).criticalPath,
    ...given,
    subtasks,
  };
}

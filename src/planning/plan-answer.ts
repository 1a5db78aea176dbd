import { type Read, problem } from "../state/answer-schema.ts";
import { checkHumanAnswer } from "../state/human-answer.ts";
import type { HumanRequest, PlanRequestLimits } from "../state/human-request.ts";
import type { TaskPlan } from "../state/plan.ts";
import { isRecord } from "../values/json.ts";
import { checkPlan } from "./check-plan.ts";

/** Problems of an edited plan in one message. */
const maxSaid = 20;

/**
 * Reads a person's answer as {@link checkHumanAnswer} does. An edited plan must also pass the check of plans; the value
 * of the decision is then the plan, without anything else. Never throws.
 */
export function checkRequestAnswer(
  request: Pick<HumanRequest, "kind" | "proposed" | "schema" | "plan_limits"> &
    Partial<Pick<HumanRequest, "prompt">>,
  answer: unknown,
): ReturnType<typeof checkHumanAnswer> {
  const checked = checkHumanAnswer(request, answer);
  const { plan_limits: limits } = request;
  if (limits === undefined || !checked.ok || checked.on !== "value") return checked;
  const { decision } = checked;
  if (decision.decision !== "edit") return checked;
  const plan = readEditedPlan(decision.value, limits);
  if (!plan.ok) return plan;
  return { ...checked, decision: { decision: "edit", value: plan.value } };
}

/** Reads a plan, or an object with a plan as its only key. */
function readEditedPlan(value: unknown, limits: PlanRequestLimits): Read<TaskPlan> {
  const isWrapped = isRecord(value) && Object.keys(value).join() === "plan";
  const checked = checkPlan(isWrapped ? value["plan"] : value, {
    maxSubtasks: limits.max_subtasks,
    workers: limits.workers,
    given: limits.earlier,
  });
  if (checked.ok) return { ok: true, value: checked.plan };
  const said = checked.problems.slice(0, maxSaid).map(({ message }) => message);
  const more = checked.problems.length - said.length;
  const rest = more === 0 ? "" : `; and ${more.toLocaleString("en")} more`;
  return problem(`The plan cannot be run: ${said.join("; ")}${rest}.`);
}

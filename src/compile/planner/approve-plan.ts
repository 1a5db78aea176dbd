import { InvalidPlanError, PlanRejectedError } from "../../planning/errors.ts";
import { checkPlan } from "../../planning/check-plan.ts";
import { checkRequestAnswer } from "../../planning/plan-answer.ts";
import { answerSchema, type Decision } from "../../state/answer-schema.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import { hashRequest } from "../../state/human-request.ts";
import { transition } from "../../state/lifecycle.ts";
import type { TaskPlan } from "../../state/plan.ts";
import { applyDecisionRails, requestHumanInput } from "../loop/human.ts";
import type { NodeBody, NodeContext, NodeResult } from "../loop/node.ts";
import { beginPlan, limitsOf, withoutPlan } from "./decompose.ts";
import type { PlannerConfig } from "./planner-config.ts";
import { attemptTier, isPlanned, type PlanProposal, readPlanningState } from "./planning.ts";

const valueSchema = {
  type: "object",
  description: 'A plan: { "subtasks": […], "success_criteria": "…" }, or { "plan": {…} }.',
};

/**
 * Asks a person to approve, edit or reject the proposed plan. A rejected plan is planned again with the reason, up to
 * `max_attempts` plans. After that the first plan fails the turn; without a plan for gaps the results so far count.
 */
export function approvePlan(planner: PlannerConfig): NodeBody {
  return async (state, run) => {
    const { proposal } = attemptTier(state.attempt);
    const planning = readPlanningState(state);
    if (proposal?.plan == null) {
      return isPlanned(planning)
        ? executing(state, { update: {}, goto: "execute" })
        : { update: {}, goto: "decompose" };
    }
    const decision = await askPerson(proposal.plan, { planner, planning, run });
    const decided = await applyDecisionRails(decision, { state, run });
    switch (decided.decision) {
      case "approve":
        return begun(proposal.plan, { planner, state, run });
      case "edit": {
        const checked = checkPlan(decided.value, limitsOf(planner, planning));
        // A rail may have redacted what the plan needs.
        if (!checked.ok) throw new InvalidPlanError(checked.problems, "caller");
        return begun(checked.plan, { planner, state, run });
      }
      case "reject":
        return rejected(proposal, decided.reason, { state, run });
    }
  };
}

async function askPerson(
  plan: TaskPlan,
  at: {
    readonly planner: PlannerConfig;
    readonly planning: PlanningState;
    readonly run: NodeContext;
  },
): Promise<Decision> {
  const { planner, planning, run } = at;
  const { rails } = run;
  const earlier = Object.entries(planning.subtasks).map(([id, { status }]) => [id, { status }]);
  // People see unredacted values; models read their answer redacted.
  const proposed = rails.unredact(plan);
  const prompt =
    planning.depth === 0
      ? `May ${run.loop.definition.spec.name} run this plan?`
      : `May ${run.loop.definition.spec.name} run this plan for what is missing?`;
  const hash = hashRequest({ kind: "edit", prompt, proposed }) ?? "";
  const request = {
    kind: "edit" as const,
    prompt,
    proposed,
    schema: answerSchema({ kind: "edit", schema: valueSchema, hash }),
    expires_at: null,
    hash,
    plan_limits: {
      max_subtasks: planner.limits.maxSubtasks,
      workers: [...planner.workers.keys()],
      earlier: Object.fromEntries(earlier) as PlanningState["subtasks"],
    },
  };
  return requestHumanInput(run, request, (answer) => {
    const read = checkRequestAnswer(request, rails.unredact(answer));
    if (!read.ok) return read;
    if (read.on === "value") return { ok: true, value: rails.redact(read.decision) };
    throw new TypeError(`planner "${run.node}" asked about no calls`);
  });
}

interface At {
  readonly state: GraphState;
  readonly run: NodeContext;
}

function begun(plan: TaskPlan, { planner, state, run }: At & { readonly planner: PlannerConfig }) {
  const result = beginPlan(run, planner, readPlanningState(state), plan);
  return executing(state, withProposal(state, null, result));
}

/** @throws PlanRejectedError */
function rejected(proposal: PlanProposal, reason: string, { state, run }: At): NodeResult {
  const { plan, isSupplied } = proposal;
  const reasons = [...proposal.reasons, reason];
  const { max_attempts: most } = run.loop.definition.spec.execution_config;
  if (!isSupplied && reasons.length < most) {
    const next: PlanProposal = { plan: null, isSupplied, rejected: plan, reasons };
    return withProposal(state, next, { update: {}, goto: "decompose" });
  }
  if (readPlanningState(state).depth === 0) throw new PlanRejectedError(reasons.length, reason);
  return executing(state, withProposal(state, null, withoutPlan(state, run)));
}

function withProposal(
  { attempt }: GraphState,
  proposal: PlanProposal | null,
  result: NodeResult,
): NodeResult {
  const tier = { ...attemptTier(attempt), proposal };
  return { ...result, update: { ...result.update, attempt: tier } };
}

/** Leaves PLANNING, where the first plan of an attempt waits. */
function executing({ status }: GraphState, result: NodeResult): NodeResult {
  if (status !== "PLANNING") return result;
  return { ...result, update: { ...result.update, status: transition(status, "EXECUTING") } };
}

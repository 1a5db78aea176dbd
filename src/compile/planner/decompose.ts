import { readStructured } from "../../models/structured-answer.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { checkPlan, type CheckedPlan, type PlanProblem } from "../../planning/check-plan.ts";
import { InvalidPlanError } from "../../planning/errors.ts";
import { workerMatcher } from "../../planning/match-worker.ts";
import { planRequest, planRetry } from "../../planning/prompts.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { isSettled, pendingSubtask } from "../../state/subtask-state.ts";
import type { Subtask, TaskPlan } from "../../state/task-plan.ts";
import type { NodeBody, NodeResult, NodeRun } from "../loop/node-body.ts";
import { readFor } from "../loop/context-reading.ts";
import { askedAgain, askedRecord, plannerContext } from "./ask-planner.ts";
import { draftOf } from "./candidate.ts";
import { takeUp, type TakenUp } from "./take-up.ts";
import { criteriaOf, emitPlan, inputOf, isPlanned, planningOf } from "./planning-of.ts";
import { recordsOf } from "./subtask-record.ts";
import type { PlannerParts } from "./planner-parts.ts";

/**
 * Makes a plan, or one for the gaps that were found; a plan that was given is only checked. A model whose plan cannot be run is
 * told why and asked once more. A later attempt of the turn keeps the plan and what is done.
 */
export function decompose(parts: PlannerParts): NodeBody {
  return async (state, run) => {
    const planning = planningOf(state);
    run.emit({ type: "status", status: "PLANNING" });
    if (isPlanned(planning)) return { update: {}, goto: "execute" };
    const left = planning.plan === null ? await takeUp(run.config) : null;
    if (left !== null) return goOn(state, run, left);
    const given = planning.depth === 0 ? (inputOf(state).plan ?? null) : null;
    if (given !== null) {
      const checked = checkPlan(given, limitsOf(parts, planning));
      if (!checked.ok) throw new InvalidPlanError(checked.problems, "caller");
      return begin(run, parts, planning, checked.plan);
    }
    const made = await askForPlan(state, run, parts);
    run.emit({ type: "step", step: made.record });
    run.keep({ steps: [made.record] });
    if (made.plan !== null) return begin(run, parts, planning, made.plan, made.record);
    if (planning.depth === 0) throw new InvalidPlanError(made.problems, "model");
    return withoutPlan(state, run, made.record);
  };
}

/** With what the planner had come to when its turn was cancelled. */
function goOn(state: GraphState, run: NodeRun, left: TakenUp): NodeResult {
  const { usage, draft, redactions, ...update } = left;
  run.spend(usage);
  run.rails.enter(redactions);
  emitPlan(run, left);
  const told = new Set(left.steps.flatMap((step) => step.tool_predictions.map(({ id }) => id)));
  const untold = Object.entries(left.subtasks).filter(
    ([id, subtask]) => isSettled(subtask) && !told.has(id),
  );
  const records = recordsOf({
    state: { ...state, steps: left.steps },
    run,
    plan: left.plan ?? { subtasks: [], success_criteria: "" },
    subtasks: Object.fromEntries(untold),
  });
  const taken = { ...update, steps: [...left.steps, ...records] };
  if (draft !== null) return { update: taken, turn: { draft }, goto: "reflect" };
  return { update: taken, goto: isPlanned(left) ? "execute" : "decompose" };
}

/** No plan came for the gaps: what there is has to do. */
function withoutPlan(state: GraphState, run: NodeRun, record: StepRecord): NodeResult {
  const draft = draftOf(state.attempt);
  const gaps = draft?.update.gaps ?? planningOf(state).gaps;
  run.emit({ type: "gap", gaps, replans: false });
  if (draft === null) return { update: { steps: [record] }, goto: "synthesise" };
  return {
    update: { steps: [record], ...draft.update },
    turn: { draft: draft.draft },
    goto: "reflect",
  };
}

function begin(
  run: NodeRun,
  parts: PlannerParts,
  planning: PlanningState,
  plan: TaskPlan,
  record?: StepRecord,
): NodeResult {
  const before = planning.plan;
  const whole: TaskPlan = {
    subtasks: [...(before?.subtasks ?? []), ...plan.subtasks],
    success_criteria: before?.success_criteria || plan.success_criteria,
  };
  const match = workerMatcher(parts.profiles);
  const begun = Object.fromEntries(
    plan.subtasks.map((subtask) => [
      subtask.id,
      pendingSubtask(subtask.worker ?? match(subtask), planning.depth),
    ]),
  );
  const subtasks = { ...planning.subtasks, ...begun };
  emitPlan(run, { plan: whole, subtasks, depth: planning.depth });
  return {
    update: { plan: whole, subtasks: begun, ...(record !== undefined && { steps: [record] }) },
    goto: "execute",
  };
}

function limitsOf({ limits, workers }: PlannerParts, { subtasks }: PlanningState) {
  return { maxSubtasks: limits.maxSubtasks, workers: [...workers.keys()], given: subtasks };
}

interface MadePlan {
  /** Null when the second one cannot be run either. */
  readonly plan: TaskPlan | null;
  readonly problems: readonly PlanProblem[];
  readonly record: StepRecord;
}

async function askForPlan(state: GraphState, run: NodeRun, parts: PlannerParts): Promise<MadePlan> {
  const { thinker, profiles, answer, limits } = parts;
  const planning = planningOf(state);
  const timestamp = run.parts.clock.now().toISOString();
  const model = await thinker.model(run.context);
  const before = planning.plan?.subtasks ?? [];
  const isDone = ({ id }: Subtask) => planning.subtasks[id]?.status === "done";
  const note = planRequest({
    workers: profiles,
    most: Math.max(0, limits.maxSubtasks - before.length),
    criteria: criteriaOf(state),
    gaps: planning.depth === 0 ? [] : planning.gaps,
    done: before.filter(isDone),
    taken: before.flatMap((subtask) => (isDone(subtask) ? [] : [subtask.id])),
  });
  const about = { goal: "planning", step: state.steps.length } as const;
  const { messages } = await readFor(run, about, (goal) =>
    plannerContext(state, run, { thinker, model, goal, answer, note }),
  );
  const first = await run.ask(model, { messages, answer }, "unseen");
  const checked = read(first, parts, planning);
  const recordWith = (replies: readonly [ModelReply, ...ModelReply[]], of: CheckedPlan) =>
    askedRecord(state, run, {
      timestamp,
      replies,
      thought: of.ok ? planText(of.plan) : (replies.at(-1)?.message.text ?? ""),
      problem: [checked, ...(of === checked ? [] : [of])]
        .flatMap((one) => (one.ok ? [] : one.problems.map(({ message }) => message)))
        .slice(0, 20)
        .join("\n"),
    });
  if (checked.ok) return { plan: checked.plan, problems: [], record: recordWith([first], checked) };
  const retry = askedAgain(messages, first, planRetry(checked.problems));
  const second = await run.ask(model, { messages: retry, answer }, "unseen");
  const again = read(second, parts, planning);
  const record = recordWith([first, second], again);
  if (again.ok) return { plan: again.plan, problems: [], record };
  return { plan: null, problems: again.problems, record };
}

function read({ message }: ModelReply, parts: PlannerParts, planning: PlanningState): CheckedPlan {
  const structured = readStructured(message, parts.answer);
  const value = structured.value;
  if (value === undefined) {
    const why = structured.ok ? "" : `: ${structured.problem}`;
    const problem = `the reply holds no plan${why}; expected one JSON object with a list of subtasks`;
    return { ok: false, problems: [{ kind: "shape", ids: [], message: problem }] };
  }
  return checkPlan(value, limitsOf(parts, planning));
}

function planText({ subtasks, success_criteria: criteria }: TaskPlan): string {
  const lines = subtasks.map(({ id, description, dependencies }) => {
    const after = dependencies.length === 0 ? "" : ` (after ${dependencies.join(", ")})`;
    return `${id}: ${description}${after}`;
  });
  return [...lines, ...(criteria === "" ? [] : [`Judged by: ${criteria}`])].join("\n");
}

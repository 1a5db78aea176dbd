import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { ModelReply } from "../../models/agent-model.ts";
import { readStructured } from "../../models/replies/json-answer.ts";
import { type CheckedPlan, checkPlan, type PlanProblem } from "../../planning/check-plan.ts";
import { InvalidPlanError } from "../../planning/errors.ts";
import { workerMatcher } from "../../planning/match-worker.ts";
import { planRequest, planRetry } from "../../planning/prompts.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import {
  isSettled,
  pendingSubtask,
  type Subtask,
  type SubtaskStates,
  type TaskPlan,
} from "../../state/plan.ts";
import { transition } from "../../state/lifecycle.ts";
import type { StepRecord } from "../../state/step-record.ts";
import type { Draft } from "../../state/turn.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { namespaceInside, namespaceOf, pendingTasks, withAncestors } from "../guards/waiting.ts";
import { type NodeBody, type NodeResult, type NodeContext, probeContext } from "../loop/node.ts";
import { isResuming } from "../run/run-config.ts";
import type { Saver } from "../run/turn-calls.ts";
import { askedAgain, askedRecord, plannerContext } from "./ask-planner.ts";
import type { PlannerConfig } from "./planner-config.ts";
import {
  attemptTier,
  type PlanProposal,
  successCriteria,
  draftFromBest,
  emitPlan,
  readPlannerInput,
  isPlanned,
  readPlanningState,
} from "./planning.ts";
import { keptRedactions, keptSubtasks, recordsOf } from "./subtask-log.ts";

/**
 * Makes a plan, or one for the gaps that were found; a given plan is only checked. If the model's plan cannot be run,
 * it is asked once more with the problems. A later attempt of the turn keeps the plan and its completed subtasks. A
 * plan that needs approval leads to the node that asks for it.
 */
export function decompose(planner: PlannerConfig): NodeBody {
  const plan = planOrResume(planner);
  return async (state, run) => {
    const result = await plan(state, run);
    const isReady = result.goto !== "approve" && result.goto !== "decompose";
    if (state.status !== "PLANNING" || !isReady) return result;
    return { ...result, update: { ...result.update, status: transition("PLANNING", "EXECUTING") } };
  };
}

function planOrResume(planner: PlannerConfig) {
  return async (state: GraphState, run: NodeContext): Promise<NodeResult> => {
    const planning = readPlanningState(state);
    run.emit({ type: "status", status: "PLANNING" });
    if (isPlanned(planning)) return { update: {}, goto: "execute" };
    const left = planning.plan === null ? await resumePlan(run.config) : null;
    if (left !== null) return resumeSubtasks(state, run, left);
    const given = planning.depth === 0 ? (readPlannerInput(state).plan ?? null) : null;
    if (given !== null) {
      const checked = checkPlan(given, limitsOf(planner, planning));
      if (!checked.ok) throw new InvalidPlanError(checked.problems, "caller");
      if (planner.limits.needsApproval) return propose(state, checked.plan, { isSupplied: true });
      return beginPlan(run, planner, planning, checked.plan);
    }
    const made = await askForPlan(state, run, planner);
    run.emit({ type: "step", step: made.record });
    run.onInterrupted({ steps: [made.record] });
    if (made.plan !== null) {
      return planner.limits.needsApproval
        ? propose(state, made.plan, { isSupplied: false, record: made.record })
        : beginPlan(run, planner, planning, made.plan, made.record);
    }
    if (planning.depth === 0) throw new InvalidPlanError(made.problems, "model");
    return withoutPlan(state, run, made.record);
  };
}

/** Leaves a plan for the person who approves it. */
function propose(
  { attempt }: GraphState,
  plan: TaskPlan,
  of: { readonly isSupplied: boolean; readonly record?: StepRecord },
): NodeResult {
  const tier = attemptTier(attempt);
  const { rejected = null, reasons = [] } = tier.proposal ?? {};
  const proposal: PlanProposal = { plan, isSupplied: of.isSupplied, rejected, reasons };
  const steps = of.record !== undefined && { steps: [of.record] };
  return { update: { attempt: { ...tier, proposal }, ...steps }, goto: "approve" };
}

/** Continues with the planner's state at the cancellation of its turn. */
function resumeSubtasks(state: GraphState, run: NodeContext, left: ResumedPlan): NodeResult {
  const { usage, draft, redactions, ...update } = left;
  run.addUsage(usage);
  run.rails.addRedactions(redactions);
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

/** Continues without a plan for the gaps, with the results so far. */
export function withoutPlan(state: GraphState, run: NodeContext, record?: StepRecord): NodeResult {
  const steps = record !== undefined && { steps: [record] };
  const draft = draftFromBest(state.attempt);
  const gaps = draft?.update.gaps ?? readPlanningState(state).gaps;
  run.emit({ type: "gap", gaps, replans: false });
  if (draft === null) return { update: { ...steps }, goto: "synthesise" };
  return {
    update: { ...steps, ...draft.update },
    turn: { draft: draft.draft },
    goto: "reflect",
  };
}

/** Begins a plan that may run. */
export function beginPlan(
  run: NodeContext,
  planner: PlannerConfig,
  planning: PlanningState,
  plan: TaskPlan,
  record?: StepRecord,
): NodeResult {
  const before = planning.plan;
  const whole: TaskPlan = {
    subtasks: [...(before?.subtasks ?? []), ...plan.subtasks],
    success_criteria: before?.success_criteria || plan.success_criteria,
  };
  const match = workerMatcher(planner.profiles);
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

export function limitsOf({ limits, workers }: PlannerConfig, { subtasks }: PlanningState) {
  return { maxSubtasks: limits.maxSubtasks, workers: [...workers.keys()], given: subtasks };
}

interface MadePlan {
  /** Null if the second plan cannot be run either. */
  readonly plan: TaskPlan | null;
  readonly problems: readonly PlanProblem[];
  readonly record: StepRecord;
}

async function askForPlan(
  state: GraphState,
  run: NodeContext,
  planner: PlannerConfig,
): Promise<MadePlan> {
  const { boundModel, profiles, answer, limits } = planner;
  const planning = readPlanningState(state);
  const timestamp = run.loop.clock.now().toISOString();
  const model = await boundModel.model(run.context);
  const before = planning.plan?.subtasks ?? [];
  const isDone = ({ id }: Subtask) => planning.subtasks[id]?.status === "done";
  const { rejected = null, reasons = [] } = attemptTier(state.attempt).proposal ?? {};
  const note = planRequest({
    ...(rejected !== null && { rejected: { plan: planText(rejected), reasons } }),
    workers: profiles,
    most: Math.max(0, limits.maxSubtasks - before.length),
    criteria: successCriteria(state),
    gaps: planning.depth === 0 ? [] : planning.gaps,
    done: before.filter(isDone),
    taken: before.flatMap((subtask) => (isDone(subtask) ? [] : [subtask.id])),
  });
  const about = { goal: "planning", step: state.steps.length } as const;
  const { messages } = await probeContext(run, about, (goal) =>
    plannerContext(state, run, { boundModel, model, goal, answer, note }),
  );
  const asked = { purpose: "planning", step: about.step, isUnseen: true } as const;
  const first = await run.callModel(model, { messages, answer }, asked);
  const checked = read(first, planner, planning);
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
  const second = await run.callModel(model, { messages: retry, answer }, asked);
  const again = read(second, planner, planning);
  const record = recordWith([first, second], again);
  if (again.ok) return { plan: again.plan, problems: [], record };
  return { plan: null, problems: again.problems, record };
}

function read(
  { message }: ModelReply,
  planner: PlannerConfig,
  planning: PlanningState,
): CheckedPlan {
  const structured = readStructured(message, planner.answer);
  const value = structured.value;
  if (value === undefined) {
    const why = structured.ok ? "" : `: ${structured.problem}`;
    const problem = `the reply has no plan${why}; expected one JSON object with a list of subtasks`;
    return { ok: false, problems: [{ kind: "shape", ids: [], message: problem }] };
  }
  return checkPlan(value, limitsOf(planner, planning));
}

function planText({ subtasks, success_criteria: criteria }: TaskPlan): string {
  const lines = subtasks.map(({ id, description, dependencies }) => {
    const after = dependencies.length === 0 ? "" : ` (after ${dependencies.join(", ")})`;
    return `${id}: ${description}${after}`;
  });
  return [...lines, ...(criteria === "" ? [] : [`Judged by: ${criteria}`])].join("\n");
}

/** The state of a planner when its turn was cancelled. */
interface ResumedPlan extends PlanningState, Pick<GraphState, "steps" | "attempt" | "redactions"> {
  /** The usage of the planner and its workers. */
  readonly usage: Usage;
  /** Its result, if it had one. */
  readonly draft: Draft | null;
}

/**
 * Returns the plan that a planner resumes after its turn was cancelled; null if it starts afresh. Such a turn resumes
 * from the checkpoint before the cancelled node, and its nested graphs run afresh; but their last state is still
 * stored. So a planner does not repeat its completed subtasks. A planner nested deeper restarts with its worker.
 *
 * @param config LangGraph's config of the planner's node
 */
async function resumePlan(config: RunnableConfig): Promise<ResumedPlan | null> {
  const { configurable = {} } = config;
  const saver = configurable["__pregel_checkpointer"] as Saver | undefined;
  const [planner = "", ...inside] = String(configurable["checkpoint_ns"]).split("|");
  if (saver === undefined || !isResuming(config) || inside.length !== 1) return null;
  const node = planner.slice(0, planner.lastIndexOf(":"));
  const thread = { thread_id: configurable["thread_id"] as unknown };
  const { [""]: here } = configurable["checkpoint_map"] as Readonly<Record<string, string>>;
  // LangGraph may still be writing the copy from which the turn resumes.
  await saver.durable?.(String(thread.thread_id));
  let tuple = await saver.getTuple({
    configurable: { ...thread, checkpoint_ns: "", checkpoint_id: here },
  });
  // If the node is reached again later, nothing is stored at its own checkpoint, which is no copy.
  while (tuple !== undefined) {
    const task = pendingTasks(tuple).find((one) => one.node === node);
    const namespace = task && namespaceInside(task, namespaceOf(tuple));
    const left = namespace && (await lastWithPlan(saver, { ...thread, checkpoint_ns: namespace }));
    if (left) return planInState(saver, left);
    // A cancelled turn resumes from a copy; one cancelled twice from the same checkpoint.
    const isCopy = tuple.metadata?.source === "fork" && tuple.parentConfig !== undefined;
    tuple = isCopy ? await saver.getTuple(tuple.parentConfig!) : undefined;
  }
  return null;
}

/** Newer ones without a plan belong to the planner that is resuming. */
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

async function planInState(
  saver: BaseCheckpointSaver,
  last: CheckpointTuple,
): Promise<ResumedPlan> {
  const earlier: CheckpointTuple[] = [];
  const parentOf = async ({ parentConfig }: CheckpointTuple) =>
    parentConfig && saver.getTuple(parentConfig);
  for await (const tuple of withAncestors(last, parentOf)) earlier.push(tuple);
  const values = valuesOf(last);
  const { plan = null, depth = 0, gaps = [], criteria_met = null } = values;
  const { steps = [], attempt = null, usage = noUsage, turn } = values;
  // Subtasks that settled after the node's last write; their usage is not in `usage` either.
  const unwritten = keptSubtasks(last.pendingWrites ?? []);
  const redactions = { ...values.redactions, ...keptRedactions(last.pendingWrites ?? []) };
  const subtasks = { ...begunSubtasks(earlier, values.subtasks ?? {}), ...unwritten };
  const spent = Object.values(unwritten).reduce((sum, one) => addUsage(sum, one.usage), usage);
  const draft = turn?.draft ?? null;
  const taken = { plan, subtasks, depth, gaps, criteria_met, steps, attempt, redactions };
  return { ...taken, usage: spent, draft };
}

/** Returns unsettled subtasks with their failed attempts. */
function begunSubtasks(
  earlier: readonly CheckpointTuple[],
  subtasks: SubtaskStates,
): SubtaskStates {
  const kept = keptSubtasks(earlier.flatMap(({ pendingWrites = [] }) => pendingWrites));
  const open = Object.entries(kept).filter(([id]) => {
    const known = subtasks[id];
    return known !== undefined && !isSettled(known);
  });
  return { ...subtasks, ...Object.fromEntries(open) };
}

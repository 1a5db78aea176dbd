import { SubtaskFailedError } from "../../planning/errors.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import type { NodeBody, NodeRun } from "../loop/node-body.ts";
import { Dataflow } from "./dataflow.ts";
import { emitPlan, failuresOf, planningOf, replanFor } from "./planning-of.ts";
import type { PlannerParts } from "./planner-parts.ts";
import { recordsOf } from "./subtask-record.ts";
import { subtaskLog } from "./subtask-log.ts";

/**
 * Runs what is left of the plan as dataflow: each subtask begins the moment its own dependencies are done. What has
 * settled is durable before anything that depends on it begins. Subtasks that wait for people leave their place to
 * others; when nothing else can go on, the run waits for all of them together.
 */
export function execute(parts: PlannerParts): NodeBody {
  return async (state, run) => {
    const planning = planningOf(state);
    const plan = planning.plan ?? { subtasks: [], success_criteria: "" };
    run.emit({ type: "status", status: "EXECUTING" });
    const log = subtaskLog(run.config, state.turn?.run ?? "");
    const { subtasks: known, redactions } = await log.load();
    run.rails.enter(redactions);
    const dataflow = new Dataflow({ parts, state, run, plan, log, planning, known });
    // Whoever looks on from here has not seen the plan.
    const isResumed = run.config.configurable?.["__pregel_resuming"] === true;
    if (isResumed || Object.keys(known).length > 0)
      emitPlan(run, { ...planning, subtasks: dataflow.states });
    try {
      await dataflow.run();
    } finally {
      run.keep({ subtasks: dataflow.settled() });
    }
    const subtasks = dataflow.settled();
    const update = { subtasks, steps: recordsOf({ state, run, plan, subtasks }) };
    run.keep(update);
    return { ...next(state, run, parts, { ...planning, subtasks: dataflow.states }, update) };
  };
}

/** @throws SubtaskFailedError where failures are to end the turn, or nothing is done at all */
function next(
  state: GraphState,
  run: NodeRun,
  parts: PlannerParts,
  planning: PlanningState,
  update: Awaited<ReturnType<NodeBody>>["update"],
): Awaited<ReturnType<NodeBody>> {
  const { onFailure } = parts.limits;
  const failures = failuresOf(planning, planning.depth);
  const [first] = failures;
  const isAnyDone = Object.values(planning.subtasks).some(({ status }) => status === "done");
  if (first !== undefined && onFailure === "replan") {
    const replan = replanFor(
      run,
      parts,
      planning,
      failures.map(({ gap }) => gap),
    );
    if (replan !== null) return { update: { ...update, ...replan }, goto: "decompose" };
  }
  if (first !== undefined && (onFailure === "fail" || !isAnyDone)) {
    throw new SubtaskFailedError(first.id, first.state.worker, first.error);
  }
  return { update, goto: "synthesise" };
}

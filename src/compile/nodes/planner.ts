import { inputText } from "../../context/answer-form.ts";
import { unredact } from "../../guardrails/redaction.ts";
import type { Template, TemplateValue } from "../../expression/template.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import { isRecord } from "../../values/json.ts";
import type { TurnFailure } from "../../state/turn.ts";
import type { PlannerNode } from "../workflow-plan.ts";
import { PlannerFailedError } from "../planner/planner-config.ts";
import {
  applyOutputRails,
  type NodeDone,
  type NodeWork,
  promptText,
  withheldFailure,
} from "./node-work.ts";
import { runSubagent, type Subagent } from "./run-subagent.ts";

export interface PlannerNodeDeps {
  readonly plan: PlannerNode;
  readonly task: Template | null;
  readonly given: TemplateValue | null;
  readonly criteria: Template | null;
  /** The planner's own graph. */
  readonly planner: Subagent;
}

/**
 * Plans a task and runs it with workers, as one turn of the planner's graph. Its output contains the plan and the
 * outcome of each subtask. A failure that no edge handles ends the turn: the planner has made its own attempts, and
 * another attempt would repeat all subtasks.
 *
 * @throws PlannerFailedError
 */
export function plannerNode(deps: PlannerNodeDeps): NodeWork {
  const { plan, task, criteria, planner } = deps;
  return async (at) => {
    const message = task === null ? taskOf(at.state.input) : promptText(task, at.values);
    const input = {
      message,
      plan: deps.given?.render(at.values) ?? null,
      success_criteria: promptText(criteria, at.values),
    };
    const turn = await runSubagent(planner, { input, messages: [] }, at.run);
    at.run.addUsage(turn.usage);
    const planned = turn.state as Partial<GraphState & PlanningState>;
    const { depth = 0, gaps = [], subtasks = {}, criteria_met = null } = planned;
    const { output, failure } = turn;
    const given = { output, failure, gaps, plan: planned.plan ?? null, subtasks };
    // Unredacted: the outer agent does not know the planner's placeholders.
    const made = unredact(given, planned.redactions ?? {}) as typeof given;
    const { value, withheldBy } = await applyOutputRails(made, plan.name, at);
    const { status, ...told } =
      withheldBy === null
        ? { status: turn.status, ...value }
        : withheld(withheldFailure(`planner "${plan.name}"`, withheldBy));
    const done: NodeDone = { output: { status, criteria_met, depth, ...told } };
    if (told.failure === null) return { ...done, value: told.output };
    if (at.asks("status") || at.asks("failure")) return done;
    throw new PlannerFailedError(plan.name, told.failure);
  };
}

/** Returns a planner's output without any results of its workers. */
function withheld(failure: TurnFailure) {
  return { status: "FAILED", output: null, failure, gaps: [], plan: null, subtasks: {} };
}

/** Returns the turn's input as a task, without a plan that came with it. */
function taskOf(input: unknown): string {
  if (!isRecord(input)) return inputText(input);
  const { plan: _plan, ...rest } = input;
  return inputText(rest);
}

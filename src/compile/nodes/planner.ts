import { inputText } from "../../context/input-text.ts";
import { restore } from "../../guardrails/redaction.ts";
import type { Template } from "../../expression/template.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import type { GraphState, PlanningState } from "../../state/channels.ts";
import { isRecord } from "../../state/is-record.ts";
import type { TurnFailure } from "../../state/turn.ts";
import type { PlannerNode } from "../plan/plan-node.ts";
import { PlannerFailedError } from "../planner/errors.ts";
import { inspectOutput, withheldFailure } from "./inspect-output.ts";
import type { NodeDone, NodeWork } from "./node-work.ts";
import { promptText } from "./prompt-text.ts";
import { runSubagent, type Subagent } from "./run-subagent.ts";

export interface PlannerNodeParts {
  readonly plan: PlannerNode;
  readonly task: Template | null;
  readonly given: TemplateValue | null;
  readonly criteria: Template | null;
  /** The planner's own graph. */
  readonly planner: Subagent;
}

/**
 * Has a task planned and done by workers, as one turn of the planner's graph. Its output tells the plan and what became of
 * each subtask. A failure that no edge asks about ends the turn: the planner has made its own attempts, and another one
 * around it would do all subtasks again.
 *
 * @throws PlannerFailedError
 */
export function plannerNode(parts: PlannerNodeParts): NodeWork {
  const { plan, task, criteria, planner } = parts;
  return async (at) => {
    const message = task === null ? taskOf(at.state.input) : promptText(task, at.values);
    const input = {
      message,
      plan: parts.given?.render(at.values) ?? null,
      success_criteria: promptText(criteria, at.values),
    };
    const turn = await runSubagent(planner, { input, messages: [] }, at.run);
    at.run.spend(turn.usage);
    const planned = turn.state as Partial<GraphState & PlanningState>;
    const { depth = 0, gaps = [], subtasks = {}, criteria_met = null } = planned;
    const { output, failure } = turn;
    const given = { output, failure, gaps, plan: planned.plan ?? null, subtasks };
    // With the values of its own marks, which the agent around it does not know.
    const made = restore(given, planned.redactions ?? {}) as typeof given;
    const { value, withheldBy } = await inspectOutput(made, plan.name, at);
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

/** A planner's output without anything that its workers gave or that was made of it. */
function withheld(failure: TurnFailure) {
  return { status: "FAILED", output: null, failure, gaps: [], plan: null, subtasks: {} };
}

/** The turn's input as a task. A plan that came with it is none of it. */
function taskOf(input: unknown): string {
  if (!isRecord(input)) return inputText(input);
  const { plan: _plan, ...rest } = input;
  return inputText(rest);
}

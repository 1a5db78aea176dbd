import { getAtPath } from "../../definition/check/problems.ts";
import type { Expression } from "../../expression/expression.ts";
import type { Template } from "../../expression/template.ts";
import { redactKnownValues } from "../../guardrails/redaction.ts";
import { type Branch, conflictOf } from "../../state/branch.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { Redactions } from "../../state/rails.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { type Draft, turnSteps, type TurnState, turnUsage } from "../../state/turn.ts";
import { isRecord } from "../../values/json.ts";
import { TierConflictError } from "../errors.ts";
import type { BoundModel } from "../loop/context.ts";
import type { NodeContext } from "../loop/node.ts";
import { emptyStep } from "../loop/step.ts";
import { type RailedValue, applyResultRails } from "../loop/tools.ts";

/** The input of a workflow node's work. */
export interface NodeAt {
  readonly state: GraphState;
  readonly run: NodeContext;
  /** The joined data of the branches at the node. */
  readonly branch: Pick<Branch, "last" | "steps" | "open" | "since" | "rejections">;
  /** The variables of expressions, by name. */
  readonly values: ExpressionValues;
  /** `step_index` of the record that this run of the node makes, if any. */
  readonly stepIndex: number;
  /** Number of calls that nodes before this one are about to make in the same superstep. */
  readonly callsBeside: number;
  /** Whether other branches are running. */
  readonly isParallel: boolean;
  /** Returns whether an edge of the node reads this field of its output, and so handles it. */
  asks(field: string): boolean;
}

/** The result of a workflow node. */
export interface NodeDone {
  /** Becomes `nodes.<name>`. */
  readonly output: Readonly<Record<string, unknown>>;
  /** The value for the node's `writes` key; if left out, nothing is written. */
  readonly value?: unknown;
  /** Additional writes. Tiers are given whole, and written as the changed keys. */
  readonly update?: Omit<GraphUpdate, "turn" | "branches" | "nodes" | "status">;
  readonly turn?: Partial<TurnState>;
  /** The new data of its branch. */
  readonly branch?: Partial<Pick<Branch, "last" | "steps" | "open" | "rejections">>;
  /** Whether the node must run again before its branch moves on. */
  readonly again?: boolean;
}

/** Ends the attempt here, without another node: with the best answer, or the reason why there is none. */
export interface AttemptEnd {
  readonly end: Draft;
  readonly update?: NodeDone["update"];
}

/** The work of one type of node. */
export type NodeWork = (at: NodeAt) => Promise<NodeDone | AttemptEnd> | NodeDone | AttemptEnd;

/** A model with the prompt of its node. */
export interface PromptedModel {
  readonly boundModel: BoundModel;
  readonly prompt: Template | null;
}

/** Renders a prompt as text; a template with another value is written as JSON. */
export function promptText(prompt: Template | null, values: ExpressionValues): string {
  if (prompt === null) return "";
  const rendered = prompt.render(values);
  if (rendered === null || rendered === undefined) return "";
  return typeof rendered === "string" ? rendered : JSON.stringify(rendered);
}

/** The variables of expressions, by name; see spec/01, "Conditions and templates". */
export type ExpressionValues = Readonly<Record<string, unknown>>;

/** Returns the variables of expressions at a node. Steps and usage are computed only on access. */
export function valuesOf(
  state: GraphState,
  branch: Pick<Branch, "last">,
  status = state.status ?? "CREATED",
): ExpressionValues {
  return {
    input: state.input,
    execution: redactedTier(state.execution, state.redactions),
    attempt: redactedTier(state.attempt, state.redactions),
    attempt_number: state.attempt_number ?? 0,
    nodes: state.nodes,
    last: lastOutput(state, branch),
    status,
    get steps() {
      const turnNumber = state.turn_number ?? 0;
      const attemptNumber = state.attempt_number ?? 0;
      // A copy: a template may store the list, and a fold owns the original.
      return [...turnSteps(state.steps, { turnNumber, attemptNumber }).steps];
    },
    get usage() {
      return turnUsage(state);
    },
  };
}

/** Redacts a tier for templates: handlers may store values there that models must not read. */
function redactedTier(tier: unknown, redactions: Redactions): unknown {
  return Object.keys(redactions).length === 0 ? tier : redactKnownValues(tier, redactions);
}

/** Returns the values that expressions have read, by path, to explain why none of them holds. */
export function valuesRead(
  expressions: readonly Pick<Expression, "references">[],
  values: ExpressionValues,
): Readonly<Record<string, unknown>> {
  const paths = expressions.flatMap(({ references }) => references);
  return Object.fromEntries(paths.map((path) => [path.join("."), getAtPath(values, path)]));
}

/** Returns the output of the branch's last llm node. */
function lastOutput(state: GraphState, { last }: Pick<Branch, "last">) {
  const output = last === null ? undefined : state.nodes[last];
  const { text, tool_calls } = isRecord(output) ? output : {};
  return { text: text ?? "", tool_calls: tool_calls ?? [] };
}

/** Returns an empty step of a workflow node. */
export function emptyStepAt(
  { state, run, stepIndex }: NodeAt,
  timestamp = run.loop.clock.now().toISOString(),
): CurrentStep {
  return emptyStep({
    turn_number: state.turn_number ?? 0,
    attempt_number: state.attempt_number ?? 0,
    step_index: stepIndex,
    node: run.node,
    timestamp,
    approach: state.turn?.approach ?? "",
  });
}

/**
 * Refuses conflicting writes: if tools of concurrent branches set one key to different values, one of them would be
 * lost silently.
 *
 * @throws TierConflictError
 */
export function refuseConflicts(branches: readonly Branch[]): void {
  const conflict = branches.length > 1 ? conflictOf(branches) : null;
  if (conflict !== null) throw new TierConflictError(conflict.key, conflict.nodes);
}

/**
 * Applies the rails on tool results to the output of a nested agent or planner. The output contains values redacted
 * inside, which the outer agent may have to redact itself.
 *
 * @param by the name of the agent or of the planner node
 */
export function applyOutputRails<T>(
  given: T,
  by: string,
  at: Pick<NodeAt, "state" | "run">,
): Promise<RailedValue<T>> {
  return applyResultRails(given, { by, stepIndex: null, callId: null }, at);
}

/** Returns the failure of an output that a guardrail withholds. */
export function withheldFailure(of: string, rail: string) {
  return {
    cause: `guardrail:${rail}`,
    message: `The result of ${of} was withheld by guardrail ${rail}.`,
  };
}

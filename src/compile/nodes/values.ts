import { valueAt } from "../../definition/value-at.ts";
import type { Expression } from "../../expression/expression.ts";
import type { Branch } from "../../state/branch.ts";
import { hideKnown } from "../../guardrails/redaction.ts";
import type { GraphState } from "../../state/channels.ts";
import { isRecord } from "../../state/is-record.ts";
import type { Redactions } from "../../state/redactions.ts";
import { stepsOfTurn, turnUsage } from "../../state/turn.ts";

/** The variables of expressions, by name; see spec/01, "Conditions and templates". */
export type ExpressionValues = Readonly<Record<string, unknown>>;

/** What expressions read at a node. Steps and usage are gathered only when one asks for them. */
export function valuesOf(
  state: GraphState,
  branch: Pick<Branch, "last">,
  status = state.status ?? "CREATED",
): ExpressionValues {
  return {
    input: state.input,
    execution: hidden(state.execution, state.redactions),
    attempt: hidden(state.attempt, state.redactions),
    attempt_number: state.attempt_number ?? 0,
    nodes: state.nodes,
    last: lastOf(state, branch),
    status,
    get steps() {
      return stepsOfTurn(state.steps, state.turn_number ?? 0);
    },
    get usage() {
      return turnUsage(state);
    },
  };
}

/** Handlers keep values that models are not to read, and templates are read by models. */
function hidden(tier: unknown, redactions: Redactions): unknown {
  return Object.keys(redactions).length === 0 ? tier : hideKnown(tier, redactions);
}

/** What expressions have read, by path, for people who wonder why none of them holds. */
export function valuesRead(
  expressions: readonly Pick<Expression, "references">[],
  values: ExpressionValues,
): Readonly<Record<string, unknown>> {
  const paths = expressions.flatMap(({ references }) => references);
  return Object.fromEntries(paths.map((path) => [path.join("."), valueAt(values, path)]));
}

/** What the last llm node of the branch said. */
function lastOf(state: GraphState, { last }: Pick<Branch, "last">) {
  const output = last === null ? undefined : state.nodes[last];
  const { text, tool_calls } = isRecord(output) ? output : {};
  return { text: text ?? "", tool_calls: tool_calls ?? [] };
}

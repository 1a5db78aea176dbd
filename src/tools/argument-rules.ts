import { ExpressionError } from "../expression/errors.ts";
import type { Expression } from "../expression/expression.ts";

/** A rule on the arguments of one tool's calls. */
export interface ArgumentRule {
  readonly tool: string;
  /** Reads `args`, `input`, `execution` and `attempt`. */
  readonly condition: Pick<Expression, "source" | "references" | "evaluate">;
  /** What the model reads where it does not hold; undefined for the rule itself. */
  readonly message: string | undefined;
  readonly action: "block" | "flag";
}

/** What a tool rail says of one call. */
export interface CallFinding {
  readonly rail: "max_calls_per_turn" | "allowed_tools" | "permissions" | "arguments";
  readonly verdict: "pass" | "flag" | "block";
  /** Why, as the model reads it; empty for `pass`. */
  readonly reason: string;
}

/** What rules may read beside the arguments. */
export interface RuleValues {
  readonly input: unknown;
  readonly execution: unknown;
  readonly attempt: unknown;
}

/**
 * What each rule for the tool says of a call, in order. A rule that cannot be evaluated does not hold.
 * @param args as the handler gets them, as JSON: with nothing redacted, and with what the schema adds or changes
 */
export function checkArguments(
  tool: string,
  args: unknown,
  rules: readonly ArgumentRule[],
  values: RuleValues,
): readonly CallFinding[] {
  return rules
    .filter((rule) => rule.tool === tool)
    .map((rule): CallFinding => {
      const problem = problemOf(rule, { ...values, args });
      if (problem === null) return { rail: "arguments", verdict: "pass", reason: "" };
      return { rail: "arguments", verdict: rule.action, reason: reasonOf(tool, rule, problem) };
    });
}

function problemOf({ condition }: ArgumentRule, values: Record<string, unknown>): string | null {
  try {
    return condition.evaluate(values) === true ? null : "";
  } catch (thrown) {
    if (thrown instanceof ExpressionError) return ` It could not be checked: ${thrown.problem}.`;
    throw thrown;
  }
}

function reasonOf(tool: string, { condition, message }: ArgumentRule, problem: string): string {
  const rule = message ?? `The rule ${condition.source} does not hold.`;
  return `Tool "${tool}" may not be called with these arguments. ${rule}${problem}`;
}

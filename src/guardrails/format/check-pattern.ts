import { compileExpression, type Expression } from "../../expression/expression.ts";
import { patternProblem } from "../../expression/pattern-problem.ts";
import { FormatRailError } from "./errors.ts";
import type { FormatCheck } from "./format-check.ts";

/**
 * The pattern is in RE2's syntax and matched as by CEL's `matches`, in time linear in the text, so that no pattern can be
 * catastrophic. RE2 has no lookaround and no backreferences.
 * @throws FormatRailError
 */
export function checkPattern(pattern: string): FormatCheck {
  const problem = patternProblem(pattern);
  if (problem !== undefined)
    throw new FormatRailError(
      "pattern",
      `${problem}; it has to be in RE2's syntax, without lookaround and backreferences`,
    );
  const expression = matchExpression();
  const reason = `The text does not match the regular expression ${pattern}; write it so that it does.`;
  return ({ text }) => (expression.evaluate({ text, pattern }) === true ? [] : [reason]);
}

function matchExpression(): Expression {
  const compiled = compileExpression(
    "text.matches(pattern)",
    { text: { kind: "string" }, pattern: { kind: "string" } },
    "bool",
  );
  if (compiled.ok) return compiled.value;
  const [problem] = compiled.problems;
  throw new FormatRailError("pattern", problem?.message ?? "it cannot be compiled");
}

import { conditionProblems } from "./expression-problems.ts";
import { argumentRuleScope } from "./expression-scope.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { DefinitionProblem } from "./problems.ts";
import { valueAt } from "./value-at.ts";

/** What is wrong with the conditions of argument rules; whether their tools exist is told with other names of tools. */
export function argumentRuleProblems(
  written: unknown,
  inputSchema: JsonSchema,
): readonly DefinitionProblem[] {
  const path = ["guardrail_config", "tool_rails", "rules"];
  const rules = valueAt(written, path);
  const scope = argumentRuleScope(inputSchema);
  return (Array.isArray(rules) ? rules : []).flatMap((rule: unknown, index) => {
    const source = valueAt(rule, ["check"]);
    if (typeof source !== "string" || source === "") return [];
    return conditionProblems({ what: "rule", source, path: [...path, index, "check"] }, scope);
  });
}

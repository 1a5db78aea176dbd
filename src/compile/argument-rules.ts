import { argumentRuleScope } from "../definition/expression-scope.ts";
import type { AgentSpec } from "../definition/schema.ts";
import { compileExpression } from "../expression/expression.ts";
import type { ArgumentRule } from "../tools/argument-rules.ts";

/** The rules of a definition on the arguments of calls. They were checked when it was loaded. */
export function compileArgumentRules(spec: AgentSpec): readonly ArgumentRule[] {
  const scope = argumentRuleScope(spec.input_schema);
  return spec.guardrail_config.tool_rails.rules.map(({ tool, check, message, action }) => {
    const compiled = compileExpression(check, scope, "bool");
    if (!compiled.ok)
      throw new TypeError(`the definition was checked with another rule than '${check}'`);
    return { tool, condition: compiled.value, message, action };
  });
}

import { compileExpression, type Scope } from "../../src/expression/expression.ts";

/** A scope such as a workflow has. */
export const scope: Scope = {
  input: { kind: "any" },
  execution: { kind: "any" },
  attempt_number: { kind: "int" },
  status: { kind: "string" },
  usage: { kind: "object", fields: { cost_usd: { kind: "double" } }, open: false },
  nodes: {
    kind: "object",
    fields: {
      classify: {
        kind: "object",
        fields: { choice: { kind: "string" }, scores: { kind: "list", of: { kind: "double" } } },
        open: false,
      },
      "my-node": { kind: "any" },
    },
    open: false,
  },
};

/** The result of an expression in `scope`, given some of its values. */
export function evaluate(source: string, values: Readonly<Record<string, unknown>> = {}): unknown {
  const compiled = compileExpression(source, scope);
  if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join("; "));
  return compiled.value.evaluate(values);
}

/** What is wrong with an expression in `scope`, each as `offset: message (suggestion)`. */
export function problemsOf(source: string, expected?: "bool"): string[] {
  const compiled = compileExpression(source, scope, expected);
  if (compiled.ok) return [];
  return compiled.problems.map(
    ({ offset, message, suggestion }) =>
      `${offset}: ${message}${suggestion === undefined ? "" : ` (${suggestion})`}`,
  );
}

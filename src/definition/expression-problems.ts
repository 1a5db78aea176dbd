import { compileExpression, type Scope } from "../expression/expression.ts";
import type { ExpressionProblem } from "../expression/problem.ts";
import { quoteExpression } from "../expression/quote-expression.ts";
import { compileTemplate } from "../expression/template.ts";
import { compileTemplateValue } from "../expression/template-value.ts";
import type { DefinitionPath, DefinitionProblem } from "./problems.ts";
import type { ReadWorkflow } from "./read-workflow.ts";
import type { WorkflowNode } from "./workflow-schema.ts";

/** What is wrong with the conditions, rules and templates of a workflow. */
export function expressionProblems(
  { nodes, edges, output }: ReadWorkflow,
  scope: Scope,
): readonly DefinitionProblem[] {
  const check = checker(scope);
  return [
    ...nodes.flatMap(({ node, index }) =>
      node === undefined ? [] : ofNode(node, ["workflow_graph", "nodes", index, "config"], check),
    ),
    ...edges.flatMap(({ index, condition }) =>
      condition === undefined
        ? []
        : check.bool("condition", condition, ["workflow_graph", "edges", index, "condition"]),
    ),
    ...check.value(output, ["workflow_graph", "output"]),
  ];
}

/** What is wrong with one condition. */
export function conditionProblems(
  {
    what,
    source,
    path,
  }: { readonly what: string; readonly source: string; readonly path: DefinitionPath },
  scope: Scope,
): readonly DefinitionProblem[] {
  return checker(scope).bool(what, source, path);
}

/** What is wrong with one template. */
export function templateProblems(
  { source, path }: { readonly source: string; readonly path: DefinitionPath },
  scope: Scope,
): readonly DefinitionProblem[] {
  return checker(scope).template(source, path);
}

interface Checker {
  bool(what: string, source: string, path: DefinitionPath): readonly DefinitionProblem[];
  template(source: string | undefined, path: DefinitionPath): readonly DefinitionProblem[];
  value(value: unknown, path: DefinitionPath): readonly DefinitionProblem[];
}

/** Conditions that stand in many places are looked at once. */
function checker(scope: Scope): Checker {
  const known = new Map<string, readonly ExpressionProblem[]>();
  return {
    bool(what, source, path) {
      const found = known.get(source) ?? problemsOf(compileExpression(source, scope, "bool"));
      known.set(source, found);
      return found.map((problem) => located(what, path, source, problem));
    },
    template: (source, path) =>
      source === undefined
        ? []
        : problemsOf(compileTemplate(source, scope)).map((problem) =>
            located("template", path, source, problem),
          ),
    value: (value, path) =>
      problemsOf(compileTemplateValue(value, scope)).map((problem) =>
        located("template", [...path, ...problem.path], problem.source, problem),
      ),
  };
}

function problemsOf<Problem>(
  compiled: { readonly ok: true } | { readonly ok: false; readonly problems: readonly Problem[] },
): readonly Problem[] {
  return compiled.ok ? [] : compiled.problems;
}

function located(
  what: string,
  path: DefinitionPath,
  source: string,
  { message, offset, suggestion }: ExpressionProblem,
): DefinitionProblem {
  const quoted = `${what} ${quoteExpression(source, offset)}: ${message}`;
  return { path, message: quoted, ...(suggestion !== undefined && { suggestion }) };
}

function ofNode(
  node: WorkflowNode,
  path: DefinitionPath,
  check: Checker,
): readonly DefinitionProblem[] {
  switch (node.type) {
    case "llm":
      return check.template(node.config.prompt, [...path, "prompt"]);
    case "tool":
      return check.value(node.config.args, [...path, "args"]);
    case "router":
      return [
        ...check.template(node.config.prompt, [...path, "prompt"]),
        ...(node.config.rules ?? []).flatMap(({ when }, index) =>
          check.bool("rule", when, [...path, "rules", index, "when"]),
        ),
      ];
    case "human":
      return [
        // Where no prompt is written, the description is one.
        ...(node.config.prompt === undefined
          ? check.template(node.description, [...path.slice(0, -1), "description"])
          : check.template(node.config.prompt, [...path, "prompt"])),
        ...check.value(node.config.proposed, [...path, "proposed"]),
      ];
    case "agent":
      return check.value(node.config.input, [...path, "input"]);
    case "planner":
      return [
        ...check.template(node.config.task, [...path, "task"]),
        ...check.value(node.config.plan, [...path, "plan"]),
        ...check.template(node.config.success_criteria, [...path, "success_criteria"]),
      ];
  }
}

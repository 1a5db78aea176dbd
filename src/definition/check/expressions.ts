import { compileExpression, type Scope } from "../../expression/expression.ts";
import { type ExpressionProblem, quoteExpression } from "../../expression/problem.ts";
import { compileTemplate, compileTemplateValue } from "../../expression/template.ts";
import { type ValueType, valueTypeOfJsonSchema } from "../../expression/types.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { WorkflowNode } from "../schema/workflow.ts";
import type { ReadWorkflow } from "../workflow/read-workflow.ts";
import { type DefinitionPath, type DefinitionProblem, getAtPath } from "./problems.ts";

/** Returns the problems of a workflow's conditions, rules and templates. */
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

/** Returns the problems of one condition. */
function conditionProblems(
  {
    what,
    source,
    path,
  }: { readonly what: string; readonly source: string; readonly path: DefinitionPath },
  scope: Scope,
): readonly DefinitionProblem[] {
  return checker(scope).bool(what, source, path);
}

/** Returns the problems of one template. */
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

/** Creates a checker that caches the problems of repeated conditions. */
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
        // The description is the default prompt.
        ...(node.config.prompt === undefined
          ? check.template(node.description, [...path.slice(0, -1), "description"])
          : check.template(node.config.prompt, [...path, "prompt"])),
        ...check.value(node.config.proposed, [...path, "proposed"]),
      ];
    case "wait":
      return [
        ...check.template(node.config.until, [...path, "until"]),
        ...check.value(node.config.default, [...path, "default"]),
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

const any: ValueType = { kind: "any" };
const string: ValueType = { kind: "string" };
const int: ValueType = { kind: "int" };
const bool: ValueType = { kind: "bool" };
const list = (of: ValueType): ValueType => ({ kind: "list", of });
const closed = (fields: Readonly<Record<string, ValueType>>): ValueType => {
  return { kind: "object", fields, open: false };
};

const anyMap: ValueType = { kind: "map", of: any };
const toolCalls = list(closed({ id: string, name: string, args: any }));

/** A node of which only the name is known. */
export interface UnknownNode {
  readonly name: string;
  readonly type: "unknown";
}

/** Returns the variables that a definition's expressions may read, with their types. */
export function expressionScope(
  { input_schema }: { readonly input_schema: JsonSchema },
  { nodes }: { readonly nodes: readonly (WorkflowNode | UnknownNode)[] },
): Scope {
  return {
    input: valueTypeOfJsonSchema(input_schema),
    execution: anyMap,
    attempt: anyMap,
    attempt_number: int,
    nodes: closed(Object.fromEntries(nodes.map((node) => [node.name, outputOf(node)]))),
    last: closed({ text: string, tool_calls: toolCalls }),
    steps: list(any),
    usage: closed({
      tokens_in: int,
      cached_tokens: int,
      tokens_out: int,
      reasoning_tokens: int,
      llm_calls: int,
      tool_calls: int,
      cost_usd: { kind: "double" },
    }),
    status: string,
  };
}

/**
 * Returns the variables of a rule in `guardrail_config.tool_rails.rules`: the call's `args`, the input and the state
 * tiers.
 */
export function argumentRuleScope(inputSchema: JsonSchema): Scope {
  return {
    args: any,
    input: valueTypeOfJsonSchema(inputSchema),
    execution: anyMap,
    attempt: anyMap,
  };
}

/** Returns the type of `nodes.<name>`. */
function outputOf(node: WorkflowNode | UnknownNode): ValueType {
  switch (node.type) {
    case "llm": {
      const schema = node.config.output_schema;
      const output = schema === undefined ? any : valueTypeOfJsonSchema(schema);
      return closed({ text: string, tool_calls: toolCalls, output });
    }
    case "tool":
      return node.config.tool === undefined
        ? closed({
            results: list(
              closed({ name: string, args: any, result: any, outcome: string, error: any }),
            ),
          })
        : closed({ result: any, outcome: string, error: any });
    case "router":
      return closed({ choice: string, reason: string });
    case "human":
      return closed({ approved: bool, value: any, reason: string, timed_out: bool });
    case "wait": {
      const { schema, timeout } = node.config;
      // A default may be of another form, and without one it may be null.
      const isKnown = schema !== undefined && timeout === undefined;
      return closed({ value: isKnown ? valueTypeOfJsonSchema(schema) : any, timed_out: bool });
    }
    case "agent":
      return closed({ status: string, output: any, failure: any });
    case "planner":
      return closed({
        status: string,
        output: any,
        failure: any,
        criteria_met: any,
        gaps: list(string),
        depth: int,
        plan: any,
        subtasks: any,
      });
    case "unknown":
      return any;
  }
}

/** Returns the problems of the conditions in argument rules. Their tool names are checked elsewhere. */
export function argumentRuleProblems(
  written: unknown,
  inputSchema: JsonSchema,
): readonly DefinitionProblem[] {
  const path = ["guardrail_config", "tool_rails", "rules"];
  const rules = getAtPath(written, path);
  const scope = argumentRuleScope(inputSchema);
  return (Array.isArray(rules) ? rules : []).flatMap((rule: unknown, index) => {
    const source = getAtPath(rule, ["check"]);
    if (typeof source !== "string" || source === "") return [];
    return conditionProblems({ what: "rule", source, path: [...path, index, "check"] }, scope);
  });
}

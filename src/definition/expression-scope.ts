import type { Scope } from "../expression/expression.ts";
import { valueTypeOfJsonSchema, type ValueType } from "../expression/value-type.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { WorkflowNode } from "./workflow-schema.ts";

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

/** A node of which no more than its name is known. */
export interface UnknownNode {
  readonly name: string;
  readonly type: "unknown";
}

/** What the expressions of a definition may read, and what is known of it. */
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
      tokens_out: int,
      llm_calls: int,
      tool_calls: int,
      cost_usd: { kind: "double" },
    }),
    status: string,
  };
}

/** What an argument rule of `guardrail_config.tool_rails.rules` may read: the call's `args`, and the state around it. */
export function argumentRuleScope(inputSchema: JsonSchema): Scope {
  return {
    args: any,
    input: valueTypeOfJsonSchema(inputSchema),
    execution: anyMap,
    attempt: anyMap,
  };
}

/** The shape of `nodes.<name>`. */
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

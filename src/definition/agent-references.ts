import { isRecord } from "../state/is-record.ts";
import { checkFromJsonSchema } from "./json-schema.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";
import type { AgentSpec } from "./schema.ts";
import { valueAt } from "./value-at.ts";

/** Agents within agents, the outermost one included. */
export const maxAgentDepth = 16;

/** An agent node and the agent that it names. */
export interface AgentReference {
  /** The node's name; empty where it has none. */
  readonly node: string;
  /** Name or path, as written. */
  readonly agent: string;
  /** As written; undefined for the turn's own input. */
  readonly input: unknown;
  /** Of the node's `config`. */
  readonly path: DefinitionPath;
}

/** The agent nodes of a definition as it was written, whatever else is wrong with it. */
export function agentReferences(written: unknown): readonly AgentReference[] {
  const nodes = valueAt(written, ["workflow_graph", "nodes"]);
  return (Array.isArray(nodes) ? nodes : []).flatMap((node: unknown, index) => {
    const agent = valueAt(node, ["config", "agent"]);
    if (valueAt(node, ["type"]) !== "agent" || typeof agent !== "string") return [];
    const name = valueAt(node, ["name"]);
    return [
      {
        node: typeof name === "string" ? name : "",
        agent,
        input: valueAt(node, ["config", "input"]),
        path: ["workflow_graph", "nodes", index, "config"],
      },
    ];
  });
}

/** Whether an agent is named by the path of its file rather than by its name. */
export function isAgentPath(agent: string): boolean {
  return /\.(ya?ml|json)$/i.test(agent) || /^(\.{0,2}\/|\.\.?$)/.test(agent);
}

/** What is known about the input of an agent node before it is run, and would be refused by the agent it names. */
export function agentInputProblems(
  reference: AgentReference,
  spec: Pick<AgentSpec, "input_schema">,
  named: { readonly spec: Pick<AgentSpec, "name" | "input_schema"> },
): readonly DefinitionProblem[] {
  const { name, input_schema: schema } = named.spec;
  if (reference.input === undefined) return ownInputProblems(reference, spec, named);
  if (!isRecord(reference.input)) return [];
  const { input } = reference;
  const path = [...reference.path, "input"];
  const missing = requiredKeys(schema).filter((key) => !Object.hasOwn(input, key));
  const known = closedKeys(schema);
  return [
    ...missing.map((key) => ({ path, message: `agent "${name}" requires "${key}"` })),
    ...Object.entries(input).flatMap(([key, value]): DefinitionProblem[] => {
      if (known !== null && !known.includes(key)) {
        const message = `agent "${name}" takes no "${key}"`;
        return [{ path: [...path, key], message, allowed: known }];
      }
      const issues = isConstant(value) ? constantIssues(schema, key, value) : [];
      return issues.map((issue) => ({
        path: [...path, key],
        message: `agent "${name}" refuses it: ${issue}`,
        found: showFound(value),
      }));
    }),
  ];
}

/** The turn's own input is passed on: what the agent requires, it has to be able to hold. */
function ownInputProblems(
  reference: AgentReference,
  spec: Pick<AgentSpec, "input_schema">,
  named: { readonly spec: Pick<AgentSpec, "name" | "input_schema"> },
): readonly DefinitionProblem[] {
  const passed = closedKeys(spec.input_schema);
  if (passed === null) return [];
  const { name, input_schema: schema } = named.spec;
  const missing = requiredKeys(schema).filter((key) => !passed.includes(key));
  return missing.map((key) => ({
    path: reference.path,
    message: `agent "${name}" requires "${key}", which the turn's own input never has; write an input`,
  }));
}

/** Keys that a value has to have; those with a default are filled in. */
function requiredKeys(schema: unknown): readonly string[] {
  const required = valueAt(schema, ["required"]);
  if (!Array.isArray(required)) return [];
  return required.filter(
    (key): key is string =>
      typeof key === "string" && valueAt(schema, ["properties", key, "default"]) === undefined,
  );
}

/** All keys that a value may have; null where there may be others. */
function closedKeys(schema: unknown): readonly string[] | null {
  const properties = valueAt(schema, ["properties"]);
  const isClosed =
    valueAt(schema, ["additionalProperties"]) === false &&
    valueAt(schema, ["patternProperties"]) === undefined;
  return isClosed && isRecord(properties) ? Object.keys(properties) : null;
}

function constantIssues(schema: unknown, key: string, value: unknown): readonly string[] {
  const property = valueAt(schema, ["properties", key]);
  if (!isRecord(property) || JSON.stringify(property).includes('"$ref"')) return [];
  try {
    const checked = checkFromJsonSchema(property).check(value);
    return checked.ok ? [] : checked.issues;
  } catch {
    // What cannot be checked on its own is checked with the whole input, when there is one.
    return [];
  }
}

/** Whether no string in it is a template. */
function isConstant(value: unknown): boolean {
  if (typeof value === "string") return !value.includes("${");
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isConstant);
}

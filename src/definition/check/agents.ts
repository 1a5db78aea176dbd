import { isRecord } from "../../values/json.ts";
import type { AgentDefinition } from "../agent-definition.ts";
import type { AgentSpec } from "../schema/agent.ts";
import { toolEntryName } from "../schema/data-tools.ts";
import { checkFromJsonSchema } from "../schema/json-schema.ts";
import { type DefinitionPath, type DefinitionProblem, showFound, getAtPath } from "./problems.ts";
import { impliedToolNames } from "./tools.ts";

/** Maximum nesting depth of agents, including the outermost one. */
export const maxAgentDepth = 16;

/** A reference from a node to an agent: the agent of an agent node, or a worker of a planner node. */
export interface AgentReference {
  readonly role: "node" | "worker";
  /** The node's name; empty if it has none. */
  readonly node: string;
  /** Name or path, as written. A worker's name may be that of a code worker. */
  readonly agent: string;
  /** As written; undefined for the turn's own input and for workers, whose input the planner creates. */
  readonly input: unknown;
  /** Path of the node's `config`. */
  readonly path: DefinitionPath;
  /** Path of the name: `config.agent`, or an entry of `config.workers`. */
  readonly at: DefinitionPath;
}

/**
 * Returns the agents that the nodes of a written definition name, even if other parts are invalid.
 *
 * @param all the bundled agents, which are the workers of planner nodes that list none
 */
export function agentReferences(
  written: unknown,
  all: Iterable<string> = [],
): readonly AgentReference[] {
  const nodes = getAtPath(written, ["workflow_graph", "nodes"]);
  const everyAgent = [...all];
  return (Array.isArray(nodes) ? nodes : []).flatMap((node: unknown, index): AgentReference[] => {
    const name = getAtPath(node, ["name"]);
    const path = ["workflow_graph", "nodes", index, "config"];
    const of = { node: typeof name === "string" ? name : "", path };
    switch (getAtPath(node, ["type"])) {
      case "agent": {
        const agent = getAtPath(node, ["config", "agent"]);
        if (typeof agent !== "string") return [];
        const input = getAtPath(node, ["config", "input"]);
        return [{ role: "node", agent, input, at: [...path, "agent"], ...of }];
      }
      case "planner": {
        const workers = getAtPath(node, ["config", "workers"]);
        const named = workers === undefined ? everyAgent : workers;
        return (Array.isArray(named) ? named : []).flatMap((agent: unknown, place) => {
          if (typeof agent !== "string") return [];
          const at = workers === undefined ? path : [...path, "workers", place];
          return [{ role: "worker", agent, input: undefined, at, ...of }];
        });
      }
      default:
        return [];
    }
  });
}

/** Returns the key of a nested agent's graph: the node's name, for workers followed by the worker's. */
export function subagentKey({
  role,
  node,
  agent,
}: Pick<AgentReference, "role" | "node" | "agent">): string {
  return role === "node" ? node : `${node}/${agent}`;
}

/** Whether an agent is referred to by file path rather than by name. */
export function isAgentPath(agent: string): boolean {
  return /\.(ya?ml|json)$/i.test(agent) || /^(\.{0,2}\/|\.\.?$)/.test(agent);
}

/** Returns statically known problems of the input that a node passes to an agent. */
export function agentInputProblems(
  reference: AgentReference,
  spec: Pick<AgentSpec, "input_schema">,
  named: { readonly spec: Pick<AgentSpec, "name" | "input_schema"> },
): readonly DefinitionProblem[] {
  const { name, input_schema: schema } = named.spec;
  if (reference.role === "worker") return workerInputProblems(reference, named);
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

/** Checks that the turn's own input, which is passed on, has the keys that the agent requires. */
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

const givenToWorkers =
  "a planner gives its workers only message, and results where the schema has it";

/** Checks that a worker takes what a planner passes: `message`, and `results` if its schema has them. */
function workerInputProblems(
  { at: path }: AgentReference,
  named: { readonly spec: Pick<AgentSpec, "name" | "input_schema"> },
): readonly DefinitionProblem[] {
  const { name, input_schema: schema } = named.spec;
  const given = takesResults(schema) ? ["message", "results"] : ["message"];
  const problem = (what: string) => ({
    path,
    message: `agent "${name}" ${what}; ${givenToWorkers}`,
  });
  return [
    ...requiredKeys(schema)
      .filter((key) => !given.includes(key))
      .map((key) => problem(`requires "${key}"`)),
    ...(closedKeys(schema)?.includes("message") === false ? [problem('takes no "message"')] : []),
    ...(allowsText(getAtPath(schema, ["properties", "message", "type"]))
      ? []
      : [problem('takes no text as "message"')]),
  ];
}

/** @param type the `type` of a JSON Schema: one type, several, or undefined */
function allowsText(type: unknown): boolean {
  return type === undefined || [type].flat().includes("string");
}

/** Whether a worker takes the unmodified results of its dependencies, by id. */
function takesResults(schema: unknown): boolean {
  return getAtPath(schema, ["properties", "results"]) !== undefined;
}

/** Returns the keys that a value must have. Those with a default are filled in, so they are not required. */
function requiredKeys(schema: unknown): readonly string[] {
  const required = getAtPath(schema, ["required"]);
  if (!Array.isArray(required)) return [];
  return required.filter(
    (key): key is string =>
      typeof key === "string" && getAtPath(schema, ["properties", key, "default"]) === undefined,
  );
}

/** Returns all keys that a value may have, or null if others are allowed. */
function closedKeys(schema: unknown): readonly string[] | null {
  const properties = getAtPath(schema, ["properties"]);
  const isClosed =
    getAtPath(schema, ["additionalProperties"]) === false &&
    getAtPath(schema, ["patternProperties"]) === undefined;
  return isClosed && isRecord(properties) ? Object.keys(properties) : null;
}

function constantIssues(schema: unknown, key: string, value: unknown): readonly string[] {
  const property = getAtPath(schema, ["properties", key]);
  if (!isRecord(property) || JSON.stringify(property).includes('"$ref"')) return [];
  try {
    const checked = checkFromJsonSchema(property).check(value);
    return checked.ok ? [] : checked.issues;
  } catch {
    // The property cannot be checked alone; the whole input is checked at run time.
    return [];
  }
}

/** Whether a value contains no template. */
function isConstant(value: unknown): boolean {
  if (typeof value === "string") return !value.includes("${");
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isConstant);
}

/** Returns a definition and all its bundled agents, recursively, without duplicates. */
export function collectAgents(
  definition: AgentDefinition,
  known = new Set<AgentDefinition>(),
): ReadonlySet<AgentDefinition> {
  if (known.has(definition)) return known;
  known.add(definition);
  for (const inside of definition.agents.values()) collectAgents(inside, known);
  return known;
}

/** The agents and workers bundled with a definition. */
type Beside = Pick<AgentDefinition, "agents" | "workers">;

/**
 * Returns the tool names of all nested agents, whose calls the definition's tool rails restrict and may name. The
 * result is undefined if not all are known: the runtime provides an agent, or servers and packages define their own
 * tools.
 *
 * @param written the written definition, which may be invalid
 */
export function findNestedToolNames(
  written: unknown,
  beside: Beside,
): readonly string[] | undefined {
  const names = new Set<string>();
  const isWhole = addInside(written, beside, { names, seen: new Set() });
  return isWhole ? [...names] : undefined;
}

interface Found {
  readonly names: Set<string>;
  readonly seen: Set<AgentDefinition>;
}

/** Returns whether all names are known. */
function addInside(written: unknown, { agents, workers }: Beside, found: Found): boolean {
  const references = agentReferences(written, agents.keys());
  const areKnown = references.every(
    ({ agent }) => agents.has(agent) || workers.some(({ name }) => name === agent),
  );
  const inside = [...agents.values()].map((agent) => addAgent(agent, found));
  return areKnown && inside.every(Boolean);
}

function addAgent(agent: AgentDefinition, found: Found): boolean {
  if (found.seen.has(agent)) return true;
  found.seen.add(agent);
  const { spec, tools, hasAllTools = false } = agent;
  const names = spec.tools.map(toolEntryName);
  for (const name of names) if (name !== undefined) found.names.add(name);
  for (const { definition } of tools) found.names.add(definition.name);
  for (const name of impliedToolNames(spec)) found.names.add(name);
  const isWhole = hasAllTools || !names.includes(undefined);
  return addInside(spec, agent, found) && isWhole;
}

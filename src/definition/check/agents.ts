import { isRecord } from "../../values/json.ts";
import type { AgentDefinition } from "../agent-definition.ts";
import type { AgentSpec } from "../schema/agent.ts";
import { checkFromJsonSchema } from "../schema/json-schema.ts";
import { type DefinitionPath, type DefinitionProblem, showFound, getAtPath } from "./problems.ts";

/** Agents within agents, the outermost one included. */
export const maxAgentDepth = 16;

/** A node and the agent that it names: what an agent node runs, or a worker of a planner node. */
export interface AgentReference {
  readonly role: "node" | "worker";
  /** The node's name; empty where it has none. */
  readonly node: string;
  /** Name or path, as written. That of a worker may be one of code. */
  readonly agent: string;
  /** As written; undefined for the turn's own input. Workers are given theirs by the planner. */
  readonly input: unknown;
  /** Of the node's `config`. */
  readonly path: DefinitionPath;
  /** Where the name stands: in `config.agent`, or an entry of `config.workers`. */
  readonly at: DefinitionPath;
}

/**
 * The agents that the nodes of a definition name as it was written, whatever else is wrong with it.
 *
 * @param all what a planner node that lists no workers has: the agents that came with the definition
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

/** What the graph of an agent is kept under: a node has one agent, a planner node as many as it has workers. */
export function subagentKey({
  role,
  node,
  agent,
}: Pick<AgentReference, "role" | "node" | "agent">): string {
  return role === "node" ? node : `${node}/${agent}`;
}

/** Whether an agent is named by the path of its file rather than by its name. */
export function isAgentPath(agent: string): boolean {
  return /\.(ya?ml|json)$/i.test(agent) || /^(\.{0,2}\/|\.\.?$)/.test(agent);
}

/** What is known of an agent's input before it is run, and would be refused by the agent. */
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

/** The turn's own input is passed on: it must satisfy what the agent requires. */
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

/** A planner tells its workers what to do in `message`, and gives `results` to those that take them. */
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

/** @param type what a JSON Schema says in `type`: one, several, or nothing */
function allowsText(type: unknown): boolean {
  return type === undefined || [type].flat().includes("string");
}

/** Whether an agent that is a worker is given the results that its subtask depends on as they are, by id. */
function takesResults(schema: unknown): boolean {
  return getAtPath(schema, ["properties", "results"]) !== undefined;
}

/** Keys that a value has to have; those with a default are filled in. */
function requiredKeys(schema: unknown): readonly string[] {
  const required = getAtPath(schema, ["required"]);
  if (!Array.isArray(required)) return [];
  return required.filter(
    (key): key is string =>
      typeof key === "string" && getAtPath(schema, ["properties", key, "default"]) === undefined,
  );
}

/** All keys that a value may have; null where there may be others. */
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

/** A definition and those that came with it, at any depth, each once. */
export function withAgentsInside(
  definition: AgentDefinition,
  known = new Set<AgentDefinition>(),
): ReadonlySet<AgentDefinition> {
  if (known.has(definition)) return known;
  known.add(definition);
  for (const inside of definition.agents.values()) withAgentsInside(inside, known);
  return known;
}

/** The agents and workers that came with a definition. */
type Beside = Pick<AgentDefinition, "agents" | "workers">;

/**
 * Names of the tools of the agents inside of one, at any depth: its tool rails bound their calls, and may name them.
 * Undefined where not all are known: the runtime has an agent, or servers and packages name tools of their own.
 *
 * @param written the definition as it was written, whatever is wrong with it
 */
export function toolsInside(written: unknown, beside: Beside): readonly string[] | undefined {
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
  for (const entry of spec.tools) if (typeof entry === "string") found.names.add(entry);
  for (const { definition } of tools) found.names.add(definition.name);
  const isWhole = hasAllTools || spec.tools.every((entry) => typeof entry === "string");
  return addInside(spec, agent, found) && isWhole;
}

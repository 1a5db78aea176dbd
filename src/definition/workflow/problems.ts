import { nearestName } from "../../nearest-name.ts";
import { endOfWorkflow } from "../../state/branch.ts";
import type { GraphState } from "../../state/channels.ts";
import { expressionProblems, expressionScope } from "../check/expressions.ts";
import { type DefinitionPath, type DefinitionProblem, showFound } from "../check/problems.ts";
import { toolNameProblems, type WrittenTools } from "../check/tools.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { analyzeFlow, type WorkflowFlow } from "./flow.ts";
import { callProblems, choiceProblems, nodeProblems, parallelProblems } from "./node-problems.ts";
import { readWorkflow, type ReadWorkflow } from "./read-workflow.ts";

/** The parts of a definition that the workflow rules need. */
export interface WorkflowContext {
  readonly tools: WrittenTools;
  /** Empty if the input schema is unknown. */
  readonly inputSchema: JsonSchema;
  /** `execution_config.max_iterations` as written. */
  readonly maxIterations: unknown;
  /** Whether a planner that lists no workers has any. */
  readonly hasWorkers: boolean;
  /** Keys of the tiers that have a merge. */
  readonly merged: ReadonlySet<string>;
}

/**
 * Returns all problems of a workflow, apart from its shape. Agents are checked when they are resolved.
 *
 * @param written the value of `workflow_graph`
 */
export function workflowProblems(
  written: unknown,
  { tools, inputSchema, maxIterations, hasWorkers, merged }: WorkflowContext,
): readonly DefinitionProblem[] {
  const graph = readWorkflow(written);
  const { problems, isSound } = graphProblems(graph);
  const single = [
    ...problems,
    ...nodeProblems(graph, { hasWorkers }),
    ...toolNameProblems(graph, tools),
  ];
  const named = graph.hasAllNames
    ? [...expressions(graph, inputSchema), ...choiceProblems(graph)]
    : [];
  if (!isSound) return [...single, ...named];
  const flow = analyzeFlow({ entry_point: graph.entry ?? "", edges: [...graph.edges] });
  const isRead = graph.nodes.every(({ node }) => node !== undefined);
  return [
    ...single,
    ...named,
    ...loopProblems(flow, maxIterations),
    ...(isRead ? callProblems(graph, flow, tools) : []),
    ...parallelProblems(graph, flow, merged),
  ];
}

function expressions(
  graph: ReturnType<typeof readWorkflow>,
  input_schema: JsonSchema,
): readonly DefinitionProblem[] {
  const nodes = graph.nodes.map(({ name, node }) => node ?? { name, type: "unknown" as const });
  return expressionProblems(graph, expressionScope({ input_schema }, { nodes }));
}

/** Maximum number of nodes in a workflow. */
const maxNodes = 1_000;

export interface GraphCheck {
  readonly problems: readonly DefinitionProblem[];
  /** Whether its paths can be followed: all parts were read, and all edges lead to existing nodes. */
  readonly isSound: boolean;
}

/** Checks the structural rules of a workflow: names, edges and reachability. */
export function graphProblems(graph: ReadWorkflow): GraphCheck {
  if (graph.nodes.length > maxNodes) {
    const message = `expected at most ${maxNodes} nodes; make agents of parts of it`;
    const found = String(graph.nodes.length);
    return {
      problems: [{ path: ["workflow_graph", "nodes"], message, found }],
      isSound: false,
    };
  }
  const names = [...duplicateNames(graph), ...(graph.hasAllNames ? unknownNames(graph) : [])];
  const isSound = graph.isComplete && names.length === 0;
  const problems = [
    ...names,
    ...takenNames(graph),
    ...repeatedTargets(graph),
    ...doubleDefaults(graph),
    ...(isSound ? wayProblems(graph) : []),
  ];
  return { problems, isSound };
}

function duplicateNames({ nodes }: ReadWorkflow): DefinitionProblem[] {
  const first = new Map<string, number>();
  return nodes.flatMap(({ name, index }) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `"${name}" is already the name of nodes[${earlier}]`;
    return [{ path: ["workflow_graph", "nodes", index, "name"], message }];
  });
}

function takenNames({ nodes }: ReadWorkflow): DefinitionProblem[] {
  return nodes.flatMap(({ name, index }) => {
    if (!reservedNames.has(name)) return [];
    const message = `"${name}" is taken by the framework; choose another name`;
    return [{ path: ["workflow_graph", "nodes", index, "name"], message }];
  });
}

function unknownNames({ entry, nodes, edges }: ReadWorkflow): DefinitionProblem[] {
  const known = new Set(nodes.map(({ name }) => name));
  const names = [...known];
  const sources = { allowed: names, candidates: names };
  const targets = { allowed: [...names, endOfWorkflow], candidates: [endOfWorkflow, ...names] };
  const problems: DefinitionProblem[] = [];
  const require = (path: DefinitionPath, name: string, { allowed, candidates } = targets) => {
    if (known.has(name) || (name === endOfWorkflow && allowed === targets.allowed)) return;
    problems.push({
      path: ["workflow_graph", ...path],
      message: "no node has this name",
      found: showFound(name),
      allowed,
      suggestion: nearestName(name, candidates),
    });
  };
  if (entry !== undefined) require(["entry_point"], entry, sources);
  for (const { index, from, to } of edges) {
    require(["edges", index, "from"], from, sources);
    if (typeof to === "string") require(["edges", index, "to"], to);
    else to.forEach((one, place) => require(["edges", index, "to", place], one));
  }
  return problems;
}

function repeatedTargets({ edges }: ReadWorkflow): DefinitionProblem[] {
  return edges.flatMap(({ index, to }) => {
    if (typeof to === "string") return [];
    const first = new Map<string, number>();
    return to.flatMap((name, place) => {
      const earlier = first.get(name);
      if (earlier === undefined) {
        first.set(name, place);
        return [];
      }
      const message = `"${name}" is already to[${earlier}] of this edge`;
      return [{ path: ["workflow_graph", "edges", index, "to", place], message }];
    });
  });
}

/** Edges are tried in order, so a default must come last and there can be only one. */
function doubleDefaults({ edges }: ReadWorkflow): DefinitionProblem[] {
  const defaults = new Map<string, number>();
  return edges.flatMap(({ index, from, condition }) => {
    const earlier = defaults.get(from);
    if (condition === undefined && earlier === undefined) defaults.set(from, index);
    if (earlier === undefined) return [];
    const message =
      condition === undefined
        ? `edges[${earlier}] is already the default from "${from}"; use one edge with a list to run both`
        : `never reached: edges[${earlier}] from "${from}" has no condition and comes first`;
    return [{ path: ["workflow_graph", "edges", index], message }];
  });
}

function wayProblems({ entry = "", nodes, edges }: ReadWorkflow): DefinitionProblem[] {
  const forward = new Map<string, Set<string>>();
  const backward = new Map<string, Set<string>>();
  for (const { from, to } of edges) {
    for (const target of typeof to === "string" ? [to] : to) {
      addTo(forward, from, target);
      addTo(backward, target, from);
    }
  }
  const reached = walk(entry, forward);
  const ending = walk(endOfWorkflow, backward);
  return nodes.flatMap(({ name, index }) => {
    const path = ["workflow_graph", "nodes", index];
    if (!reached.has(name))
      return [{ path, message: `"${name}" cannot be reached from the entry point` }];
    if (!ending.has(name)) return [{ path, message: `no way leads from "${name}" to END` }];
    return [];
  });
}

function addTo(sets: Map<string, Set<string>>, key: string, entry: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([entry]));
  else set.add(entry);
}

function walk(start: string, edges: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const seen = new Set([start]);
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const next of edges.get(name) ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return seen;
}

/** Maximum number of loops reported individually. */
const maxNamed = 50;
/** Maximum number of nodes shown of a loop. */
const maxShown = 8;

/**
 * Reports loops without an explicit bound.
 *
 * @param maxIterations `execution_config.max_iterations` as written
 */
export function loopProblems(
  { loops }: Pick<WorkflowFlow, "loops">,
  maxIterations: unknown,
): readonly DefinitionProblem[] {
  if (maxIterations !== undefined) return [];
  const problems = loops.slice(0, maxNamed).map(({ edge, getNodes: way }) => {
    const message = `the loop ${nameLoop(way())} has no bound; write execution_config.max_iterations`;
    return { path: ["workflow_graph", "edges", edge], message };
  });
  const more = loops.length - problems.length;
  if (more <= 0) return problems;
  const message = `${more} more loops have no bound; write execution_config.max_iterations`;
  return [...problems, { path: ["workflow_graph", "edges"], message }];
}

/** Renders `ask → run → ask`, leaving out the middle of a long loop. */
function nameLoop(nodes: readonly string[]): string {
  const shown =
    nodes.length <= maxShown
      ? nodes
      : [
          ...nodes.slice(0, maxShown / 2),
          `… ${nodes.length - maxShown + 1} more …`,
          ...nodes.slice(1 - maxShown / 2),
        ];
  return [...shown, nodes[0] ?? ""].join(" → ");
}

/** The state's channels; in LangGraph a node and a channel cannot share a name. */
const channels: Readonly<Record<keyof GraphState, true>> = {
  input: true,
  messages: true,
  turn_number: true,
  execution: true,
  attempt: true,
  attempt_number: true,
  current_step: true,
  steps: true,
  nodes: true,
  branches: true,
  status: true,
  usage: true,
  summary: true,
  result_summaries: true,
  output: true,
  turn: true,
  rails: true,
  redactions: true,
};

/** Names reserved from workflow nodes: the framework's nodes, the state channels and `Object.prototype` members. */
export const reservedNames: ReadonlySet<string> = new Set([
  "initialize",
  "plan",
  "reflect",
  "finalize",
  ...Object.keys(channels),
  // LangGraph looks names up in plain objects.
  ...Object.getOwnPropertyNames(Object.prototype),
]);

import { nearestName } from "../nearest-name.ts";
import type { DefinitionProblem } from "./problems.ts";
import type { WorkflowGraph } from "./workflow-schema.ts";

const end = "END";

/** The structural rules of a workflow graph: names, edges, ways in and out. */
export function graphProblems(graph: WorkflowGraph): readonly DefinitionProblem[] {
  const names = graph.nodes.map((node) => node.name);
  const problems = [
    ...duplicateNames(names),
    ...unknownNames(graph, names),
    ...doubleDefaults(graph),
  ];
  return problems.length > 0 ? problems : wayProblems(graph, names);
}

function duplicateNames(names: readonly string[]): DefinitionProblem[] {
  const first = new Map<string, number>();
  return names.flatMap((name, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `"${name}" is already the name of nodes[${earlier}]`;
    return [{ path: ["workflow_graph", "nodes", index, "name"], message }];
  });
}

function unknownNames(graph: WorkflowGraph, names: readonly string[]): DefinitionProblem[] {
  const known = new Set(names);
  const problems: DefinitionProblem[] = [];
  const require = (path: (string | number)[], name: string, allowed: readonly string[]) => {
    if (allowed.includes(name) || known.has(name)) return;
    problems.push({
      path: ["workflow_graph", ...path],
      message: "no node has this name",
      found: JSON.stringify(name),
      allowed: [...names, ...allowed],
      suggestion: nearestName(name, [...allowed, ...names]),
    });
  };
  require(["entry_point"], graph.entry_point, []);
  graph.edges.forEach((edge, index) => {
    require(["edges", index, "from"], edge.from, []);
    if (typeof edge.to === "string") require(["edges", index, "to"], edge.to, [end]);
    else edge.to.forEach((to, i) => require(["edges", index, "to", i], to, [end]));
  });
  return problems;
}

/** Edges are tried in order, so a default comes last and is the only one. */
function doubleDefaults(graph: WorkflowGraph): DefinitionProblem[] {
  const defaults = new Map<string, number>();
  return graph.edges.flatMap((edge, index) => {
    const earlier = defaults.get(edge.from);
    if (edge.condition === undefined && earlier === undefined) defaults.set(edge.from, index);
    if (earlier === undefined) return [];
    const message =
      edge.condition === undefined
        ? `edges[${earlier}] is already the default from "${edge.from}"; use one edge with a list to run both`
        : `never reached: edges[${earlier}] from "${edge.from}" has no condition and comes first`;
    return [{ path: ["workflow_graph", "edges", index], message }];
  });
}

function wayProblems(graph: WorkflowGraph, names: readonly string[]): DefinitionProblem[] {
  const forward = new Map<string, string[]>();
  const backward = new Map<string, string[]>();
  for (const { from, to } of graph.edges) {
    for (const target of typeof to === "string" ? [to] : to) {
      addTo(forward, from, target);
      addTo(backward, target, from);
    }
  }
  const reached = walk(graph.entry_point, forward);
  const ending = walk(end, backward);
  return names.flatMap((name, index) => {
    const path = ["workflow_graph", "nodes", index];
    if (!reached.has(name))
      return [{ path, message: `"${name}" cannot be reached from the entry point` }];
    if (!ending.has(name)) return [{ path, message: `no way leads from "${name}" to END` }];
    return [];
  });
}

function addTo(lists: Map<string, string[]>, key: string, entry: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [entry]);
  else list.push(entry);
}

function walk(start: string, edges: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
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

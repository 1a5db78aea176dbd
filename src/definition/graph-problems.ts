import { nearestName } from "../nearest-name.ts";
import { endOfWorkflow } from "../state/branch.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";
import type { ReadWorkflow } from "./read-workflow.ts";
import { reservedNames } from "./reserved-names.ts";

/** Nodes of one workflow. */
const maxNodes = 1_000;

export interface GraphChecked {
  readonly problems: readonly DefinitionProblem[];
  /** Whether the ways through it can be followed: everything was read, and edges lead to nodes that are there. */
  readonly isSound: boolean;
}

/** The structural rules of a workflow graph: names, edges, ways in and out. */
export function graphProblems(graph: ReadWorkflow): GraphChecked {
  if (graph.nodes.length > maxNodes) {
    const message = `expected at most ${maxNodes} nodes; make agents of parts of it`;
    const found = String(graph.nodes.length);
    return {
      problems: [{ path: ["workflow_graph", "nodes"], message, found }],
      isSound: false,
    };
  }
  const names = [...duplicateNames(graph), ...(graph.isNamed ? unknownNames(graph) : [])];
  const isSound = graph.isWhole && names.length === 0;
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

/** Edges are tried in order, so a default comes last and is the only one. */
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

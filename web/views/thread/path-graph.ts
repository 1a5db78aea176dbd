import { formatDuration } from "../../components/format.ts";
import type { GraphEdge, GraphGroup, GraphNode } from "../../components/graph-layout.ts";
import type { Tone } from "../../components/tone.ts";
import type { PathEntry } from "./thread-records.ts";

/** The graph of an agent as its JSON has it. */
export interface AgentGraph {
  readonly nodes: readonly {
    readonly id: string;
    readonly metadata?: { readonly type?: string };
  }[];
  readonly edges: readonly {
    readonly source: string;
    readonly target: string;
    readonly data?: string;
    readonly conditional?: boolean;
  }[];
}

export interface PathGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly groups: readonly GraphGroup[];
}

/** Returns the id of the node of an entry. Subtasks of a planner run the same nodes as far as they are drawn. */
export function nodeIdOf(entry: PathEntry): string {
  return [...groupPath(entry), entry.node].join("/");
}

function groupPath({ within }: PathEntry): readonly string[] {
  return within.filter((_, index) => within[index - 1] !== "execute");
}

const toneOfOutcome: Readonly<Record<PathEntry["outcome"], Tone>> = {
  success: "good",
  failure: "bad",
  interrupted: "wait",
  pending: "live",
};

interface Ran {
  count: number;
  ms: number;
  tone: Tone;
}

/**
 * Returns the graph of an agent with what ran: how often each node did, and which edges were taken. Nested agents are
 * groups, whose edges are those that were taken.
 *
 * @param graph null if the agent is not known: the graph is what ran
 * @param path as far as it is shown
 */
export function pathGraph(
  graph: AgentGraph | null,
  path: readonly PathEntry[],
  isFailed: (entry: PathEntry) => boolean,
): PathGraph {
  const ran = new Map<string, Ran>();
  const groups = new Map<string, GraphGroup>();
  const nested = new Map<string, { label: string; group: string }>();
  for (const entry of path) {
    const id = nodeIdOf(entry);
    const known = ran.get(id) ?? { count: 0, ms: 0, tone: "idle" };
    const tone = isFailed(entry) ? "bad" : toneOfOutcome[entry.outcome];
    ran.set(id, { count: known.count + 1, ms: known.ms + durationOf(entry), tone });
    const inside = groupPath(entry);
    if (inside.length > 0) nested.set(id, { label: entry.node, group: inside.join("/") });
    inside.forEach((name, index) => {
      const group = inside.slice(0, index + 1).join("/");
      const parent = index === 0 ? null : inside.slice(0, index).join("/");
      groups.set(group, { id: group, label: name, parent });
    });
  }
  const drawn = graph ?? graphOfRoot(path);
  const groupOf = (id: string) => (groups.has(id) ? id : null);
  const nodes: GraphNode[] = drawn.nodes.map(({ id, metadata }) => {
    const isEnd = id === "__start__" || id === "__end__";
    return {
      id,
      label: isEnd ? id.replaceAll("_", "") : id,
      shape: isEnd ? "end" : "node",
      group: groupOf(id),
      ...(!isEnd && stateOf(metadata?.type ?? "node", ran.get(id))),
    };
  });
  for (const [id, { label, group }] of nested) {
    // A planner that runs subtasks is the head of their group.
    nodes.push({ id, label, group: groupOf(id) ?? group, ...stateOf("node", ran.get(id)) });
  }
  const taken = takenEdges(drawn, path);
  const edges = new Map<string, GraphEdge>();
  for (const { source, target, data, conditional } of drawn.edges) {
    edges.set(keyOf(source, target), {
      from: source,
      to: target,
      taken: 0,
      isConditional: conditional === true,
      ...(data !== undefined && { label: data }),
    });
  }
  for (const [key, count] of taken) {
    const [from, to] = JSON.parse(key) as [string, string];
    const known = edges.get(key) ?? { from, to };
    edges.set(key, { ...known, taken: count });
  }
  return { nodes, edges: [...edges.values()], groups: [...groups.values()] };
}

function stateOf(type: string, ran: Ran | undefined) {
  if (ran === undefined) return { detail: type };
  return { detail: `${type} · ${formatDuration(ran.ms)}`, tone: ran.tone, count: ran.count };
}

/** Returns how long an entry took, in milliseconds; 0 while it runs. */
export function durationOf({ started_at: start, ended_at: end }: PathEntry): number {
  return start === null || end === null ? 0 : Math.max(0, Date.parse(end) - Date.parse(start));
}

/** The nodes that ran, without edges: those that were taken are added. */
function graphOfRoot(path: readonly PathEntry[]): AgentGraph {
  const names = new Set(path.filter(({ namespace }) => namespace === "").map(({ node }) => node));
  return { nodes: [...names].map((id) => ({ id })), edges: [] };
}

function keyOf(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

/** Returns how often each edge was taken; of branches that join, the edges of all. */
function takenEdges(graph: AgentGraph, path: readonly PathEntry[]): ReadonlyMap<string, number> {
  const taken = new Map<string, number>();
  const sources = new Map<string, string[]>();
  for (const { source, target } of graph.edges)
    sources.set(target, [...(sources.get(target) ?? []), source]);
  const byNamespace = new Map<string, PathEntry[]>();
  for (const entry of path) {
    const known = byNamespace.get(entry.namespace);
    if (known === undefined) byNamespace.set(entry.namespace, [entry]);
    else known.push(entry);
  }
  for (const [namespace, entries] of byNamespace) {
    /** The last superstep of each node, and the nodes of the superstep before. */
    const last = new Map<string, number>();
    /** Nodes whose execution was followed by another one already. */
    const followed = new Set<string>();
    const take = (from: string, to: string) => {
      const key = keyOf(from, to);
      taken.set(key, (taken.get(key) ?? 0) + 1);
      followed.add(from);
    };
    let [before, now, superstep]: [string[], string[], number] = [[], [], -2];
    let turn = -1;
    for (const entry of entries) {
      const id = nodeIdOf(entry);
      if (entry.superstep !== superstep) {
        before = entry.superstep > superstep ? now : [];
        now = [];
        superstep = entry.superstep;
      }
      const isBeginning = entry.turn !== turn;
      turn = entry.turn;
      const known = namespace === "" ? (sources.get(id) ?? []) : [];
      // A branch that joins waits for others: it ended earlier.
      const isFromBranch = (source: string) =>
        !followed.has(source) && (last.get(source) ?? -1) > (last.get(id) ?? -1);
      const direct = known.filter((source) => before.includes(source) || isFromBranch(source));
      // A nested agent begins below the node that runs it.
      const head = groupPath(entry).join("/");
      if (direct.length > 0) for (const source of direct) take(source, id);
      else if (namespace !== "" && last.size === 0) take(head, id);
      else if (known.includes("__start__") && (isBeginning || last.size === 0))
        take("__start__", id);
      else if (!isBeginning) for (const source of before) take(source, id);
      followed.delete(id);
      now.push(id);
      last.set(id, entry.superstep);
      const isOver = entry.node === "finalize" && entry.outcome === "success";
      if (isOver && namespace === "" && sources.get("__end__")?.includes(id) === true)
        take(id, "__end__");
    }
  }
  return taken;
}

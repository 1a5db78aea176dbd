import { Graph, layout } from "@dagrejs/dagre";
import type { Tone } from "./tone.ts";

/** A node of a graph as a view gives it. Its texts and ids may be anything. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** A second line, such as the type of the node and its duration. */
  readonly detail?: string;
  /** `end` is drawn small: where a graph begins and ends. Default `node`. */
  readonly shape?: "node" | "end";
  readonly tone?: Tone;
  /** How often it ran; not shown below 2. */
  readonly count?: number;
  /** Id of the group that it is in. */
  readonly group?: string | null;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  readonly isConditional?: boolean;
  /** How often it was taken; left out where nothing is known of that. */
  readonly taken?: number;
}

/** A subgraph, whose nodes can be hidden behind one node. Groups form a tree. */
export interface GraphGroup {
  readonly id: string;
  readonly label: string;
  readonly parent?: string | null;
}

export interface GraphContent {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly groups?: readonly GraphGroup[];
}

interface Box {
  /** Of the top left corner. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedNode extends GraphNode, Box {
  /** Whether it stands for a collapsed group, whose id it has. */
  readonly isGroup: boolean;
}

export interface PlacedEdge extends GraphEdge {
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly labelAt: { readonly x: number; readonly y: number } | null;
  /** Whether it leads back, or to its own node. */
  readonly isBack: boolean;
}

export interface PlacedGroup extends GraphGroup, Box {}

export interface GraphLayout {
  /** What the places depend on. */
  readonly key: string;
  readonly places: Places;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly groups: readonly PlacedGroup[];
  readonly width: number;
  readonly height: number;
  readonly direction: Direction;
}

/** Whether edges lead down or to the right. */
export type Direction = "down" | "right";

interface LayoutOptions {
  readonly collapsed?: ReadonlySet<string>;
  readonly direction?: Direction;
  /** Pixels of a unit: 1 at a text size of 16. Default 1. */
  readonly scale?: number;
}

/** Room for the name of a group above its nodes. */
const groupHead = 22;

/**
 * Places the nodes and edges of a graph; nodes of collapsed groups become one node each, and their edges are joined.
 * Edges to unknown nodes are left out. Places depend on names and edges only, not on states and counts: those of
 * `known` are used if it has the same.
 */
export function layoutGraph(
  content: GraphContent,
  { collapsed = new Set(), direction = "down", scale = 1 }: LayoutOptions = {},
  known?: GraphLayout,
): GraphLayout {
  const seen = visible(content, collapsed);
  const key = JSON.stringify([
    direction,
    scale,
    seen.nodes.map((node) => [node.id, node.label, node.group, node.shape, hasDetail(node)]),
    seen.edges.map(({ from, to, label, taken }) => [from, to, label, taken === undefined]),
    seen.groups,
  ]);
  // Edges beyond a tree cost the library seconds from some hundred on.
  const isDense = seen.edges.length - seen.nodes.length > maxExtraEdges;
  const make = isDense ? placeInRows : place;
  const places = known?.key === key ? known.places : make(seen, { direction, scale });
  const nodes = seen.nodes.map((node, index) => ({ ...node, ...places.nodes[index]! }));
  const boxes = new Map(nodes.map((node) => [node.id, node]));
  const edges = seen.edges.map((edge, index) => {
    const [from, to] = [boxes.get(edge.from)!, boxes.get(edge.to)!];
    const isBack = direction === "down" ? to.y <= from.y : to.x <= from.x;
    const loop = { characters: edgeText(edge).length, direction, scale };
    const line = from === to ? loopAt(from, loop) : places.edges[index]!;
    return { ...edge, ...line, isBack };
  });
  const groups = seen.groups.map((group, index) => ({ ...group, ...places.groups[index]! }));
  const { width, height } = places.size;
  // The library leaves room for a loop, though not for a text that is wider than its node.
  const ends = edges.map(
    (edge) => (edge.labelAt?.x ?? 0) + (edgeText(edge).length * 3.1 + 2) * scale,
  );
  return { key, places, nodes, edges, groups, direction, height, width: Math.max(width, ...ends) };
}

/** Where everything is, in the order of what was placed. */
interface Places {
  readonly nodes: readonly Box[];
  readonly edges: readonly Pick<PlacedEdge, "points" | "labelAt">[];
  readonly groups: readonly Box[];
  readonly size: { readonly width: number; readonly height: number };
}

/** Edges that a graph may have beyond one for each node, if the library is to place it. */
const maxExtraEdges = 100;
/** Nodes of a row of a graph that is too dense for the library. */
const maxRow = 12;

/** Places the nodes of a graph in rows, by their distance from where it begins, with straight edges. */
function placeInRows(
  seen: ReturnType<typeof visible>,
  { direction, scale }: Required<Pick<LayoutOptions, "direction" | "scale">>,
): Places {
  const isDown = direction === "down";
  const rows = distanceRows(seen);
  const [across, along] = isDown ? [256 * scale, 96 * scale] : [72 * scale, 280 * scale];
  const boxes = new Map<string, Box>();
  rows.forEach((row, level) =>
    row.forEach((node, index) => {
      const [x, y] = isDown ? [index * across, level * along] : [level * along, index * across];
      boxes.set(node.id, { x: x + 16 * scale, y: y + 24 * scale, ...sizeOf(node, scale) });
    }),
  );
  const nodes = seen.nodes.map(({ id }) => boxes.get(id)!);
  const edges = seen.edges.map(({ from, to }) => {
    const [a, b] = [boxes.get(from)!, boxes.get(to)!];
    const points = isDown
      ? [
          { x: a.x + a.width / 2, y: a.y + a.height },
          { x: b.x + b.width / 2, y: b.y },
        ]
      : [
          { x: a.x + a.width, y: a.y + a.height / 2 },
          { x: b.x, y: b.y + b.height / 2 },
        ];
    return { points, labelAt: null };
  });
  const right = Math.max(...nodes.map(({ x, width }) => x + width));
  const bottom = Math.max(...nodes.map(({ y, height }) => y + height));
  const groups = seen.groups.map(({ id }) => {
    const own = nodes.filter((_, index) => seen.nodes[index]?.group === id);
    const x = Math.min(right, ...own.map((box) => box.x)) - 6 * scale;
    const y = Math.min(bottom, ...own.map((box) => box.y)) - groupHead * scale;
    const width = Math.max(x, ...own.map((box) => box.x + box.width)) - x + 6 * scale;
    const height = Math.max(y, ...own.map((box) => box.y + box.height)) - y + 6 * scale;
    return { x, y, width, height };
  });
  const size = { width: right + 64 * scale, height: bottom + 64 * scale };
  return { nodes, edges, groups, size };
}

/** Returns nodes by their distance from the first one, each distance in rows that are not too long. */
function distanceRows({ nodes, edges }: ReturnType<typeof visible>): readonly (readonly Seen[])[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const distance = new Map<string, number>();
  for (const { id } of nodes) {
    if (distance.has(id)) continue;
    distance.set(id, 0);
    // A set returns what is added while it is walked.
    const walk = new Set([id]);
    for (const at of walk) {
      for (const to of next.get(at) ?? []) {
        if (distance.has(to)) continue;
        distance.set(to, distance.get(at)! + 1);
        walk.add(to);
      }
    }
  }
  const levels: Seen[][] = [];
  for (const node of nodes) (levels[distance.get(node.id)!] ??= []).push(node);
  return levels.flatMap((level) =>
    Array.from({ length: Math.ceil(level.length / maxRow) }, (_, index) =>
      level.slice(index * maxRow, (index + 1) * maxRow),
    ),
  );
}

/** Nodes from which on ranks are found by the quicker of two ways. */
const manyNodes = 60;

function place(
  seen: ReturnType<typeof visible>,
  { direction, scale }: Required<Pick<LayoutOptions, "direction" | "scale">>,
): Places {
  const graph = new Graph({ multigraph: true, compound: true });
  graph.setGraph({
    rankdir: direction === "down" ? "TB" : "LR",
    ranker: seen.nodes.length < manyNodes ? "network-simplex" : "tight-tree",
    nodesep: 24 * scale,
    edgesep: 16 * scale,
    ranksep: 44 * scale,
    marginx: 16 * scale,
    marginy: 16 * scale,
  });
  // The library keeps nodes as members of plain objects: ids of the graph could be names such as `__proto__`.
  const keys = new Map(seen.nodes.map(({ id }, index) => [id, `n${index}`]));
  const groupKeys = new Map(seen.groups.map(({ id }, index) => [id, `g${index}`]));
  for (const node of seen.nodes) graph.setNode(keys.get(node.id)!, sizeOf(node, scale));
  for (const { id } of seen.groups) graph.setNode(groupKeys.get(id)!, {});
  const setParent = (key: string, parent: string | null | undefined) => {
    const group = groupKeys.get(parent ?? "");
    if (group !== undefined) graph.setParent(key, group);
  };
  for (const { id, group } of seen.nodes) setParent(keys.get(id)!, group);
  for (const { id, parent } of seen.groups) setParent(groupKeys.get(id)!, parent);
  const ends = (edge: GraphEdge, index: number) => ({
    v: keys.get(edge.from)!,
    w: keys.get(edge.to)!,
    name: `e${index}`,
  });
  seen.edges.forEach((edge, index) => {
    const { v, w, name } = ends(edge, index);
    const characters = shortLabel(edge.label).length + (edge.taken === undefined ? 0 : 3);
    const room = { width: (characters * 6.2 + 8) * scale, height: 16 * scale, labelpos: "c" };
    graph.setEdge(v, w, characters > 0 ? room : {}, name);
  });
  layout(graph as never);
  const placed = (key: string): Box => {
    const { x, y, width, height } = graph.node(key) as Box;
    return { x: x - width / 2, y: y - height / 2, width, height };
  };
  const edges = seen.edges.map((edge, index) => {
    const { points, x, y } = graph.edge(ends(edge, index)) as {
      points: { x: number; y: number }[];
      x?: number;
      y?: number;
    };
    return { points, labelAt: x === undefined ? null : { x, y: y ?? 0 } };
  });
  const head = groupHead * scale;
  const groups = seen.groups.map(({ id }) => {
    const box = placed(groupKeys.get(id)!);
    return { ...box, y: box.y - head / 2, height: box.height + head / 2 };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    nodes: seen.nodes.map(({ id }) => placed(keys.get(id)!)),
    edges,
    groups,
    size: { width: finite(width), height: finite(height) },
  };
}

/** Returns a loop at the side of a node where room was left for it: at its right, below it in a graph to the right. */
function loopAt(
  { x, y, width, height }: Box,
  {
    characters,
    direction,
    scale,
  }: Required<Pick<LayoutOptions, "direction" | "scale">> & { readonly characters: number },
): Places["edges"][number] {
  const [near, far, out] = [8 * scale, 22 * scale, 30 * scale];
  const half = (characters * 3.1 + 2) * scale;
  if (direction === "right") {
    const [middle, bottom] = [x + width / 2, y + height];
    const points = [
      { x: middle - near, y: bottom },
      { x: middle - far, y: bottom + out },
      { x: middle + far, y: bottom + out },
      { x: middle + near, y: bottom },
    ];
    return { points, labelAt: { x: Math.max(half, middle), y: bottom + out } };
  }
  const [right, middle] = [x + width, y + height / 2];
  const points = [
    { x: right, y: middle - near },
    { x: right + out, y: middle - far },
    { x: right + out, y: middle + far },
    { x: right, y: middle + near },
  ];
  return { points, labelAt: { x: right + out + half, y: middle } };
}

/** An empty graph has a size of minus infinity. */
function finite(size: number): number {
  return Number.isFinite(size) ? size : 0;
}

function shortLabel(label = ""): string {
  return label.length > 24 ? `${label.slice(0, 23)}…` : label;
}

/** Returns what is written on an edge: its label, and how often it was taken if that is more than once. */
export function edgeText({ label, taken = 0 }: Pick<GraphEdge, "label" | "taken">): string {
  return [shortLabel(label), taken > 1 ? `×${taken}` : ""].filter((part) => part !== "").join(" ");
}

function hasDetail({ detail }: Pick<GraphNode, "detail">): boolean {
  return detail !== undefined;
}

function sizeOf(node: Seen, scale: number) {
  if (node.shape === "end") return { width: 64 * scale, height: 26 * scale };
  const width = Math.min(232, Math.max(hasDetail(node) ? 148 : 96, node.label.length * 7.4 + 60));
  return { width: width * scale, height: (hasDetail(node) ? 48 : 34) * scale };
}

type Seen = Omit<PlacedNode, keyof Box>;

/** Returns the graph as it is seen: each node of a collapsed group as the group's own node. */
function visible({ nodes, edges, groups = [] }: GraphContent, collapsed: ReadonlySet<string>) {
  const byId = new Map(groups.map((group) => [group.id, group]));
  /** The outermost collapsed group of a group and those around it; null if all are open. */
  const hiding = (group: string | null | undefined): string | null => {
    let found: string | null = null;
    let at = byId.get(group ?? "");
    while (at !== undefined) {
      if (collapsed.has(at.id)) found = at.id;
      at = byId.get(at.parent ?? "");
    }
    return found;
  };
  const shownAs = new Map<string, string>();
  const shown = new Map<string, Seen>();
  for (const node of nodes) {
    const group = hiding(node.group);
    const id = group === null ? node.id : `group ${group}`;
    shownAs.set(node.id, id);
    if (group === null) shown.set(id, { ...node, isGroup: false });
    else shown.set(id, joined(shown.get(id), node, byId.get(group)!));
  }
  const joinedEdges = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const [from, to] = [shownAs.get(edge.from), shownAs.get(edge.to)];
    if (from === undefined || to === undefined) continue;
    if (from === to && edge.from !== edge.to) continue;
    const key = JSON.stringify([from, to]);
    const known = joinedEdges.get(key);
    const label = [known?.label, edge.label].filter((one) => one !== undefined && one !== "");
    joinedEdges.set(key, {
      from,
      to,
      ...(edge.taken !== undefined && { taken: (known?.taken ?? 0) + edge.taken }),
      isConditional: (known?.isConditional ?? true) && edge.isConditional === true,
      ...(label.length > 0 && { label: [...new Set(label)].join(", ") }),
    });
  }
  const open = new Set<string>();
  for (const { group } of shown.values()) {
    let at = byId.get(group ?? "");
    while (at !== undefined && !open.has(at.id)) {
      open.add(at.id);
      at = byId.get(at.parent ?? "");
    }
  }
  const openGroups = groups.filter(({ id }) => open.has(id));
  return { nodes: [...shown.values()], edges: [...joinedEdges.values()], groups: openGroups };
}

const worst: readonly Tone[] = ["bad", "wait", "live", "good", "idle"];

/** Returns the node of a collapsed group with one more node in it. */
function joined(before: Seen | undefined, node: GraphNode, group: GraphGroup): Seen {
  const tones = [before?.tone, node.tone];
  const inside = 1 + Number.parseInt(before?.detail ?? "0", 10);
  const tone = worst.find((one) => tones.includes(one));
  return {
    id: `group ${group.id}`,
    label: group.label,
    detail: `${inside} ${inside === 1 ? "node" : "nodes"}`,
    group: group.parent ?? null,
    isGroup: true,
    ...(tone !== undefined && { tone }),
  };
}

/** Keys that move along and across the edges. */
export type ArrowKey = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

/**
 * Returns the node to which an arrow key leads: along edges, those that were taken first, or to the nearest node beside
 * it. Null if there is none.
 */
export function nextNode(graph: GraphLayout, id: string, key: ArrowKey): string | null {
  const at = graph.nodes.find((node) => node.id === id);
  if (at === undefined) return null;
  const isDown = graph.direction === "down";
  const along = {
    forward: isDown ? "ArrowDown" : "ArrowRight",
    back: isDown ? "ArrowUp" : "ArrowLeft",
  };
  if (key === along.forward || key === along.back) {
    const isForward = key === along.forward;
    const ends = graph.edges
      .filter((edge) => (isForward ? edge.from : edge.to) === id && edge.from !== edge.to)
      .toSorted((a, b) => Number(a.isBack) - Number(b.isBack) || (b.taken ?? 0) - (a.taken ?? 0));
    const [first] = ends;
    return first === undefined ? null : isForward ? first.to : first.from;
  }
  const middle = ({ x, y, width, height }: Box) => ({ x: x + width / 2, y: y + height / 2 });
  const own = middle(at);
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  const beside = graph.nodes
    .filter((node) => node.id !== id)
    .map((node) => {
      const { x, y } = middle(node);
      const [across, off] = isDown ? [x - own.x, y - own.y] : [y - own.y, x - own.x];
      return { id: node.id, across: across * sign, off: Math.abs(off) };
    })
    .filter(({ across, off }) => across > 1 && off < 30);
  return beside.toSorted((a, b) => a.across - b.across)[0]?.id ?? null;
}

/** Returns the path of an edge as SVG draws it, rounded at its bends, and its arrow head. */
export function edgePaths(
  points: PlacedEdge["points"],
  scale = 1,
): { readonly line: string; readonly head: string } {
  const [first] = points;
  const last = points.at(-1);
  const before = points.at(-2);
  if (first === undefined || last === undefined || before === undefined)
    return { line: "", head: "" };
  const at = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  let line = `M${at(first)}`;
  for (let index = 1; index < points.length - 1; index++) {
    const [bend, next] = [points[index]!, points[index + 1]!];
    const isLast = index === points.length - 2;
    const to = isLast ? last : { x: (bend.x + next.x) / 2, y: (bend.y + next.y) / 2 };
    line += `Q${at(bend)} ${at(to)}`;
  }
  if (points.length === 2) line += `L${at(last)}`;
  const angle = Math.atan2(last.y - before.y, last.x - before.x);
  const wing = (side: number) => ({
    x: last.x - 8 * scale * Math.cos(angle + side),
    y: last.y - 8 * scale * Math.sin(angle + side),
  });
  return { line, head: `M${at(last)}L${at(wing(0.42))}L${at(wing(-0.42))}Z` };
}

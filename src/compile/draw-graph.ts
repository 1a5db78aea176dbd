import type { Runnable } from "@langchain/core/runnables";
import { END, START } from "@langchain/langgraph";
import { z } from "zod";
import type { AgentGraph } from "./agent-graph.ts";
import { Drawing, type NodeMetadata } from "./drawing.ts";
import type { GraphNode } from "./graph-builder.ts";
import { overrideGraph } from "./override-graph.ts";

/** What drawing needs of a compiled graph. */
interface Drawable {
  readonly builder: { readonly nodes: Readonly<Record<string, { readonly runnable: Runnable }>> };
  withConfig(config: never): unknown;
}

/** How far graphs inside of nodes are drawn too: all the way, or so many levels. */
export type Xray = boolean | number;

const drawings = new WeakMap<object, (xray: Xray) => Drawing>();

/**
 * Makes a graph draw itself from its nodes' {@link GraphNode.edges}, and returns it. LangGraph by itself draws
 * every way that a node could go, all of them dashed and none with a label, since only code says which it takes. The
 * graph itself is changed; graphs derived by `withConfig` draw the same.
 */
export function drawnFromNodes<Compiled extends Drawable>(
  compiled: Compiled,
  nodes: readonly GraphNode[],
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const draw = (xray: Xray) => drawGraph(graph, nodes, xray);
    drawings.set(graph, draw);
    return {
      getGraph: (config?: { xray?: Xray }) => draw(config?.xray ?? false),
      getGraphAsync: async (config?: { xray?: Xray }) => draw(config?.xray ?? false),
    };
  });
}

type DrawnNode = ReturnType<Drawing["addNode"]>;

function drawGraph({ builder }: Drawable, nodes: readonly GraphNode[], xray: Xray): Drawing {
  const drawing = new Drawing();
  const start = drawing.addNode({ name: START, schema: z.any() }, START);
  const placed = new Map<string, { first: DrawnNode; last: DrawnNode }>();
  for (const node of nodes) {
    if (node.isDrawn === false) continue;
    const { name, type, description } = node;
    const inside = xray === false || xray === 0 ? undefined : drawInside(node, xray);
    const [first, last] = inside === undefined ? [] : drawing.extend(inside, name);
    if (first !== undefined && last !== undefined) {
      placed.set(name, { first: first as DrawnNode, last: last as DrawnNode });
      continue;
    }
    const metadata: NodeMetadata = { ...(description !== "" && { description }), type };
    const runnable = builder.nodes[name]?.runnable ?? { name, schema: z.any() };
    const added = drawing.addNode(runnable, name, { ...metadata });
    placed.set(name, { first: added, last: added });
  }
  const end = drawing.addNode({ name: END, schema: z.any() }, END);
  placed.set(END, { first: end, last: end });
  const connect = (from: DrawnNode, to: string, when?: string) => {
    const target = placed.get(to);
    if (target !== undefined) drawing.addEdge(from, target.first, when, when !== undefined);
  };
  connect(start, "initialize");
  for (const node of nodes) {
    const from = placed.get(node.name)?.first;
    if (from !== undefined && xray !== false && xray !== 0) drawWorkers(drawing, node, from, xray);
  }
  for (const { name, edges } of nodes) {
    const from = placed.get(name)?.last;
    if (from !== undefined) for (const { to, when } of edges) connect(from, to, when);
  }
  return drawing;
}

/** The graph that runs inside of a node, without its own start and end. */
function drawInside({ subgraphs = [] }: GraphNode, xray: true | number): Drawing | undefined {
  const [inside] = subgraphs;
  return inside && trimmedDrawing(inside, xray);
}

function trimmedDrawing(graph: AgentGraph, xray: true | number): Drawing | undefined {
  const drawing = drawingOf(graph, xray === true ? true : xray - 1);
  drawing?.trimFirstNode();
  drawing?.trimLastNode();
  return drawing;
}

/** The graphs that a node runs any of, each with a way there and back. */
function drawWorkers(
  drawing: Drawing,
  { name, workers = new Map() }: GraphNode,
  from: DrawnNode,
  xray: true | number,
): void {
  for (const [worker, graph] of workers) {
    const inside = trimmedDrawing(graph, xray);
    const [first, last] = inside === undefined ? [] : drawing.extend(inside, `${name}:${worker}`);
    if (first === undefined || last === undefined) continue;
    drawing.addEdge(from, first as DrawnNode, worker, true);
    drawing.addEdge(last as DrawnNode, from, undefined, true);
  }
}

/** @param graph one that {@link drawnFromNodes} returned */
function drawingOf(graph: AgentGraph, xray: Xray): Drawing | undefined {
  return drawings.get(graph)?.(xray);
}

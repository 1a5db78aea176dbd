import type { Runnable } from "@langchain/core/runnables";
import { Graph } from "@langchain/core/runnables/graph";
import { END, START } from "@langchain/langgraph";
import { z } from "zod";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { agentReferences, collectAgents } from "../definition/check/agents.ts";
import { defineAgent } from "../definition/define-agent.ts";
import { defineTool } from "../definition/tool/define-tool.ts";
import type { ModelSource } from "../models/agent-model.ts";
import { modelProfile } from "../models/model-profile.ts";
import { createToolRegistry, type ToolRegistry } from "../tools/registry.ts";
import { type AgentGraph, overrideGraph } from "./agent-graph.ts";
import { type AgentRegistry, createAgentRegistry } from "./agent-registry.ts";
import type { GraphNode } from "./graph-builder.ts";

/** The parts of a compiled graph that drawing uses. */
interface Drawable {
  readonly builder: { readonly nodes: Readonly<Record<string, { readonly runnable: Runnable }>> };
  withConfig(config: never): unknown;
}

/** How many levels of nested graphs are drawn; true for all. */
export type Xray = boolean | number;

const drawings = new WeakMap<object, (xray: Xray) => Drawing>();

/**
 * Makes a graph draw itself from its nodes' {@link GraphNode.edges}, and returns it. LangGraph's own drawing shows
 * every possible edge, dashed and without a label, because only code decides which is taken. Changes the graph itself;
 * graphs derived by `withConfig` draw the same.
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

/** Draws the graph within a node, without its own start and end. */
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

/** Draws the worker graphs of a node, each with an edge there and back. */
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

/** @param graph a result of {@link drawnFromNodes} */
function drawingOf(graph: AgentGraph, xray: Xray): Drawing | undefined {
  return drawings.get(graph)?.(xray);
}

/** The metadata of a drawn node. */
interface NodeMetadata {
  /** A type of workflow node, or `lifecycle` for the nodes that begin and end turns and attempts. */
  readonly type: string;
  readonly description?: string;
}

/**
 * LangChain's drawable graph, with the metadata that its JSON leaves out (the Python library has it), and Mermaid text
 * that no label can break.
 */
class Drawing extends Graph {
  override toJSON(): ReturnType<Graph["toJSON"]> {
    const json = super.toJSON() as { nodes: { id: string }[]; edges: unknown[] };
    const nodes = json.nodes.map((node) => {
      const metadata = this.nodes[node.id]?.metadata;
      return metadata === undefined ? node : { ...node, metadata };
    });
    return { ...json, nodes };
  }

  override drawMermaid(params?: Parameters<Graph["drawMermaid"]>[0]): string {
    const nodes = Object.entries(this.nodes).map(([id, node]) => {
      const metadata = Object.entries(node.metadata ?? {}).map(([key, value]) => {
        return [key, withStandIns(String(value))];
      });
      return [id, { ...node, metadata: Object.fromEntries(metadata) }];
    });
    const edges = this.edges.map((edge) => {
      return edge.data === undefined ? edge : { ...edge, data: withStandIns(edge.data) };
    });
    const drawn = new Graph({ nodes: Object.fromEntries(nodes), edges }).drawMermaid(params);
    return drawn.replaceAll(standIns, (found) => `#${found.charCodeAt(0) - firstStandIn};`);
  }
}

/** First code point of the stand-ins, in Unicode's private use area. */
const firstStandIn = 0xe000;
const standIns = /[\ue021-\ue07e]/g;

/**
 * Replaces special characters in unquoted labels, where a full stop ends the label of a dashed edge, and a bracket that
 * of a node. LangChain escapes only brackets and quotes in nodes, and would escape entities again. So private-use
 * characters stand in until the drawing is written.
 */
function withStandIns(text: string): string {
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll(standIns, "\ufffd")
    .replaceAll(/[!-/:-@[-`{-~]/g, (mark) =>
      String.fromCharCode(firstStandIn + mark.charCodeAt(0)),
    );
}

/** Returns a definition whose graph may be drawn: also that of an inactive agent. */
export function drawableDefinition(definition: AgentDefinition): AgentDefinition {
  return { ...definition, spec: { ...definition.spec, is_active: true } };
}

/** Names that tools may have. Others are patterns of rails. */
const toolName = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns a definition whose MCP servers and packages are replaced by names of tools, so that no process is started and
 * no address is called for a drawing. The names are those that its nodes use.
 */
export function withoutServers(definition: AgentDefinition): AgentDefinition {
  const { spec } = definition;
  const local = spec.tools.filter(
    (entry) => typeof entry === "string" || !("mcp" in entry || "community" in entry),
  );
  if (local.length === spec.tools.length) return definition;
  const used = (spec.workflow_graph?.nodes ?? []).flatMap(({ config }) => {
    const { tool, tools } = Object(config) as Readonly<Record<string, unknown>>;
    return [tool, tools].flat().filter((name) => typeof name === "string");
  });
  const known = new Set([...local.filter((entry) => typeof entry === "string"), "all", "none"]);
  const names = [...new Set([...used, "server_tools"])];
  const added = names.filter((name) => toolName.test(name) && !known.has(name));
  return { ...definition, spec: { ...spec, tools: [...local, ...added] } };
}

/** Models for graphs that are only drawn: they need no key and no package, and are never called. */
export const drawingModels: ModelSource = {
  resolve: ({ default_model: ref = "" }) =>
    Promise.resolve({
      ref,
      toolCalling: true,
      parallelCalls: true,
      profile: modelProfile("offline:rules"),
      call: () => Promise.reject(new TypeError("a drawn graph must not run")),
    }),
};

/**
 * Returns tools and agents for a graph that is only drawn, with a stand-in for each name that is not known here: another
 * place has it.
 */
export function drawingServices(
  definition: AgentDefinition,
  known: { readonly tools: ToolRegistry; readonly agents?: AgentRegistry },
): { readonly tools: ToolRegistry; readonly agents: AgentRegistry } {
  const { tools, agents: inside = new Map<string, AgentDefinition>() } = known;
  const drawn = [definition, ...inside.values()].flatMap((one) => [...collectAgents(one)]);
  const unknown = new Set(drawn.flatMap((one) => unknownTools(one, tools)));
  const input_schema = { type: "object", properties: {} };
  const placeholders = [...unknown].map((name) =>
    defineTool({ name, description: "Not called.", input_schema, handler: () => null }),
  );
  const names = new Set(
    drawn.flatMap(({ spec }) => agentReferences(spec).map(({ agent }) => agent)),
  );
  const agents = [...names]
    .filter((name) => !inside.has(name))
    .map((name) => defineAgent({ name, input_schema: { type: "object" } }));
  return {
    tools: createToolRegistry([...tools.resolve(tools.names()), ...placeholders]),
    agents: new Map([...createAgentRegistry(agents), ...inside]),
  };
}

function unknownTools({ spec, tools: own }: AgentDefinition, tools: ToolRegistry): string[] {
  const names = new Set(own.map((tool) => tool.definition.name));
  return spec.tools.flatMap((tool) =>
    typeof tool === "string" && !names.has(tool) && tools.get(tool) === undefined ? [tool] : [],
  );
}

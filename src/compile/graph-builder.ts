import { START, StateGraph } from "@langchain/langgraph";
import { contextSchema, inputSchema, outputSchema, stateSchema } from "../state/channels.ts";
import type { AgentGraph } from "./agent-graph.ts";
import { checkInput, checkMessages } from "./input.ts";
import { loopNode, type LoopNodeOptions } from "./loop/loop-node.ts";
import type { NodeBody } from "./loop/node-body.ts";
import type { LoopParts } from "./loop/parts.ts";

/** A node of the graph and the nodes it may go to. */
export interface GraphNode extends LoopNodeOptions {
  readonly name: string;
  readonly body: NodeBody;
  readonly ends: readonly string[];
  /** Shown by clients that draw the graph. */
  readonly description?: string;
  /** Graphs that the node runs inside of it. */
  readonly subgraphs?: readonly AgentGraph[];
}

/** LangGraph's builder with an agent's channels and the given nodes; the turn starts at `initialize`. */
export function buildGraph(parts: LoopParts, nodes: readonly GraphNode[]) {
  const { input, output, behaviour } = parts.definition;
  const schemas = {
    input: input.jsonSchema,
    output: output.jsonSchema,
    execution: behaviour.executionSchema?.jsonSchema,
    attempt: behaviour.attemptSchema?.jsonSchema,
  };
  const state = stateSchema(schemas);
  const builder = new StateGraph({
    state,
    input: inputSchema(schemas, {
      input: (value) => void checkInput(parts.definition, value),
      messages: (list) => checkMessages(parts.definition, list),
    }),
    output: outputSchema(state),
    context: contextSchema,
  });
  for (const node of nodes) {
    const { name, body, ends, description = "", subgraphs = [] } = node;
    builder.addNode(name, loopNode(name, parts, body, node) as never, {
      ends: [...ends],
      ...(description !== "" && { metadata: { description } }),
      ...(subgraphs.length > 0 && { subgraphs: [...subgraphs] as never[] }),
    });
  }
  return builder.addEdge(START, "initialize" as never);
}

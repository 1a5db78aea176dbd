import { START, StateGraph } from "@langchain/langgraph";
import {
  contextSchema,
  inputSchema,
  outputSchema,
  planningStateSchema,
  stateSchema,
} from "../state/channels.ts";
import type { AgentGraph } from "./agent-graph.ts";
import type { DrawnEdge } from "./drawn-edges.ts";
import { checkInput, checkMessages } from "./input.ts";
import { loopNode, type LoopNodeOptions } from "./loop/loop-node.ts";
import type { MoveOn, NodeBody } from "./loop/node-body.ts";
import type { LoopParts } from "./loop/parts.ts";
import type { PlanNode } from "./plan/plan-node.ts";

/** A node of the graph and the nodes it goes to. */
export interface GraphNode extends LoopNodeOptions {
  readonly name: string;
  /** The type of a workflow's node, or of one that does the same; else it begins or ends a turn or an attempt. */
  readonly type: PlanNode["type"] | "lifecycle";
  /** Whether clients that draw the graph show the node and the edges to it. Default true. */
  readonly isDrawn?: boolean;
  /** Shown by clients that draw the graph. */
  readonly description: string;
  readonly body: NodeBody;
  /** Where its body may go; also to `finalize`, unless `isBounded` is false, where something ends the turn early. */
  readonly edges: readonly DrawnEdge[];
  /** How the turn moves on when an update by hand acts for the node; left out where what it gave decides that. */
  readonly moveOn?: MoveOn;
  /** Graphs that the node runs inside of it. */
  readonly subgraphs?: readonly AgentGraph[];
  /** Graphs of which it runs any, as often as it likes; drawn beside it. */
  readonly workers?: ReadonlyMap<string, AgentGraph>;
}

/**
 * LangGraph's builder with an agent's channels and the given nodes; the turn starts at `initialize`.
 * @param isInside whether nodes of other graphs run it. What it is given then has marks where values were redacted, which
 * only they know: `runSubagent` checks it before, and `initialize` again.
 */
export function buildGraph(
  parts: LoopParts,
  nodes: readonly GraphNode[],
  { isInside }: { readonly isInside: boolean },
) {
  const { behaviour } = parts.definition;
  const schemas = {
    input: parts.definition.input.jsonSchema,
    output: parts.definition.output.jsonSchema,
    execution: behaviour.executionSchema?.jsonSchema,
    attempt: behaviour.attemptSchema?.jsonSchema,
  };
  const { plans = false } = parts.attempts;
  const state = plans ? planningStateSchema(schemas) : stateSchema(schemas);
  const output = outputSchema(state);
  const builder = new StateGraph({
    state,
    input: inputSchema(schemas, {
      input: (value) => void (isInside || checkInput(parts.definition, value)),
      messages: (list) => checkMessages(parts.definition, list),
    }),
    // The node of a planner reads its plan and results, and has to know what the marks in them stand for.
    output: plans ? output.extend(state.pick({ redactions: true }).shape) : output,
    context: contextSchema,
  });
  for (const node of nodes) {
    const { name, body, edges, isBounded = true, workers } = node;
    const subgraphs = [...(node.subgraphs ?? []), ...(workers?.values() ?? [])];
    const targets = edges.map(({ to }) => to);
    builder.addNode(name, loopNode(name, parts, body, node) as never, {
      ends: isBounded && !targets.includes("finalize") ? [...targets, "finalize"] : targets,
      ...(subgraphs.length > 0 && { subgraphs: subgraphs as never[] }),
    });
  }
  return builder.addEdge(START, "initialize" as never);
}

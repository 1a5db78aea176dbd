import { START, StateGraph } from "@langchain/langgraph";
import { endOfWorkflow } from "../state/branch.ts";
import {
  contextSchema,
  inputSchema,
  outputSchema,
  planningStateSchema,
  stateSchema,
} from "../state/channels.ts";
import { headOf } from "../values/text.ts";
import type { AgentGraph } from "./agent-graph.ts";
import { checkInput, checkMessages } from "./input.ts";
import type { LoopConfig } from "./loop/loop-config.ts";
import { loopNode, type LoopNodeOptions } from "./loop/loop-node.ts";
import type { AdvanceState, NodeBody } from "./loop/node.ts";
import type { PlanNode } from "./workflow-plan.ts";

/** A node of the graph and the nodes that follow it. */
export interface GraphNode extends LoopNodeOptions {
  readonly name: string;
  /** The type of an equivalent workflow node; `lifecycle` for nodes that begin or end a turn or an attempt. */
  readonly type: PlanNode["type"] | "lifecycle";
  /** Whether drawings show the node and its edges. Default true. */
  readonly isDrawn?: boolean;
  /** Shown in drawings. */
  readonly description: string;
  readonly body: NodeBody;
  /**
   * The nodes that may follow. `finalize` may also follow if something ends the turn early, unless `isBounded` is
   * false.
   */
  readonly edges: readonly DrawnEdge[];
  /** How the turn advances if a state edit acts for the node; left out if the node's result decides that. */
  readonly moveOn?: AdvanceState;
  /** Graphs nested in the node. */
  readonly subgraphs?: readonly AgentGraph[];
  /** Graphs of which it runs any, any number of times; drawn next to it. */
  readonly workers?: ReadonlyMap<string, AgentGraph>;
}

/**
 * Returns LangGraph's builder with an agent's channels and the given nodes; the turn starts at `initialize`.
 *
 * @param isInside whether it runs as a node of other graphs. Its input then has placeholders whose values only the
 * outer agents know: `runSubagent` checks it before, and `initialize` again.
 */
export function buildGraph(
  loop: LoopConfig,
  nodes: readonly GraphNode[],
  { isInside }: { readonly isInside: boolean },
) {
  const { behaviour } = loop.definition;
  const schemas = {
    input: loop.definition.input.jsonSchema,
    output: loop.definition.output.jsonSchema,
    execution: behaviour.executionSchema?.jsonSchema,
    attempt: behaviour.attemptSchema?.jsonSchema,
  };
  const { plans = false } = loop.attempts;
  const state = plans ? planningStateSchema(schemas) : stateSchema(schemas);
  const output = outputSchema(state);
  const builder = new StateGraph({
    state,
    input: inputSchema(schemas, {
      input: (value) => void (isInside || checkInput(loop.definition, value)),
      messages: (list) => checkMessages(loop.definition, list),
    }),
    // The outer node reads plan and results of a planner, and needs the values of their placeholders.
    output: plans ? output.extend(state.pick({ redactions: true }).shape) : output,
    context: contextSchema,
  });
  for (const node of nodes) {
    const { name, body, edges, isBounded = true, workers } = node;
    const subgraphs = [...(node.subgraphs ?? []), ...(workers?.values() ?? [])];
    const targets = edges.map(({ to }) => to);
    builder.addNode(name, loopNode(name, loop, body, node) as never, {
      ends: isBounded && !targets.includes("finalize") ? [...targets, "finalize"] : targets,
      ...(subgraphs.length > 0 && { subgraphs: subgraphs as never[] }),
    });
  }
  return builder.addEdge(START, "initialize" as never);
}

/** An edge of the drawing. */
interface DrawnEdge {
  readonly to: string;
  /** Its condition; left out for an unconditional edge. */
  readonly when?: string;
}

/**
 * Returns a workflow node's edges as the author wrote them. Conditions leave out the node's own name. A default among
 * conditions is `else`, and needs no label if all edges have the same target.
 */
export function drawnEdges({
  name,
  edges,
}: Pick<PlanNode, "name" | "edges">): readonly DrawnEdge[] {
  const hasDefault = edges.some(({ condition }) => condition === null);
  const targets = new Set(edges.flatMap(({ to }) => to));
  return [...targets].map((target) => {
    // A workflow ends where its attempt is judged.
    const to = target === endOfWorkflow ? "reflect" : target;
    const leading = edges.filter((edge) => edge.to.includes(target));
    if (hasDefault && leading.length === edges.length) return { to };
    const labels = leading.map(({ condition }) =>
      condition === null ? "else" : shortCondition(condition, name),
    );
    return { to, when: [...new Set(labels)].join(" or ") };
  });
}

/** Maximum length of a displayed condition, in UTF-16 units. */
const longest = 60;

/** Matches quoted text, which stays unchanged, or the output of a node in either notation. */
const quotedOrOutput =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.])nodes(?:\.(\w+)|\["([\w-]+)"\]|\['([\w-]+)'\])\./gs;

/** Renders a condition on one line, truncated if it is long, without the name of its own node. */
export function shortCondition(condition: string, node: string): string {
  const own = condition.replaceAll(
    quotedOrOutput,
    (found: string, ...names: (string | undefined)[]) =>
      names.slice(0, 3).includes(node) ? "" : found,
  );
  const line = own.replaceAll(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${headOf(line, longest - 1)}…`;
}

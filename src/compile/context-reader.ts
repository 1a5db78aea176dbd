import type { Goal, ReasoningContext } from "../context/context-metadata.ts";
import type { ModelTool } from "../models/agent-model.ts";
import { messageTokens } from "../models/message-tokens.ts";
import type { GraphState } from "../state/channels.ts";
import type { AgentGraph } from "./agent-graph.ts";
import type { GraphNode } from "./graph-builder.ts";
import { withInherited } from "./loop/inherited-redactions.ts";
import type { NodeResult } from "./loop/node-body.ts";
import type { LoopParts } from "./loop/parts.ts";
import { Asked, lookingRun, type LookedFor } from "./looking-run.ts";

export interface ContextRequest extends LookedFor {
  /** The node whose step it is. */
  readonly node: string;
  /** Default: what the node itself would make it for. */
  readonly goal?: Goal | undefined;
  /** `provider:model` instead of the definition's. */
  readonly model?: string | undefined;
  /** Tokens, instead of what the definition allows. */
  readonly budget?: number | undefined;
  /** LangGraph's number of the superstep that the node runs in. Default: early enough for another step. */
  readonly superstep?: number | undefined;
  /** What the model planned for the step in deep mode. Default: nothing. */
  readonly planning?: string | undefined;
}

/** What the model call of a step reads. */
export interface StepContext extends ReasoningContext {
  readonly node: string;
  /** `step_index` of the record that the step makes. */
  readonly step: number;
  /** Tokens of each message, with what chat formats add around it. */
  readonly messageTokens: readonly number[];
  /** The tools that are offered natively. */
  readonly tools: readonly ModelTool[];
  /**
   * What the step makes its requests for, in order: `planning`, then `synthesis` where an answer is written once more from
   * whole results; of an answer for which no steps are left `synthesis` alone. This is the one for `metadata.goal`, which
   * is another than all of these where that was asked for.
   */
  readonly goals: readonly Goal[];
  /** Further requests that come before, and are never shown: for the plan of a deep step, for a summary of earlier turns. */
  readonly asksBefore: number;
}

/** Looks at what the nodes of one agent read, and how its turns begin. Nobody is asked, and nothing is written. */
export interface ContextReader {
  readonly parts: LoopParts;
  /** The nodes of the graph, by name. */
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** Null where the node asks no model in this state. */
  read(state: GraphState, request: ContextRequest): Promise<StepContext | null>;
  /** What a node that begins a turn or an attempt gives, when models that it asks say nothing. */
  lookAt(
    state: GraphState,
    at: Pick<LookedFor, "inherited" | "around"> & {
      readonly node: string;
      readonly superstep: number;
    },
  ): Promise<{ readonly result: NodeResult; readonly asked: number }>;
}

/** @param agent the parts and nodes that its graph is made of */
export function contextReader(agent: {
  readonly parts: LoopParts;
  readonly nodes: readonly GraphNode[];
  readonly recursionLimit: number;
}): ContextReader {
  const nodes = new Map(agent.nodes.map((node) => [node.name, node]));
  return {
    parts: agent.parts,
    nodes,
    async read(state, request) {
      const node = nodes.get(request.node);
      if (node === undefined || !asksModels(node)) return null;
      const made: { readonly context: ReasoningContext; readonly step: number }[] = [];
      let goals: readonly Goal[] = ["planning"];
      const read = lookingRun(agent, state, request);
      const { goal } = request;
      const reading = {
        goal,
        made: (context: ReasoningContext, step: number) => void made.push({ context, step }),
        makes: (own: readonly Goal[]) => void (goals = own),
      };
      try {
        const { run } = read;
        await node.body(withInherited(state, run.config), { ...run, reading });
        return null;
      } catch (thrown) {
        const last = made.at(-1);
        if (!(thrown instanceof Asked) || last === undefined) throw thrown;
        const { model, request: sent } = thrown;
        const { messages, tools = [] } = sent;
        const { context, step } = made.find((one) => one.context.messages === messages) ?? last;
        return {
          ...context,
          node: node.name,
          step,
          messageTokens: context.messages.map((one) => messageTokens(one, model.profile.count)),
          tools: model.toolCalling ? tools : [],
          goals,
          asksBefore: read.asked(),
        };
      }
    },
    async lookAt(state, { node, superstep, inherited, around }) {
      const found = nodes.get(node);
      if (found?.type !== "lifecycle") throw new TypeError(`${node} begins or ends nothing`);
      const { run, asked } = lookingRun(agent, state, { node, superstep, inherited, around });
      const result = await found.body(withInherited(state, run.config), run);
      return { result, asked: asked() };
    },
  };
}

/** Whether the steps of a node ask models: only then may it be looked at. */
export function asksModels({ type }: Pick<GraphNode, "type">): boolean {
  return type === "llm" || type === "router";
}

const readers = new WeakMap<object, ContextReader>();

/** Remembers how to look at what the nodes of a graph read. */
export function keepReader(graph: AgentGraph, reader: ContextReader): void {
  readers.set(graph, reader);
}

/** Undefined for graphs that are not ours. */
export function readerOf(graph: AgentGraph): ContextReader | undefined {
  return readers.get(graph);
}

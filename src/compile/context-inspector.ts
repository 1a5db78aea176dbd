import { createResultSummaryStore } from "./loop/context.ts";
import { AIMessage } from "@langchain/core/messages";
import { planningRequest } from "../context/prompts.ts";
import type { Goal, ReasoningContext } from "../context/reasoning-context.ts";
import type { AgentModel, ModelRequest, ModelTool } from "../models/agent-model.ts";
import { messageTokens } from "../models/usage/message-tokens.ts";
import type { GraphState } from "../state/channels.ts";
import type { Redactions } from "../state/rails.ts";
import { noUsage } from "../state/usage.ts";
import type { AgentGraph } from "./agent-graph.ts";
import type { GraphNode } from "./graph-builder.ts";
import { nodeTraits } from "./nodes/node-traits.ts";
import { boundedConfig, type LoopConfig } from "./loop/loop-config.ts";
import { createNodeRails } from "./loop/node-rails.ts";
import type { NodeContext, NodeResult } from "./loop/node.ts";
import { propagateRedactions, withInheritedRedactions } from "./run/run-config.ts";

export interface ContextRequest extends DryRunTarget {
  /** The node that makes the step. */
  readonly node: string;
  /** Default: the node's own goal. */
  readonly goal?: Goal | undefined;
  /** `provider:model`; overrides the definition's. */
  readonly model?: string | undefined;
  /** Tokens; overrides the definition's budget. */
  readonly budget?: number | undefined;
  /** LangGraph's number of the node's superstep. Default: early enough for another step. */
  readonly superstep?: number | undefined;
  /** The model's plan of the step in deep mode. Default: none. */
  readonly planning?: string | undefined;
}

/** The context of a step's model call. */
export interface StepContext extends ReasoningContext {
  readonly node: string;
  /** `step_index` of the record that the step makes. */
  readonly step: number;
  /** Tokens of each message, including the overhead of chat formats. */
  readonly messageTokens: readonly number[];
  /** The natively offered tools. */
  readonly tools: readonly ModelTool[];
  /**
   * The goals of the step's requests, in order: `planning`, then `synthesis` if the answer is written again from whole
   * results; only `synthesis` for an answer without steps left. This context is for `metadata.goal`, which differs from
   * all of these if the caller requested another goal.
   */
  readonly goals: readonly Goal[];
  /** Number of earlier requests that are not shown: for the plan of a deep step, for a summary of earlier turns. */
  readonly asksBefore: number;
}

/**
 * Inspects what the nodes of one agent read, and how its turns begin, by dry runs. No model is called, and nothing is
 * written.
 */
export interface ContextInspector {
  readonly loop: LoopConfig;
  /** The nodes of the graph, by name. */
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** Returns null if the node calls no model in this state. */
  read(state: GraphState, request: ContextRequest): Promise<StepContext | null>;
  /** Returns the result of a node that begins a turn or an attempt, with empty model replies. */
  dryRun(
    state: GraphState,
    at: Pick<DryRunTarget, "inherited" | "around" | "threadId" | "user"> & {
      readonly node: string;
      readonly superstep: number;
    },
  ): Promise<{ readonly result: NodeResult; readonly asked: number }>;
}

/** @param agent the configuration and nodes of its graph */
export function createContextInspector(agent: {
  readonly loop: LoopConfig;
  readonly nodes: readonly GraphNode[];
  readonly recursionLimit: number;
}): ContextInspector {
  const nodes = new Map(agent.nodes.map((node) => [node.name, node]));
  return {
    loop: agent.loop,
    nodes,
    async read(state, request) {
      const node = nodes.get(request.node);
      if (node === undefined || !callsModel(node)) return null;
      const made: { readonly context: ReasoningContext; readonly step: number }[] = [];
      let goals: readonly Goal[] = ["planning"];
      const read = createDryRun(agent, state, request);
      const { goal } = request;
      const probe = {
        goal,
        contextMade: (context: ReasoningContext, step: number) => void made.push({ context, step }),
        goalsKnown: (own: readonly Goal[]) => void (goals = own),
      };
      try {
        const { run } = read;
        await node.body(withInheritedRedactions(state, run.config), { ...run, probe });
        return null;
      } catch (thrown) {
        const last = made.at(-1);
        if (!(thrown instanceof DryRunCall) || last === undefined) throw thrown;
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
    async dryRun(state, { node, ...at }) {
      const found = nodes.get(node);
      if (found?.type !== "lifecycle") throw new TypeError(`${node} begins or ends nothing`);
      const { run, asked } = createDryRun(agent, state, { ...at, node });
      const result = await found.body(withInheritedRedactions(state, run.config), run);
      return { result, asked: asked() };
    },
  };
}

/** Returns whether the steps of a node call models; only these nodes can be inspected. */
export function callsModel({ type }: Pick<GraphNode, "type">): boolean {
  return type !== "lifecycle" && nodeTraits[type].callsModel;
}

const readers = new WeakMap<object, ContextInspector>();

/** Attaches an inspector to a graph. */
export function attachInspector(graph: AgentGraph, reader: ContextInspector): void {
  readers.set(graph, reader);
}

/** Returns undefined for graphs of other packages. */
export function inspectorOf(graph: AgentGraph): ContextInspector | undefined {
  return readers.get(graph);
}

/** The target of a dry run; see `ContextRequest`. */
interface DryRunTarget {
  readonly node: string;
  readonly model?: string | undefined;
  readonly budget?: number | undefined;
  readonly superstep?: number | undefined;
  readonly planning?: string | undefined;
  /** Redactions of the outer agents. Default none. */
  readonly inherited?: Redactions | undefined;
  /** The bounded configuration of the outer agent. Default: no outer agent. */
  readonly around?: LoopConfig | null | undefined;
  /** The thread and the user of a turn that begins. */
  readonly threadId?: string | undefined;
  readonly user?: string | undefined;
}

const none: Redactions = Object.freeze({});

/** Stops a node at the call whose context was requested. */
class DryRunCall extends Error {
  constructor(
    readonly model: AgentModel,
    readonly request: ModelRequest,
  ) {
    super("asked");
  }
}

/**
 * Creates a dry run for unchanged node bodies, so that the inspected context equals the one sent. Everything up to the
 * call of a step runs as usual; the call itself is not made.
 */
function createDryRun(
  agent: { readonly loop: LoopConfig; readonly recursionLimit: number },
  state: GraphState,
  of: DryRunTarget,
): { readonly run: NodeContext; readonly asked: () => number } {
  const { inherited = none, around = null } = of;
  const { recursionLimit } = agent;
  const loop = boundedConfig(agent.loop, around);
  const first = state.turn?.first_superstep ?? 0;
  const superstep = of.superstep ?? first;
  let asked = 0;
  const callModel: NodeContext["callModel"] = async (model, request, { isUnseen = false }) => {
    // Requests other than the step's own are unseen; only the plan of a deep step that was made is known.
    if (!isUnseen || request.answer !== undefined) {
      throw new DryRunCall(model, request);
    }
    asked += 1;
    const isPlan = request.messages.at(-1)?.text.endsWith(planningRequest) === true;
    return replyOf(model, isPlan ? (of.planning ?? "") : "");
  };
  const { signal } = new AbortController();
  const rails = createNodeRails({
    loop,
    signal,
    redactions: state.redactions,
    inherited,
    callModel,
    emit() {},
  });
  const memories =
    loop.memory?.forNode({
      loop,
      state,
      rails,
      signal,
      // As a run does: a turn that begins is not for the user of the last one.
      user: of.node === "initialize" ? of.user : state.turn?.user,
      threadId: of.threadId ?? null,
      isInside: around !== null,
      isReadOnly: true,
    }) ?? null;
  const run: NodeContext = {
    node: of.node,
    newTurnId: "",
    newTurnStart: "",
    within: [],
    superstep,
    loop: withBudget(loop, of.budget),
    around: [],
    calls: uncounted,
    boundsInside: () => ({ loop, bounds: [] }),
    config: propagateRedactions({}, inherited),
    context: of.model === undefined ? undefined : { model: of.model },
    signal,
    rails,
    memories,
    endedResults: [],
    startedSteps: [],
    // New summaries are unknown, and existing ones are stored.
    summaries: createResultSummaryStore(state.result_summaries, true),
    superstepsLeft: recursionLimit - (superstep - first),
    callModel,
    addUsage() {},
    usage: () => noUsage,
    onInterrupted() {},
    emit() {},
    interrupt() {
      throw new TypeError(`node ${of.node} asks a person, which a dry run cannot do`);
    },
  };
  return { run, asked: () => asked };
}

/** Counts nothing, because no call is made. */
const uncounted: NodeContext["calls"] = {
  maxCalls: undefined,
  count: async (keys) => keys.map(() => true),
  flush: async () => {},
  ofTools: () => 0,
};

function replyOf(model: AgentModel, text: string) {
  return {
    message: new AIMessage(text),
    usage: noUsage,
    model: model.ref,
    fallback: null,
    finish: "stop" as const,
    reasoning: null,
    calls: [],
  };
}

function withBudget(loop: LoopConfig, budget: number | undefined): LoopConfig {
  if (budget === undefined) return loop;
  const { definition } = loop;
  const { spec } = definition;
  const context_config = { ...spec.context_config, budget };
  return { ...loop, definition: { ...definition, spec: { ...spec, context_config } } };
}

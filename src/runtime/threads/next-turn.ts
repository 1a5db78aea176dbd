import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { ContextInspector } from "../../compile/context-inspector.ts";
import { boundedConfig, type LoopConfig } from "../../compile/loop/loop-config.ts";
import type { NodeResult } from "../../compile/loop/node.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { Redactions } from "../../state/rails.ts";
import { noUsage } from "../../state/usage.ts";
import { startOfNewTurn } from "../../compile/guards/inputs.ts";
import { startOfResumption } from "../thread-start.ts";
import { threadConfig } from "../run-turn.ts";
import { stateAfter } from "./stored.ts";

/** An agent whose nodes are run without side effects. */
export interface DryRunAgent {
  readonly graph: AgentGraph;
  readonly inspector: ContextInspector;
  /** Redactions of the outer agents. */
  readonly inherited: Redactions;
  /** The configuration of the outer agent, which bounds it; null if there is none. */
  readonly around: LoopConfig | null;
  /** The thread, and whose memories a turn that begins reads. */
  readonly threadId?: string;
  readonly user?: string | undefined;
}

/** Returns the configuration that bounds nested agents, with the bounds of all outer agents applied. */
export function configInside({
  inspector,
  around,
}: Pick<DryRunAgent, "inspector" | "around">): LoopConfig {
  return boundedConfig(inspector.loop, around);
}

/** The position of a turn after a dry run. */
export interface DryRunPosition {
  readonly state: GraphState;
  /** The nodes to run next. */
  readonly next: readonly string[];
  readonly superstep: number;
  /** Number of model requests that a run would make on the way; their answers are unknown. */
  readonly asked: number;
}

/** The nodes that begin a turn and an attempt. They make no decision that needs a model or a person. */
const beginnings: ReadonlySet<string> = new Set(["initialize", "plan"]);

export function isBeginning(node: string): boolean {
  return node === "__start__" || beginnings.has(node);
}

/** Number of supersteps in which LangGraph takes an input and passes it to the first node. */
const superstepsOfInput = 2;

/** Returns the position after the nodes that begin a turn. @throws the errors of these nodes */
export async function passBeginning(
  { graph, inspector, ...agent }: DryRunAgent,
  from: { readonly state: GraphState; readonly node: string; readonly superstep: number },
): Promise<DryRunPosition> {
  let { state, node, superstep } = from;
  let asked = 0;
  if (node === "__start__") node = "initialize";
  for (;;) {
    const { result, asked: more } = await inspector.dryRun(state, {
      node,
      superstep,
      inherited: agent.inherited,
      around: agent.around,
      threadId: agent.threadId,
      user: agent.user,
    });
    asked += more;
    state = stateAfter(
      graph,
      state,
      writtenBy(result, { state, node, superstep, user: agent.user }),
    );
    superstep += 1;
    const next = [result.goto].flat();
    const [first] = next;
    if (first === undefined || !beginnings.has(first)) {
      return { state, next, superstep, asked };
    }
    node = first;
  }
}

function writtenBy(
  { update, turn }: NodeResult,
  at: {
    readonly state: GraphState;
    readonly node: string;
    readonly superstep: number;
    readonly user: string | undefined;
  },
): GraphUpdate {
  const begins = at.node === "initialize";
  const elapsed_ms = begins ? 0 : (at.state.turn?.elapsed_ms ?? 0);
  const { user } = at;
  const begun = { first_superstep: at.superstep, ...(user !== undefined && { user }) };
  return { ...update, turn: { ...turn, ...(begins && begun), elapsed_ms } };
}

/** Begins the turn after a state with an input. @throws InvalidInputError, and errors of the definition's code */
export function beginTurn(
  agent: DryRunAgent,
  { state, step, input }: { readonly state: GraphState; readonly step: number; input: unknown },
): Promise<DryRunPosition> {
  const begun = { ...state, input, status: endedOrNew(state) };
  return passBeginning(agent, {
    state: begun,
    node: "initialize",
    superstep: step + 1 + superstepsOfInput,
  });
}

/** Begins a turn of a standard loop whose request is not known yet. */
export function beginTurnWithoutRequest({ state, step }: { state: GraphState; step: number }): {
  readonly state: GraphState;
  readonly superstep: number;
} {
  const superstep = step + 1 + superstepsOfInput;
  return {
    superstep: superstep + beginnings.size,
    state: {
      ...state,
      input: null,
      turn_number: (state.turn_number ?? -1) + 1,
      attempt: null,
      attempt_number: 0,
      current_step: null,
      output: null,
      status: "EXECUTING",
      turn: {
        run: "",
        started_at: "",
        elapsed_ms: 0,
        first_superstep: superstep,
        usage_before: state.usage ?? noUsage,
        approach: "",
        draft: null,
        failed_attempts: [],
        failure: null,
      },
    },
  };
}

/**
 * Returns the status from which the next turn begins. A FAILED or CANCELLED turn counts as never begun if its first
 * checkpoint is not stored.
 */
function endedOrNew({ status }: GraphState): GraphState["status"] {
  return status === "FAILED" || status === "CANCELLED" ? "CREATED" : status;
}

/**
 * Returns the checkpoint from which a run would start the thread's next turn.
 *
 * @throws UnfinishedTurnError, TurnLimitError
 */
export async function startOfNextTurn(
  { graph, inspector }: DryRunAgent,
  threadId: string,
): Promise<RunnableConfig> {
  const thread = threadConfig(threadId);
  const maxTurns = inspector.loop.definition.spec.execution_config.max_turns;
  const options = { threadId, everyTurn: false, maxTurns };
  return startOfNewTurn(unwritten(graph, thread), thread, options);
}

/** Returns the checkpoint from which a cancelled turn would resume. @throws NothingToResumeError */
export function startOfCancelled(graph: AgentGraph, threadId: string): Promise<RunnableConfig> {
  return startOfResumption(graph, threadConfig(threadId), threadId);
}

/** Returns the graph with `updateState` disabled. */
function unwritten(graph: AgentGraph, thread: RunnableConfig): AgentGraph {
  return Object.create(graph, { updateState: { value: async () => thread } }) as AgentGraph;
}

import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { ContextReader } from "../../compile/context-reader.ts";
import { boundedParts } from "../../compile/loop/inherited-bounds.ts";
import type { LoopParts } from "../../compile/loop/parts.ts";
import type { NodeResult } from "../../compile/loop/node-body.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { Redactions } from "../../state/redactions.ts";
import { noUsage } from "../../state/usage.ts";
import { startOfNewTurn } from "../../compile/turn-start.ts";
import { startOfResumption } from "../thread-start.ts";
import { threadConfig } from "../run-turn.ts";
import { stateAfter } from "./graph-state.ts";

/** An agent whose nodes are looked at. */
export interface LookedAt {
  readonly graph: AgentGraph;
  readonly reader: ContextReader;
  /** What the agents around it have redacted: it knows that as well. */
  readonly inherited: Redactions;
  /** The parts of the agent around, which bound it; null where there is none. */
  readonly around: LoopParts | null;
}

/** What bounds an agent inside: the parts of the one around it, as those around that bound them. */
export function partsInside({ reader, around }: Pick<LookedAt, "reader" | "around">): LoopParts {
  return boundedParts(reader.parts, around);
}

/** Where a turn has come to, without anything having been run or written. */
export interface Reached {
  readonly state: GraphState;
  /** The nodes that are next. */
  readonly next: readonly string[];
  readonly superstep: number;
  /** Requests that a run would make on the way, and whose answers are not known. */
  readonly asked: number;
}

/** The nodes that begin a turn and an attempt: they decide nothing that somebody would have to be asked for. */
const beginnings: ReadonlySet<string> = new Set(["initialize", "plan"]);

export function isBeginning(node: string): boolean {
  return node === "__start__" || beginnings.has(node);
}

/** Supersteps in which LangGraph takes an input and hands it to the first node. */
const superstepsOfInput = 2;

/** What is next once a turn that is being begun has been. @throws what its nodes throw */
export async function passBeginning(
  { graph, reader, inherited, around }: LookedAt,
  from: { readonly state: GraphState; readonly node: string; readonly superstep: number },
): Promise<Reached> {
  let { state, node, superstep } = from;
  let asked = 0;
  if (node === "__start__") node = "initialize";
  for (;;) {
    const { result, asked: more } = await reader.lookAt(state, {
      node,
      superstep,
      inherited,
      around,
    });
    asked += more;
    state = stateAfter(graph, state, writtenBy(result, { state, node, superstep }));
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
  at: { readonly state: GraphState; readonly node: string; readonly superstep: number },
): GraphUpdate {
  const begins = at.node === "initialize";
  const elapsed_ms = begins ? 0 : (at.state.turn?.elapsed_ms ?? 0);
  return {
    ...update,
    turn: { ...turn, ...(begins && { first_superstep: at.superstep }), elapsed_ms },
  };
}

/** The turn after a state, begun with an input. @throws InvalidInputError, and what the definition's code throws */
export function beginTurn(
  agent: LookedAt,
  { state, step, input }: { readonly state: GraphState; readonly step: number; input: unknown },
): Promise<Reached> {
  const begun = { ...state, input, status: endedOrNew(state) };
  return passBeginning(agent, {
    state: begun,
    node: "initialize",
    superstep: step + 1 + superstepsOfInput,
  });
}

/** The same of a standard loop before its request is known: only that is missing. */
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

/** A turn that FAILED is begun after like one that was never there, where what it began from is not kept. */
function endedOrNew({ status }: GraphState): GraphState["status"] {
  return status === "FAILED" || status === "CANCELLED" ? "CREATED" : status;
}

/**
 * Where a thread's next turn would start, as a run finds it.
 * @throws UnfinishedTurnError, TurnLimitError
 */
export async function startOfNextTurn(
  { graph, reader }: LookedAt,
  threadId: string,
): Promise<RunnableConfig> {
  const thread = threadConfig(threadId);
  const maxTurns = reader.parts.definition.spec.execution_config.max_turns;
  const options = { threadId, everyTurn: false, maxTurns };
  return startOfNewTurn(unwritten(graph, thread), thread, options);
}

/** Where a cancelled turn would go on. @throws NothingToResumeError */
export function startOfCancelled(graph: AgentGraph, threadId: string): Promise<RunnableConfig> {
  return startOfResumption(graph, threadConfig(threadId), threadId);
}

/** The graph, where nothing may be written: what would be is the thread as it is. */
function unwritten(graph: AgentGraph, thread: RunnableConfig): AgentGraph {
  return Object.create(graph, { updateState: { value: async () => thread } }) as AgentGraph;
}

import type { RunnableConfig } from "@langchain/core/runnables";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import type { AgentEventBody } from "../../state/event.ts";
import type { HumanRequest } from "../../state/human-request.ts";
import type { CurrentStep, ToolResult } from "../../state/step-record.ts";
import type { TurnState } from "../../state/turn.ts";
import type { Usage } from "../../state/usage.ts";
import type { AskModel } from "./ask-model.ts";
import type { ContextReading } from "./context-reading.ts";
import type { KeptSummaries } from "./kept-summaries.ts";
import type { CallCount, CallOrigin } from "../turn-calls.ts";
import type { AgentBounds, BoundsAround } from "./inherited-bounds.ts";
import type { LoopParts } from "./parts.ts";
import type { RailDesk } from "./rail-desk.ts";

/** What a node decides: what to write, and which nodes are next. */
export interface NodeResult {
  /** What was spent through the run is added to its usage, and summaries that it had made to those of the thread. */
  readonly update: Omit<GraphUpdate, "turn">;
  readonly turn?: Partial<TurnState>;
  /** An empty list where this branch of the run goes no further. */
  readonly goto: string | readonly string[];
}

/** What a node's body has at hand beside the state. */
export interface NodeRun {
  /** The node's name. */
  readonly node: string;
  /** The agent nodes around it, outermost first. */
  readonly within: readonly string[];
  /** Number of the superstep in its thread. */
  readonly superstep: number;
  /** The agent's, as those of the agents around bound them. */
  readonly parts: LoopParts;
  /** What the agents around let be called in here, outermost first. */
  readonly around: readonly AgentBounds[];
  /** The count of the calls of the agent's turn. */
  readonly calls: CallCount;
  /** What bounds an agent that a node runs inside of it, or the handler of a tool that the node calls. */
  inside(origin: CallOrigin): BoundsAround;
  /** What LangGraph gave the node; pass it on to what runs inside of it. */
  readonly config: RunnableConfig;
  /** What this run asks for instead of the definition. */
  readonly context: RunContext | undefined;
  readonly signal: AbortSignal;
  /** Results of this node's tool calls so far, kept when the node is cut off. */
  readonly ended: ToolResult[];
  /** Steps that this node has begun itself, whose records are kept when it is cut off. */
  readonly begun: CurrentStep[];
  /** Supersteps that LangGraph's recursion limit leaves to this turn, the present one included. */
  readonly superstepsLeft: number;
  /** The guardrails at this node. */
  readonly rails: RailDesk;
  /** Summaries of results that the thread keeps. */
  readonly summaries: KeptSummaries;
  /** Left out, the run is under way; else somebody looks at what its node reads. */
  readonly reading?: ContextReading | undefined;
  readonly ask: AskModel;
  /** Counts what something that ran inside of the node has spent, whatever becomes of the node. */
  spend(usage: Usage): void;
  /** What the node has spent so far. */
  spent(): Usage;
  /**
   * What is written when the node is cut off, by the turn's end, its cancellation or an error of the run; the last call
   * counts. A function is called only then.
   */
  keep(update: NodeResult["update"] | (() => NodeResult["update"])): void;
  /** `of` where the state still has the last turn's numbers. */
  emit(body: AgentEventBody, of?: { turnNumber: number; attemptNumber: number }): void;
  /**
   * Asks a person through a LangGraph interrupt: ends the run by throwing, or returns the answer when it is resumed
   * with one. What was done in the node before runs again then.
   */
  interrupt(request: HumanRequest): unknown;
}

export type NodeBody = (state: GraphState, run: NodeRun) => Promise<NodeResult> | NodeResult;

/**
 * What a node writes about where the turn stands, beside the work that it does; null where it is not its turn.
 *
 * @param state with what somebody has written in place of the node
 * @throws NoRouteError, ExpressionError
 */
export type MoveOn = (
  state: GraphState,
  at: { readonly superstep: number; readonly parts: LoopParts },
) => GraphUpdate | null;

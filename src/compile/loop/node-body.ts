import type { END } from "@langchain/langgraph";
import type { AgentModel, ModelReply, ModelRequest } from "../../models/agent-model.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { AgentEventBody } from "../../state/event.ts";
import type { ToolResult } from "../../state/step-record.ts";
import type { TurnState } from "../../state/turn.ts";
import type { LoopNodeName, LoopParts } from "./parts.ts";

/** What a node decides: what to write, and which node is next. */
export interface NodeResult {
  /** What models cost is added to its usage. */
  readonly update: Omit<GraphUpdate, "turn">;
  readonly turn?: Partial<TurnState>;
  readonly goto: LoopNodeName | typeof END;
}

/** What a node's body has at hand beside the state. */
export interface NodeRun {
  readonly parts: LoopParts;
  readonly signal: AbortSignal;
  /** Results of this node's tool calls so far, kept when the node is cut off. */
  readonly ended: ToolResult[];
  /** Supersteps that LangGraph's recursion limit leaves to this turn, the present one included. */
  readonly superstepsLeft: number;
  model(): Promise<AgentModel> | AgentModel;
  /**
   * Calls the model within the turn's time.
   * @param unseen the reply is for the loop and is not streamed
   */
  ask(model: AgentModel, request: ModelRequest, unseen?: "unseen"): Promise<ModelReply>;
  /** `of` where the state still has the last turn's numbers. */
  emit(body: AgentEventBody, of?: { turnNumber: number; attemptNumber: number }): void;
}

export type NodeBody = (state: GraphState, run: NodeRun) => Promise<NodeResult> | NodeResult;

import type { BaseMessageLike } from "@langchain/core/messages";
import type { CompiledStateGraph, LastValue } from "@langchain/langgraph";
import type { GraphState, GraphUpdate } from "../state/channels.ts";

/** What a graph takes: either of the two. */
type InputChannels = {
  input: LastValue<unknown>;
  messages: LastValue<readonly BaseMessageLike[]>;
};

type OutputChannels = { [Key in keyof GraphState]: LastValue<GraphState[Key]> };

/**
 * An agent as a plain LangGraph graph. It takes `{ input }`, or `{ messages }` whose last human message becomes
 * `input.message`, and returns the state's public channels. Its nodes are those of the standard loop, or those of its
 * workflow between `initialize`, `plan`, `reflect` and `finalize`.
 */
export type AgentGraph = CompiledStateGraph<
  GraphState,
  GraphUpdate,
  string,
  InputChannels,
  OutputChannels
>;

import type { AgentModel, ModelReply, ModelRequest } from "../../models/agent-model.ts";

/**
 * Calls a model within the turn's time, and counts what it costs.
 * @param unseen the reply is for the loop and is not streamed
 */
export type AskModel = (
  model: AgentModel,
  request: ModelRequest,
  unseen?: "unseen",
) => Promise<ModelReply>;

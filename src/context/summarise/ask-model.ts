import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentModel } from "../../models/agent-model.ts";
import type { AskForSummary } from "./summarise-results.ts";

/** Asks a model outside of any run. @param config callbacks and tags; its signal is not looked at */
export function askModel(model: AgentModel, config: RunnableConfig = {}): AskForSummary {
  return async (messages, signal) => {
    const reply = await model.call({ messages }, { ...config, signal });
    return { text: reply.message.text, usage: reply.usage, model: reply.model };
  };
}

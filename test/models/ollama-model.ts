import { HumanMessage } from "@langchain/core/messages";
import type { AgentModel, ModelTool } from "../../src/models/agent-model.ts";
import { createModels, type CreateModelsOptions } from "../../src/models/create-models.ts";
import type { ModelCallError } from "../../src/models/errors.ts";
import type { ModelOptions } from "../../src/models/provider.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import type { OllamaServer } from "../helpers/ollama-server.ts";

export const messages = [new HumanMessage("Hello")];
export const look: ModelTool = {
  name: "look",
  description: "Looks.",
  input_schema: { type: "object", properties: { at: { type: "string" } } },
};
export const lookOnWire = {
  type: "function",
  function: { name: "look", description: "Looks.", parameters: look.input_schema },
};

/** `llama3.2` takes tools, unless another model is named. */
export function modelOn(
  server: Pick<OllamaServer, "url">,
  wanted: ModelOptions & { default_model?: string; fallback_model?: string } = {},
  options: Partial<CreateModelsOptions> = {},
): Promise<AgentModel> {
  const models = createModels({
    env: { OLLAMA_HOST: server.url },
    clock: new ManualClock(),
    maxRetries: 0,
    random: () => 0.5,
    ...options,
  });
  return models.resolve({ default_model: "ollama:llama3.2", ...wanted });
}

/** An address where nobody listens. */
export const nowhere = { url: "http://127.0.0.1:1" };

export function thrownBy(call: Promise<unknown>): Promise<ModelCallError> {
  return call.then(
    () => Promise.reject(new Error("It did not fail.")),
    (thrown: ModelCallError) => thrown,
  );
}

import { UnknownModelError } from "../errors.ts";
import type { ModelProvider } from "../provider.ts";
import { ollama } from "./ollama.ts";
import { anthropic, bedrock, google, groq, mistral } from "./on-demand.ts";
import { openai } from "./openai.ts";

/** `offline:rules`, the deterministic model. Takes every option so that any definition can be tried with it; they change nothing. */
const offline: ModelProvider = {
  options: "any",
  async create({ model }) {
    if (model !== "rules") {
      throw new UnknownModelError(`offline:${model}`, ["offline"], "offline:rules");
    }
    const { OfflineRulesModel } = await import("../offline/offline-model.ts");
    return new OfflineRulesModel();
  },
};

/** By the name before the colon. */
export const builtinProviders: Readonly<Record<string, ModelProvider>> = Object.freeze({
  openai,
  anthropic,
  google,
  mistral,
  groq,
  bedrock,
  ollama,
  offline,
});

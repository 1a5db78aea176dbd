import type { ModelProvider } from "../provider.ts";
import { offline } from "./offline.ts";
import { ollama } from "./ollama.ts";
import { anthropic, google, groq, mistral } from "./on-demand.ts";
import { openai } from "./openai.ts";

/** By the name before the colon. */
export const builtinProviders: Readonly<Record<string, ModelProvider>> = Object.freeze({
  openai,
  anthropic,
  google,
  mistral,
  groq,
  ollama,
  offline,
});

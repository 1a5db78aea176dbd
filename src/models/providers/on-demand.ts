import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { loadProvider, requireKey, type ModelOptionName, type ModelProvider } from "../provider.ts";

interface OnDemand {
  readonly provider: string;
  readonly packageName: string;
  readonly className: string;
  readonly keyVariable: string;
  /** The class's own name of each option it takes. */
  readonly fields: Partial<Record<ModelOptionName, string>>;
}

type ChatModelClass = new (fields: Record<string, unknown>) => BaseChatModel;

/** A provider whose package the user installs when wanted, so that nothing here can be checked against its types. */
function onDemand(about: OnDemand): ModelProvider {
  return {
    options: Object.keys(about.fields) as ModelOptionName[],
    async create({ model, options, env }) {
      const ref = `${about.provider}:${model}`;
      const module = (await loadProvider(
        about.packageName,
        () => import(about.packageName) as Promise<unknown>,
      )) as Record<string, ChatModelClass | undefined>;
      const apiKey = requireKey(env, about.keyVariable, ref);
      const Chat = module[about.className];
      if (Chat === undefined) {
        throw new TypeError(`${about.packageName} has no export ${about.className}.`);
      }
      const fields: Record<string, unknown> = { model, apiKey, maxRetries: 0 };
      for (const [option, field] of Object.entries(about.fields)) {
        const value = options[option as ModelOptionName];
        if (value !== undefined) fields[field] = value;
      }
      return new Chat(fields);
    },
  };
}

export const anthropic = onDemand({
  provider: "anthropic",
  packageName: "@langchain/anthropic",
  className: "ChatAnthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  fields: { temperature: "temperature", max_tokens: "maxTokens", top_p: "topP" },
});

export const google = onDemand({
  provider: "google",
  packageName: "@langchain/google-genai",
  className: "ChatGoogleGenerativeAI",
  keyVariable: "GOOGLE_API_KEY",
  fields: { temperature: "temperature", max_tokens: "maxOutputTokens", top_p: "topP" },
});

export const mistral = onDemand({
  provider: "mistral",
  packageName: "@langchain/mistralai",
  className: "ChatMistralAI",
  keyVariable: "MISTRAL_API_KEY",
  fields: {
    temperature: "temperature",
    max_tokens: "maxTokens",
    top_p: "topP",
    seed: "randomSeed",
  },
});

export const groq = onDemand({
  provider: "groq",
  packageName: "@langchain/groq",
  className: "ChatGroq",
  keyVariable: "GROQ_API_KEY",
  fields: { temperature: "temperature", max_tokens: "maxTokens", top_p: "topP", seed: "seed" },
});

import { loadProvider, requireKey, type ModelProvider } from "../provider.ts";

const publicUrl = "https://api.openai.com/v1";

/**
 * OpenAI, and every server that speaks its chat completions: `base_url`, else OPENAI_BASE_URL, says where. A server
 * named that way needs no key; OPENAI_API_KEY is sent to it when set.
 */
export const openai: ModelProvider = {
  options: ["temperature", "max_tokens", "seed", "top_p", "base_url"],
  async create({ model, options, env }) {
    const named = options.base_url || env["OPENAI_BASE_URL"];
    const apiKey = named
      ? env["OPENAI_API_KEY"] || "not-needed"
      : requireKey(
          env,
          "OPENAI_API_KEY",
          `openai:${model}`,
          ", or name an OpenAI-compatible server that needs none with llm_config.base_url",
        );
    const { ChatOpenAI } = await loadProvider(
      "@langchain/openai",
      () => import("@langchain/openai"),
    );
    const { WholeCompletions } = await import("./whole-completions.ts");
    const fields = {
      model,
      apiKey,
      configuration: { baseURL: named || publicUrl },
      maxRetries: 0,
      streamUsage: true,
      ...(options.temperature !== undefined && { temperature: options.temperature }),
      ...(options.max_tokens !== undefined && { maxTokens: options.max_tokens }),
      ...(options.top_p !== undefined && { topP: options.top_p }),
      ...(options.seed !== undefined && { modelKwargs: { seed: options.seed } }),
    };
    return new ChatOpenAI({ ...fields, completions: new WholeCompletions(fields) });
  },
};

import { loadProvider, type ModelProvider } from "../provider.ts";

/** Models of an Ollama server: OLLAMA_BASE_URL, else OLLAMA_HOST, else http://127.0.0.1:11434. No key. */
export const ollama: ModelProvider = {
  options: [
    "temperature",
    "max_tokens",
    "seed",
    "top_p",
    "num_ctx",
    "num_predict",
    "repeat_last_n",
    "repeat_penalty",
  ],
  async create({ model, options, env }) {
    const { AbortableOllama } = await loadProvider(
      "@langchain/ollama",
      () => import("./abortable-ollama.ts"),
    );
    return new AbortableOllama({
      model,
      baseUrl: env["OLLAMA_BASE_URL"] || hostUrl(env["OLLAMA_HOST"]),
      maxRetries: 0,
      temperature: options.temperature,
      seed: options.seed,
      topP: options.top_p,
      numCtx: options.num_ctx,
      // Ollama's own name for the limit on output tokens is the more exact one where both are given.
      numPredict: options.num_predict ?? options.max_tokens,
      repeatLastN: options.repeat_last_n,
      repeatPenalty: options.repeat_penalty,
    });
  },
};

/** OLLAMA_HOST may be a bare `host:port`, and 0.0.0.0 as the server's own setting. */
function hostUrl(host: string | undefined): string {
  if (host === undefined || host === "") return "http://127.0.0.1:11434";
  const url = /^https?:\/\//.test(host) ? host : `http://${host}`;
  return url.replace("//0.0.0.0", "//127.0.0.1");
}

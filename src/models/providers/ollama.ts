import { validateHeaderName, validateHeaderValue } from "node:http";
import { ModelOptionError } from "../errors.ts";
import { loadProvider, type Env, type ModelOptionName, type ModelProvider } from "../provider.ts";
import type { OllamaClientConfig } from "../provider.ts";
import { ollamaAddress } from "./ollama-address.ts";
import type { OllamaConnectionOptions } from "./ollama-connection.ts";

const options: readonly ModelOptionName[] = [
  "temperature",
  "max_tokens",
  "seed",
  "top_p",
  "num_ctx",
  "num_predict",
  "repeat_last_n",
  "repeat_penalty",
  "ollama_client_config",
];

/**
 * Models of an Ollama server: `ollama_client_config.host`, else OLLAMA_BASE_URL, else OLLAMA_HOST, else
 * http://127.0.0.1:11434. No key, but for https://ollama.com, which is sent OLLAMA_API_KEY.
 */
export const ollama: ModelProvider = {
  options,
  async create({ model, options: wanted, env, clock }) {
    const reached = howReached(`ollama:${model}`, wanted.ollama_client_config ?? {}, env);
    const { AbortableOllama, OllamaConnection } = await loadProvider(
      "@langchain/ollama",
      async () => ({
        ...(await import("./abortable-ollama.ts")),
        ...(await import("./ollama-connection.ts")),
      }),
    );
    const fields = {
      model,
      baseUrl: reached.url,
      maxRetries: 0,
      temperature: wanted.temperature,
      seed: wanted.seed,
      topP: wanted.top_p,
      numCtx: wanted.num_ctx,
      // Ollama's own name for the limit on output tokens is the more exact one where both are given.
      numPredict: wanted.num_predict ?? wanted.max_tokens,
      repeatLastN: wanted.repeat_last_n,
      repeatPenalty: wanted.repeat_penalty,
    };
    return new AbortableOllama(fields, new OllamaConnection({ ...reached, clock }));
  },
};

/** @throws ModelOptionError */
function howReached(
  ref: string,
  { host, timeout_ms: timeoutMs, headers = {} }: OllamaClientConfig,
  env: Env,
): Omit<OllamaConnectionOptions, "clock"> {
  const refuse = (name: string, problem: string) =>
    new ModelOptionError(ref, `ollama_client_config.${name}`, options, problem);
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw refuse("timeout_ms", `is ${timeoutMs}: expected milliseconds, more than 0`);
  }
  for (const [name, value] of Object.entries(headers)) {
    const part = unusable(name, value);
    if (part === "name") throw refuse("headers", `has "${name}": that is no name of a header`);
    if (part === "value") {
      throw refuse(
        "headers",
        `has a value for "${name}" that no header can have: expected one line of text`,
      );
    }
  }
  const { url, authorization } = address(ref, host, env);
  const added: Record<string, string> = {};
  const isSaid = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const cloudKey = env["OLLAMA_API_KEY"];
  if (authorization !== null && !isSaid) added["authorization"] = authorization.header;
  else if (cloudKey && !isSaid && new URL(url).origin === "https://ollama.com") {
    added["authorization"] = `Bearer ${cloudKey}`;
  }
  const secrets = authorization === null ? [] : [authorization.header, authorization.password];
  return { url, headers: { ...added, ...headers }, secrets, timeoutMs };
}

/** @throws ModelOptionError */
function address(ref: string, host: string | undefined, env: Env) {
  const said = [
    ["ollama_client_config.host", host],
    ["OLLAMA_BASE_URL", env["OLLAMA_BASE_URL"]],
    ["OLLAMA_HOST", env["OLLAMA_HOST"]],
    ["default", "127.0.0.1"],
  ] as const;
  const [name, text] = said.find(([, value]) => value) ?? said[3];
  const found = ollamaAddress(text ?? "");
  if (found !== null) return found;
  const shown = text?.replace(/^.*@/, "…@");
  const problem = `is "${shown}": expected a URL, such as http://127.0.0.1:11434, or host:port`;
  throw new ModelOptionError(ref, name, options, problem);
}

function unusable(name: string, value: string): "name" | "value" | null {
  try {
    validateHeaderName(name);
  } catch {
    return "name";
  }
  try {
    validateHeaderValue(name, value);
  } catch {
    return "value";
  }
  return null;
}

import { validateHeaderName, validateHeaderValue } from "node:http";
import { isIPv6 } from "node:net";
import { ModelOptionError } from "../errors.ts";
import {
  checkProviderOptions,
  type Env,
  loadProvider,
  type ModelOptionName,
  type ModelOptions,
  type ModelProvider,
} from "../provider.ts";
import type { OllamaClientConfig } from "../agent-model.ts";
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
  "reasoning_effort",
  "provider_options",
  "ollama_client_config",
];

/** Fields of a request that the engine sets; further ones are options of the model, except `keep_alive` and `think`. */
const reserved = ["model", "messages", "stream", "tools", "format", "options"];

/**
 * Models of an Ollama server: `ollama_client_config.host`, else OLLAMA_BASE_URL, else OLLAMA_HOST, else
 * http://127.0.0.1:11434. No key, but for https://ollama.com, which is sent OLLAMA_API_KEY.
 */
export const ollama: ModelProvider = {
  options,
  async create({ model, options: wanted, env, clock }) {
    const ref = `ollama:${model}`;
    const reached = howReached(ref, wanted.ollama_client_config ?? {}, env);
    const further = checkProviderOptions(ref, wanted.provider_options, { reserved });
    const { AbortableOllama, OllamaConnection } = await loadProvider(
      "@langchain/ollama",
      () => import("./ollama-connection.ts"),
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
    const think = thinkOption(model, wanted.reasoning_effort);
    const extra = { ...(think !== undefined && { think }), ...further };
    return new AbortableOllama(fields, new OllamaConnection({ ...reached, extra, clock }));
  },
  adapter: (wanted) => ({
    // A form and tools exclude each other.
    options: ({ tools = [], format }) => ({
      ...(format !== undefined &&
        tools.length === 0 &&
        wanted.structured_output !== "prompt" && { format: format.schema }),
    }),
    refused: () => false,
  }),
};

/** gpt-oss has levels of thinking, other models think or do not. */
function thinkOption(model: string, effort: ModelOptions["reasoning_effort"]) {
  if (effort === undefined) return undefined;
  if (!/gpt-oss/.test(model)) return effort !== "none";
  return effort === "none" || effort === "minimal" ? "low" : effort === "xhigh" ? "high" : effort;
}

/**
 * Returns the address of a server, and the headers that it is sent.
 * @throws ModelOptionError
 */
export function howReached(
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

/**
 * The address at which an Ollama server is asked, without credentials and without a slash at its end.
 * @param host as in `ollama_client_config`
 * @throws ModelOptionError
 */
export function ollamaUrl(ref: string, host: string | undefined, env: Env): string {
  return address(ref, host, env).url;
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

export interface OllamaAddress {
  /** Without credentials and without a slash at its end. */
  readonly url: string;
  /** What the credentials in the address say, for the Authorization header; null where it has none. */
  readonly authorization: { readonly header: string; readonly password: string } | null;
}

const defaultPort = "11434";

/**
 * Reads a host as Ollama's own programs do: a URL, or `host`, `host:port` or `:port`, with 11434 where no port is said.
 * 0.0.0.0, where a server listens, is asked at 127.0.0.1.
 * @returns null where it is neither
 */
export function ollamaAddress(host: string): OllamaAddress | null {
  const url = parsed(host.trim());
  if (url === null || url.hostname === "") return null;
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return {
    url: `${url.origin}${url.pathname}`.replace(/\/+$/, ""),
    authorization: basic(url),
  };
}

function parsed(host: string): URL | null {
  if (/^https?:\/\//i.test(host)) return read(host);
  if (host === "" || host.includes("://")) return null;
  if (isIPv6(host)) return read(`http://[${host}]:${defaultPort}`);
  const full = host.startsWith(":") ? `127.0.0.1${host}` : host;
  const url = read(`http://${full}`);
  // A port that is said is not to be seen in the URL where it is the protocol's own.
  if (url !== null && url.port === "" && !/:\d+(\/|$)/.test(full)) url.port = defaultPort;
  return url;
}

function read(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}

function basic(url: URL): OllamaAddress["authorization"] {
  if (url.username === "" && url.password === "") return null;
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const header = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return { header, password };
}

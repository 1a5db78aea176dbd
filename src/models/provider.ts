import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Clock } from "../clock.ts";
import type { LlmConfig } from "../definition/schema/agent.ts";
import type { ModelRequest, OllamaClientConfig } from "./agent-model.ts";
import {
  MissingApiKeyError,
  MissingProviderError,
  ModelOptionError,
  UnknownModelError,
} from "./errors.ts";

/** Environment variables, as `process.env` holds them; an empty value counts as unset. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Provider options in `llm_config`, and those of experiments for Ollama's server. */
export interface ModelOptions extends Omit<
  LlmConfig,
  "default_model" | "fallback_model" | "fallback_on" | "timeout" | "continue_truncated"
> {
  readonly ollama_client_config?: OllamaClientConfig;
}
export type ModelOptionName = keyof ModelOptions;

/** Puts requests in the words of one provider, where LangChain has no common ones. */
export interface RequestAdapter {
  /** Options of the call, in the words of the provider's LangChain class. */
  options(request: ModelRequest): Readonly<Record<string, unknown>>;
  /**
   * Returns whether an error refuses the form of an answer, which is then left out of further requests: its server does
   * not know it.
   */
  refused(thrown: unknown): boolean;
}

/** Makes the chat models of one provider. */
export interface ModelProvider {
  /** Options that reach the model; all others are refused by name. `any` takes all, and ignores what it has no use for. */
  readonly options: readonly ModelOptionName[] | "any";
  /**
   * Loads the provider's package on first use. The model it gives must not retry by itself.
   * @throws MissingProviderError, MissingApiKeyError, ModelOptionError
   */
  create(wanted: ProviderRequest): Promise<BaseChatModel>;
  /** Puts requests in the provider's own words. */
  adapter?(options: ModelOptions, of: Pick<ProviderRequest, "model" | "env">): RequestAdapter;
}

export interface ProviderRequest {
  readonly model: string;
  /** Only such as the provider takes. */
  readonly options: ModelOptions;
  readonly env: Env;
  /** For limits of time. */
  readonly clock: Clock;
}

/**
 * Loads a provider's package.
 * @throws MissingProviderError when that package itself is not there
 */
export async function loadProvider<T>(packageName: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    if (isMissing(thrown, packageName)) {
      throw new MissingProviderError(packageName, { cause: thrown });
    }
    throw thrown;
  }
}

function isMissing(thrown: unknown, packageName: string): boolean {
  if (!(thrown instanceof Error)) return false;
  const named = thrown.message.includes(`'${packageName}'`);
  return named && /cannot find (package|module)/i.test(thrown.message);
}

/** @throws MissingApiKeyError */
export function requireKey(env: Env, variable: string, ref: string, hint?: string): string {
  const key = env[variable];
  if (key === undefined || key === "") throw new MissingApiKeyError(ref, variable, hint);
  return key;
}

/**
 * Refuses a user name and password in a URL: Node's fetch refuses to send them, and errors would show them.
 * @param option `base_url`, or the environment variable that holds the URL
 * @throws ModelOptionError
 */
export function refuseCredentials(ref: string, option: string, url: string | undefined): void {
  const { username, password } = url && URL.canParse(url) ? new URL(url) : noCredentials;
  if (username === "" && password === "") return;
  const problem =
    "holds a user name or password: expected a URL without them. Set the API key in the environment";
  throw new ModelOptionError(ref, option, [], problem);
}

const noCredentials = { username: "", password: "" } as const;

/** A `provider:model` string, taken apart. */
export interface ModelRef {
  readonly provider: string;
  /** May hold colons of its own: `ollama:llama3:latest` is the model `llama3:latest`. */
  readonly model: string;
}

/**
 * The first colon splits.
 * @throws UnknownModelError
 */
export function parseModelRef(ref: string, providers: readonly string[]): ModelRef {
  const colon = ref.indexOf(":");
  const provider = colon < 0 ? "" : ref.slice(0, colon).trim();
  const model = ref.slice(colon + 1).trim();
  if (model !== "" && providers.includes(provider)) return { provider, model };
  throw new UnknownModelError(ref, providers, suggest(provider, model, providers));
}

function suggest(provider: string, model: string, providers: readonly string[]): string | null {
  if (provider === "") return withOwner(model, providers);
  // A model's name with a tag, as Ollama's have: `llama3:latest`. No provider has a digit in its name.
  const tagged = withOwner(model === "" ? provider : `${provider}:${model}`, providers);
  if (tagged !== null && /\d/.test(provider)) return tagged;
  const known = nearest(provider.toLowerCase(), providers);
  if (known === null) return tagged;
  return model === "" ? (known === "offline" ? "offline:rules" : null) : `${known}:${model}`;
}

function withOwner(model: string, providers: readonly string[]): string | null {
  const owner = knownModels.find(([pattern]) => pattern.test(model))?.[1];
  return owner !== undefined && providers.includes(owner) ? `${owner}:${model}` : null;
}

/** Whose model a name without a provider most likely is. */
const knownModels: readonly (readonly [RegExp, string])[] = [
  // Ids of Bedrock end with a version: `amazon.nova-lite-v1:0`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
  [
    /^([a-z]{2,4}\.)?(anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai)\.[\w.-]+/i,
    "bedrock",
  ],
  // A name with a tag is one of Ollama's, also for models of others.
  [/^[\w.-]+:(latest|\d+(\.\d+)?[bm]\b.*|(instruct|text|chat|code|cloud)\b.*)$/i, "ollama"],
  [/^(gpt-(?!oss)|o[134](-|$)|chatgpt|text-embedding-(3|ada))/i, "openai"],
  [/^claude/i, "anthropic"],
  [/^(gemini|models\/gemini)/i, "google"],
  [/^(mistral|codestral|ministral|pixtral)/i, "mistral"],
  [
    /^(llama|qwen|gemma|phi|deepseek|gpt-oss|smollm|granite|tinyllama|nomic-embed|mxbai-embed|all-minilm|bge-)/i,
    "ollama",
  ],
  [/^rules$/i, "offline"],
];

function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = 3;
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Bytes of all options of a model as JSON. */
const mostBytes = 64 * 1024;

/**
 * Returns options that are passed through to a provider's API.
 * @throws ModelOptionError
 */
export function checkProviderOptions(
  ref: string,
  given: ModelOptions["provider_options"],
  names: {
    /** Names that the engine sets itself. */
    readonly reserved: readonly string[];
    /** The names that the provider has; null, and left out, for any. */
    readonly allowed?: readonly string[] | null;
  },
): Readonly<Record<string, unknown>> {
  const { reserved, allowed = null } = names;
  if (JSON.stringify(given ?? {}).length > mostBytes) {
    throw new ModelOptionError(ref, "provider_options", [], `is larger than ${mostBytes} bytes`);
  }
  for (const name of Object.keys(given ?? {})) {
    const option = `provider_options.${name}`;
    if (reserved.includes(name)) {
      throw new ModelOptionError(ref, option, [], "cannot be set: Stratagraph sets it itself");
    }
    if (allowed !== null && !allowed.includes(name)) {
      const known = `is not known; expected one of ${allowed.join(", ")}`;
      throw new ModelOptionError(ref, option, allowed, known);
    }
  }
  return given ?? {};
}

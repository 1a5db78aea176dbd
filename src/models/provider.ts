import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Clock } from "../clock.ts";
import type { LlmConfig } from "../definition/schema/agent.ts";
import { MissingApiKeyError, MissingProviderError, UnknownModelError } from "./errors.ts";

/** Environment variables, as `process.env` holds them; an empty value counts as unset. */
export type Env = Readonly<Record<string, string | undefined>>;

/** How an Ollama server is reached. */
export interface OllamaClientConfig {
  /** URL, or `host:port` as in OLLAMA_HOST, instead of what the environment says. Credentials in it are sent as basic authorization. */
  readonly host?: string;
  /** Milliseconds of one request, its stream included, more than 0; retries have as many again. Left out, there is no limit. */
  readonly timeout_ms?: number;
  /** Sent with every request. Their values are secrets: no error says them, and the model does not hold them in what it shows of itself. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Provider options in `llm_config`, and those of experiments for Ollama's server. */
export interface ModelOptions extends Omit<LlmConfig, "default_model" | "fallback_model"> {
  readonly ollama_client_config?: OllamaClientConfig;
}
export type ModelOptionName = keyof ModelOptions;

/** Makes the chat models of one provider. */
export interface ModelProvider {
  /** Options that reach the model; all others are refused by name. `any` takes all, and ignores what it has no use for. */
  readonly options: readonly ModelOptionName[] | "any";
  /**
   * Loads the provider's package on first use. The model it gives must not retry by itself.
   * @throws MissingProviderError, MissingApiKeyError, ModelOptionError
   */
  create(wanted: ProviderRequest): Promise<BaseChatModel>;
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
  if (provider === "") {
    const owner = knownModels.find(([pattern]) => pattern.test(model))?.[1];
    return owner !== undefined && providers.includes(owner) ? `${owner}:${model}` : null;
  }
  const known = nearest(provider.toLowerCase(), providers);
  if (known === null) return null;
  return model === "" ? (known === "offline" ? "offline:rules" : null) : `${known}:${model}`;
}

/** Whose model a name without a provider most likely is. */
const knownModels: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|o[134](-|$)|chatgpt)/i, "openai"],
  [/^claude/i, "anthropic"],
  [/^(gemini|models\/gemini)/i, "google"],
  [/^(mistral|codestral|ministral|pixtral)/i, "mistral"],
  [/^(llama|qwen|gemma|phi|deepseek)/i, "ollama"],
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

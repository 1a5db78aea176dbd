import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Clock } from "../clock.ts";
import type { LlmConfig } from "../definition/schema.ts";
import { MissingApiKeyError, MissingProviderError } from "./errors.ts";

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

/** What `llm_config` can say beside the names of the models, and what experiments say of Ollama's server. */
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

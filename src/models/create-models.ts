import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Clock } from "../clock.ts";
import { canonicalJson } from "../values/json.ts";
import type { AgentModel, ModelSource } from "./agent-model.ts";
import { chatModel, type ChatModel } from "./chat-model.ts";
import { ModelOptionError } from "./errors.ts";
import { meteredModel, type RetryPolicy } from "./metered-model.ts";
import { modelProfile } from "./model-profile.ts";
import { listPrices, priceOf, type PriceTable } from "./prices.ts";
import {
  type Env,
  type ModelOptionName,
  type ModelOptions,
  type ModelProvider,
  parseModelRef,
} from "./provider.ts";
import { builtinProviders } from "./providers/index.ts";
import { redactor } from "./redact.ts";

export interface CreateModelsOptions {
  /** Where keys, base URLs and STRATAGRAPH_MODEL are read from. */
  readonly env: Env;
  /** Waits between retries. */
  readonly clock: Clock;
  /** Used where a definition names no model. Default: STRATAGRAPH_MODEL, else `openai:gpt-4o-mini` with OPENAI_API_KEY, else `offline:rules`. */
  readonly defaultModel?: string;
  /** Further providers by name, or others in place of the built-in ones. */
  readonly providers?: Readonly<Record<string, ModelProvider>>;
  /** Ready chat models by `provider:model`; they come before the providers, and keep their own options. */
  readonly instances?: Readonly<Record<string, BaseChatModel>>;
  /** Prices that add to, or replace, the list prices. */
  readonly prices?: PriceTable;
  /** By `provider:model`: false for a served model that takes no tools, so that the text form is used. Default: what the provider's class can do. */
  readonly toolCalling?: Readonly<Record<string, boolean>>;
  /** By `provider:model`: whether it makes several tool calls in one reply. Default: what is known of it by its name. */
  readonly parallelCalls?: Readonly<Record<string, boolean>>;
  /** Tokens of a model's window by `provider:model`, instead of what is known or assumed. `llm_config.num_ctx` comes before it for Ollama's. */
  readonly windows?: Readonly<Record<string, number>>;
  /** Tries after the first one on rate limits and outages. Default 2. */
  readonly maxRetries?: number;
  /** Milliseconds before the first retry, doubled for each further one. Default 500. */
  readonly retryBackoffMs?: number;
  /** Spreads retries; a number in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** The models of one runtime. Nothing is loaded before a model of its provider is resolved. */
export function createModels(options: CreateModelsOptions): ModelSource {
  const { env, clock } = options;
  const providers = { ...builtinProviders, ...options.providers };
  const names = Object.keys(providers);
  const prices = { ...listPrices, ...options.prices };
  const redact = redactor(env);
  const retry: RetryPolicy = {
    maxRetries: options.maxRetries ?? 2,
    backoffMs: options.retryBackoffMs ?? 500,
    random: options.random ?? Math.random,
  };
  const resolved = new Map<string, Promise<AgentModel>>();
  const fallbackDefault = env["OPENAI_API_KEY"] ? "openai:gpt-4o-mini" : "offline:rules";
  const defaultModel = options.defaultModel || env["STRATAGRAPH_MODEL"] || fallbackDefault;

  function find(ref: string): Found {
    const instance = options.instances?.[ref];
    if (instance !== undefined) {
      return { ref, takes: "any", isItself: false, create: () => Promise.resolve(instance) };
    }
    const { provider: name, model } = parseModelRef(ref, names);
    const provider = providers[name] as ModelProvider;
    return {
      ref: `${name}:${model}`,
      takes: provider.options,
      isItself: provider === builtinProviders[name],
      create: (wanted) => provider.create({ model, options: wanted, env, clock }),
    };
  }

  async function make(found: Found, wanted: ModelOptions): Promise<ChatModel> {
    const toolCalling = options.toolCalling?.[found.ref];
    return chatModel(await found.create(taken(wanted, found.takes)), {
      ref: found.ref,
      price: priceOf(found.ref, prices),
      ...(toolCalling !== undefined && { toolCalling }),
    });
  }

  async function build(ref: string, fallbackRef: string, wanted: ModelOptions) {
    const found = find(ref);
    const other = fallbackRef === "" || fallbackRef === ref ? undefined : find(fallbackRef);
    refuseUntaken(wanted, found, other);
    const chat = await make(found, wanted);
    const fallback = other && (await make(other, wanted));
    const { num_ctx, max_tokens, num_predict } = taken(wanted, found.takes);
    const window = options.windows?.[found.ref];
    return meteredModel({
      chat,
      fallback,
      profile: modelProfile(found.ref, { num_ctx, max_tokens, num_predict, window }),
      parallelCalls: options.parallelCalls?.[found.ref] ?? callsInParallel(found, wanted),
      retry,
      clock,
      redact,
    });
  }

  function callsInParallel({ ref, isItself }: Found, { base_url }: ModelOptions): boolean {
    if (!isItself) return false;
    const server = ref.startsWith("openai:") ? base_url || env["OPENAI_BASE_URL"] : "";
    return parallelCallsOf(ref, server || undefined);
  }

  return {
    resolve({ default_model, fallback_model, ...rest }) {
      const wanted = given(rest);
      const ref = default_model || defaultModel;
      const key = canonicalJson([ref, fallback_model ?? "", wanted]);
      const known = resolved.get(key);
      if (known !== undefined) return known;
      const building = build(ref, fallback_model ?? "", wanted);
      resolved.set(key, building);
      // A package or key that is missing now may be there at the next try.
      building.catch(() => resolved.delete(key));
      return building;
    },
  };
}

interface Found {
  readonly ref: string;
  readonly takes: ModelProvider["options"];
  /** Whether it is made by a built-in provider, so that its name says which model it is. */
  readonly isItself: boolean;
  create(wanted: ModelOptions): Promise<BaseChatModel>;
}

/** The options that are set. */
function given(options: ModelOptions): ModelOptions {
  const set = Object.entries(options).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(set);
}

function taken(wanted: ModelOptions, takes: ModelProvider["options"]): ModelOptions {
  if (takes === "any") return wanted;
  const set = Object.entries(wanted).filter(([name]) => takes.includes(name as ModelOptionName));
  return Object.fromEntries(set);
}

/**
 * An option has to reach at least one of the two models: `num_ctx` is fine where only the fallback is Ollama's.
 * @throws ModelOptionError
 */
function refuseUntaken(wanted: ModelOptions, found: Found, other: Found | undefined): void {
  for (const option of Object.keys(wanted) as ModelOptionName[]) {
    const takers = [found, other].filter(
      (one) => one !== undefined && (one.takes === "any" || one.takes.includes(option)),
    );
    if (takers.length === 0 && found.takes !== "any") {
      throw new ModelOptionError(found.ref, option, found.takes);
    }
  }
}

/** Models that make several calls in one reply by themselves; OpenAI's reasoning models before gpt-5 make one at a time. */
const known = [
  /^openai:(ft:)?gpt-(4o|4\.[15]|[5-9])(?!.*(realtime|transcribe|audio|chat-latest))/,
  /^anthropic:claude-(3-[5-9]|(opus|sonnet|haiku)-[4-9])/,
  /^google:(models\/)?gemini-(1\.5|[2-9])(?!.*(image|tts|audio|live))/,
];

/**
 * Whether a model is known to make several tool calls in one reply.
 * @param baseUrl where it is served, if not by its provider itself: a model of the same name may be any there
 */
export function parallelCallsOf(ref: string, baseUrl?: string): boolean {
  const isServedElsewhere = baseUrl !== undefined && !baseUrl.startsWith("https://api.openai.com/");
  return !isServedElsewhere && known.some((pattern) => pattern.test(ref));
}

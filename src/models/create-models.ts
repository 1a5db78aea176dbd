import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Clock } from "../clock.ts";
import type { LlmConfig } from "../definition/schema/agent.ts";
import { canonicalJson } from "../values/json.ts";
import type { AgentModel, ModelSource } from "./agent-model.ts";
import type { ChatModel } from "./calls/chat-model.ts";
import { CircuitBreaker, type CircuitOptions } from "./calls/circuit-breaker.ts";
import { ModelOptionError } from "./errors.ts";
import { meteredModel, type RetryPolicy } from "./calls/metered-model.ts";
import type { ModelInput } from "./model-inputs.ts";
import { modelProfile } from "./model-profile.ts";
import { listPrices, priceOf, type PriceTable } from "./usage/prices.ts";
import {
  type Env,
  type ModelOptionName,
  type ModelOptions,
  type ModelProvider,
  parseModelRef,
  type RequestAdapter,
} from "./provider.ts";
import { builtinProviders } from "./providers/index.ts";
import { ollamaAddress } from "./providers/ollama.ts";
import { checkPrices, readPrices } from "./usage/read-prices.ts";
import { redactor } from "./redact.ts";
import type { SilenceLimits } from "./calls/token-watch.ts";

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
  /** Prices that add to, or replace, those of `pricesFile` and the list prices. */
  readonly prices?: PriceTable;
  /**
   * Path of a JSON file of prices by `provider:model` that add to, or replace, the list prices; at most 1 MiB. Default:
   * STRATAGRAPH_PRICES, else none.
   */
  readonly pricesFile?: string;
  /** By `provider:model`: false for a served model that takes no tools, so that the text form is used. Default: what the provider's class can do. */
  readonly toolCalling?: Readonly<Record<string, boolean>>;
  /**
   * By `provider:model`: whether it makes several tool calls in one reply. Default: what is known of it by its name, and true
   * after a reply with several calls.
   */
  readonly parallelCalls?: Readonly<Record<string, boolean>>;
  /** Tokens of a model's window by `provider:model`, instead of what is known or assumed. `llm_config.num_ctx` comes before it for Ollama's. */
  readonly windows?: Readonly<Record<string, number>>;
  /** By `provider:model`: the attachments it reads, instead of what is known by its name. */
  readonly inputs?: Readonly<Record<string, readonly ModelInput[]>>;
  /** Tries after the first one on rate limits and outages. Default 2. */
  readonly maxRetries?: number;
  /** Milliseconds before the first retry, doubled for each further one. Default 500. */
  readonly retryBackoffMs?: number;
  /** When the models of a failing provider are skipped, if they have a fallback; false for never. Default: after 5 failures in a row, for 30 seconds. */
  readonly circuitBreaker?: CircuitOptions | false;
  /** Spreads retries; a number in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** Returns the model of definitions that name none. */
export function defaultModelRef({
  defaultModel,
  env,
}: Pick<CreateModelsOptions, "defaultModel" | "env">): string {
  const usual = env["OPENAI_API_KEY"] ? "openai:gpt-4o-mini" : "offline:rules";
  return defaultModel || env["STRATAGRAPH_MODEL"] || usual;
}

/**
 * The models of one runtime. Nothing is loaded before a model of its provider is resolved.
 *
 * @throws InvalidPricesError
 */
export function createModels(options: CreateModelsOptions): ModelSource {
  const { env, clock } = options;
  const providers = { ...builtinProviders, ...options.providers };
  const names = Object.keys(providers);
  const prices = pricesOf(options);
  const redact = redactor(env);
  const retry: RetryPolicy = {
    maxRetries: options.maxRetries ?? 2,
    backoffMs: options.retryBackoffMs ?? 500,
    random: options.random ?? Math.random,
  };
  const circuits =
    options.circuitBreaker === false
      ? undefined
      : new CircuitBreaker(clock, options.circuitBreaker);
  const resolved = new Map<string, Promise<AgentModel>>();
  const defaultModel = defaultModelRef(options);

  function find(ref: string): Found {
    const instance = options.instances?.[ref];
    if (instance !== undefined) {
      const own = { isItself: false, isNetwork: false, adapter: () => undefined };
      return { ref, takes: "any", ...own, create: () => Promise.resolve(instance) };
    }
    const { provider: name, model } = parseModelRef(ref, names);
    const provider = providers[name] as ModelProvider;
    return {
      ref: `${name}:${model}`,
      takes: provider.options,
      isItself: provider === builtinProviders[name],
      isNetwork: provider === builtinProviders[name] && name !== "offline",
      adapter: (wanted) => provider.adapter?.(wanted, { model, env }),
      create: (wanted) => provider.create({ model, options: wanted, env, clock }),
    };
  }

  const knownPrice = (ref: string, wanted: ModelOptions = {}) =>
    priceOf(ref, prices, { isHosted: isOllamaHosted(wanted, env) });

  async function make(
    found: Found,
    wanted: ModelOptions,
    timeout: LlmConfig["timeout"],
  ): Promise<ChatModel> {
    const toolCalling = options.toolCalling?.[found.ref];
    const own = taken(wanted, found.takes);
    const chat = await found.create(own);
    const [{ chatModel }, { normaliseStream }] = await Promise.all([
      import("./calls/chat-model.ts"),
      import("./replies/reply-stream.ts"),
    ]);
    const server = serverOf(own);
    return chatModel(found.isNetwork ? normaliseStream(chat) : chat, {
      ref: found.ref,
      provider: `${found.ref.slice(0, found.ref.indexOf(":"))}${server && ` at ${server}`}`,
      price: knownPrice(found.ref, wanted),
      limits: silenceLimits(found, { timeout, isOwnServer: isOwnServer(found.ref, own, env) }),
      streams: found.isNetwork,
      adapter: found.adapter(own),
      ...(toolCalling !== undefined && { toolCalling }),
    });
  }

  async function build(
    ref: string,
    config: Omit<LlmConfig, "default_model">,
    wanted: ModelOptions,
  ) {
    const found = find(ref);
    const others = fallbackModels(config)
      .filter((one) => one !== ref)
      .map(find);
    refuseUntaken(wanted, [found, ...others]);
    const [chat, ...fallbacks] = await Promise.all(
      [found, ...others].map((one) => make(one, wanted, config.timeout)),
    );
    const { num_ctx, max_tokens, num_predict } = taken(wanted, found.takes);
    const window = options.windows?.[found.ref];
    const inputs = options.inputs?.[found.ref];
    const isSingle = wanted.parallel_tool_calls === false;
    const asSet = isSingle ? false : options.parallelCalls?.[found.ref];
    const model = meteredModel({
      chat: chat as ChatModel,
      fallbacks,
      fallbackOn: config.fallback_on,
      profile: modelProfile(found.ref, {
        num_ctx,
        max_tokens,
        num_predict,
        window,
        inputs,
        price: knownPrice(found.ref, wanted),
      }),
      parallelCalls: asSet ?? callsInParallel(found, wanted),
      retry,
      circuits,
      clock,
      redact,
    });
    return asSet === undefined && !model.parallelCalls ? learningParallelCalls(model) : model;
  }

  function callsInParallel({ ref, isItself }: Found, { base_url }: ModelOptions): boolean {
    if (!isItself) return false;
    const server = ref.startsWith("openai:") ? base_url || env["OPENAI_BASE_URL"] : "";
    return parallelCallsOf(ref, server || undefined);
  }

  return {
    priceOf: (ref) => knownPrice(ref),
    resolve({ default_model, ...config }) {
      const wanted = modelOptions(config);
      const ref = default_model || defaultModel;
      const { fallback_model, fallback_on, timeout } = config;
      const key = canonicalJson([ref, { fallback_model, fallback_on, timeout }, wanted]);
      const known = resolved.get(key);
      if (known !== undefined) return known;
      const building = build(ref, config, wanted);
      resolved.set(key, building);
      // A package or key that is missing now may be there at the next try.
      building.catch(() => resolved.delete(key));
      return building;
    },
  };
}

/** Returns the models that take over, in order. */
export function fallbackModels({ fallback_model: named }: Pick<LlmConfig, "fallback_model">) {
  const models = typeof named === "string" ? [named] : (named ?? []);
  return [...new Set(models.filter((model) => model !== ""))];
}

/** @throws InvalidPricesError */
function pricesOf({ prices, pricesFile, env }: CreateModelsOptions): PriceTable {
  const file = pricesFile || env["STRATAGRAPH_PRICES"];
  return {
    ...listPrices,
    ...(file && readPrices(file)),
    ...(prices && checkPrices(prices, "modelOptions.prices")),
  };
}

/** Whether the models of `ollama` are those of https://ollama.com. */
function isOllamaHosted({ ollama_client_config: config }: ModelOptions, env: Env): boolean {
  const host = config?.host || env["OLLAMA_BASE_URL"] || env["OLLAMA_HOST"];
  const url = host ? ollamaAddress(host)?.url : undefined;
  return url !== undefined && /(^|\.)ollama\.com$/.test(new URL(url).hostname);
}

/** Where options say that the models are served, without credentials; empty where they do not. */
function serverOf({ base_url: url, ollama_client_config: config }: ModelOptions): string {
  if (url !== undefined) return url;
  return config?.host ? (ollamaAddress(config.host)?.url ?? "") : "";
}

interface Found {
  readonly ref: string;
  readonly takes: ModelProvider["options"];
  /** Whether it is made by a built-in provider, so that its name says which model it is. */
  readonly isItself: boolean;
  /** Whether it is asked over a network by a class that streams. */
  readonly isNetwork: boolean;
  adapter(options: ModelOptions): RequestAdapter | undefined;
  create(wanted: ModelOptions): Promise<BaseChatModel>;
}

/** The options of providers that are set. */
function modelOptions(config: Parameters<ModelSource["resolve"]>[0]): ModelOptions {
  const set = Object.entries(config).filter(
    ([name, value]) => value !== undefined && value !== "" && !ownOptions.has(name),
  );
  return Object.fromEntries(set);
}

/** Options of `llm_config` that are about calls, not about a provider. */
const ownOptions: ReadonlySet<string> = new Set<keyof LlmConfig>([
  "default_model",
  "fallback_model",
  "fallback_on",
  "timeout",
  "continue_truncated",
]);

/** Options that a provider without them may ignore, since only the way to a reply changes. */
const preferences: ReadonlySet<string> = new Set<ModelOptionName>([
  "prompt_cache",
  "structured_output",
]);

/** Whether a model of OpenAI's protocol is served elsewhere, often by a machine that reads long prompts slowly. */
function isOwnServer(ref: string, { base_url }: ModelOptions, env: Env): boolean {
  const server = base_url || env["OPENAI_BASE_URL"];
  return ref.startsWith("openai:") && !!server && !server.startsWith("https://api.openai.com/");
}

/** Models that think in silence, and servers that load a model first, are waited for longer. */
const slowToBegin =
  /^(openai:(o\d|gpt-5)|ollama:|google:gemini-(2\.5|[3-9]))|deepseek-r|reason|think|magistral|qwq/;

/** Without `timeout`, a ready chat model has no limits: its own may be longer. */
function silenceLimits(
  { ref, isNetwork }: Found,
  of: { readonly timeout: LlmConfig["timeout"]; readonly isOwnServer: boolean },
): SilenceLimits {
  const { timeout, isOwnServer: isSlow } = of;
  const firstToken = isNetwork ? (isSlow || slowToBegin.test(ref) ? 300 : 60) : null;
  const first = timeout?.first_token_seconds ?? firstToken;
  const between = timeout?.between_tokens_seconds ?? (isNetwork ? 30 : null);
  return {
    firstTokenMs: first === null ? null : first * 1000,
    betweenTokensMs: between === null ? null : between * 1000,
  };
}

function taken(wanted: ModelOptions, takes: ModelProvider["options"]): ModelOptions {
  if (takes === "any") return wanted;
  const set = Object.entries(wanted).filter(
    ([name]) => preferences.has(name) || takes.includes(name as ModelOptionName),
  );
  return Object.fromEntries(set);
}

/**
 * An option has to reach at least one of the models: `num_ctx` is fine where only a fallback is Ollama's.
 * @throws ModelOptionError
 */
function refuseUntaken(wanted: ModelOptions, models: readonly [Found, ...Found[]]): void {
  const [found] = models;
  for (const option of Object.keys(wanted) as ModelOptionName[]) {
    if (preferences.has(option)) continue;
    const isTaken = models.some(({ takes }) => takes === "any" || takes.includes(option));
    if (!isTaken && found.takes !== "any") {
      throw new ModelOptionError(found.ref, option, found.takes);
    }
  }
}

/**
 * Returns the model with `parallelCalls` set as soon as a reply of its own has several tool calls. A reply of its fallback
 * proves nothing of it.
 */
function learningParallelCalls(model: AgentModel): AgentModel {
  if (!model.toolCalling) return model;
  let isProven = model.parallelCalls;
  return {
    ...model,
    get parallelCalls() {
      return isProven;
    },
    async call(request, config) {
      const reply = await model.call(request, config);
      const calls = reply.message.tool_calls?.length ?? 0;
      isProven ||= calls > 1 && reply.model === model.ref;
      return reply;
    },
  };
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

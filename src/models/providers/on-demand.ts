import type { ChatAnthropicInput } from "@langchain/anthropic";
import type { ChatBedrockConverseInput } from "@langchain/aws";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { GoogleGenerativeAIChatInput } from "@langchain/google-genai";
import type { ChatGroqInput } from "@langchain/groq";
import type { ChatMistralAIInput } from "@langchain/mistralai";
import { StratagraphError } from "../../errors.ts";
import { MissingApiKeyError } from "../errors.ts";
import {
  checkProviderOptions,
  loadProvider,
  type ModelOptionName,
  type ModelOptions,
  type ModelProvider,
  refuseCredentials,
  type RequestAdapter,
  requireKey,
} from "../provider.ts";

interface OnDemand<Fields> {
  readonly provider: string;
  readonly packageName: string;
  readonly keyVariable: string;
  /** Where the address is read from, unless `base_url` says it. */
  readonly urlVariable: string;
  readonly publicUrl: string;
  /** The class's own name of each option it takes. */
  readonly fields: FieldNames<Fields>;
  /** Returns the fields of `reasoning_effort`; left out where the provider has none. */
  readonly effort?: (effort: Effort, model: string) => Partial<Fields>;
  /** Returns the fields of `provider_options`. */
  readonly further: (options: Readonly<Record<string, unknown>>) => Partial<Fields>;
  /** The names that `provider_options` may have; null for all but those that the engine sets. */
  readonly furtherNames: readonly string[] | null;
  readonly adapter?: ModelProvider["adapter"];
  /** Loads the class, and with it the package. The model makes each request once, without a time limit of its package. */
  readonly load: () => Promise<
    (access: Access, fields: Partial<Fields>, options: ModelOptions) => BaseChatModel
  >;
}

type Effort = NonNullable<ModelOptions["reasoning_effort"]>;

/** Fields of requests that the engine sets. */
const reserved = ["model", "messages", "system", "stream", "tools", "tool_choice", "max_tokens"];

type FieldNames<Fields> = Readonly<Partial<Record<ModelOptionName, keyof Fields & string>>>;

interface Access {
  readonly model: string;
  readonly apiKey: string;
  /** Without a slash at its end. */
  readonly url: string;
}

/** Milliseconds of a timer that never ends a request: the caller's signal does. */
const longestTimeoutMs = 2 ** 31 - 1;

/** A provider whose package the user installs when wanted. */
function onDemand<Fields>(about: OnDemand<Fields>): ModelProvider {
  return {
    options: [
      ...(Object.keys(about.fields) as ModelOptionName[]),
      ...(about.effort === undefined ? [] : (["reasoning_effort"] as const)),
      ...(about.adapter === undefined ? [] : (["parallel_tool_calls"] as const)),
      "base_url",
      "provider_options",
    ],
    ...(about.adapter !== undefined && { adapter: about.adapter }),
    async create({ model, options, env }) {
      const ref = `${about.provider}:${model}`;
      const { reasoning_effort: effort, provider_options: given } = options;
      const further = checkProviderOptions(ref, given, {
        reserved,
        allowed: about.furtherNames,
      });
      const make = await loadProvider(about.packageName, about.load);
      const apiKey = requireKey(env, about.keyVariable, ref);
      refuseCredentials(ref, "base_url", options.base_url);
      refuseCredentials(ref, about.urlVariable, env[about.urlVariable]);
      const url = options.base_url || env[about.urlVariable] || about.publicUrl;
      return make(
        { model, apiKey, url: url.replace(/\/+$/, "") },
        {
          ...renamed(options, about.fields),
          ...(effort !== undefined && about.effort?.(effort, model)),
          ...(given !== undefined && about.further(further)),
        },
        options,
      );
    },
  };
}

function renamed<Fields>(options: ModelOptions, names: FieldNames<Fields>): Partial<Fields> {
  const given = Object.entries(names).flatMap(([option, field]) => {
    const value = options[option as ModelOptionName];
    return value === undefined ? [] : [[field, value]];
  });
  return Object.fromEntries(given) as Partial<Fields>;
}

/** Tokens of thinking by effort, for models that take a number. */
const thinkingTokens: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
};

/** Claude from 4.6 on chooses itself how long it thinks, by an effort; the ones before take a number of tokens. */
function claudeThinking(effort: Effort, model: string): Partial<ChatAnthropicInput> {
  if (effort === "none") return { thinking: { type: "disabled" } };
  if (/claude-(opus|sonnet|haiku)-(4-[6-9]|[5-9])/.test(model)) {
    const level = effort === "minimal" ? "low" : effort === "xhigh" ? "max" : effort;
    return { thinking: { type: "adaptive" }, outputConfig: { effort: level } };
  }
  const budget_tokens = thinkingTokens[effort];
  return { thinking: { type: "enabled", budget_tokens } };
}

function geminiThinking(effort: Effort, model: string): Partial<GoogleGenerativeAIChatInput> {
  if (/gemini-3/.test(model)) {
    const isLittle = effort === "none" || effort === "minimal" || effort === "low";
    return { thinkingConfig: { thinkingLevel: isLittle ? "LOW" : "HIGH", includeThoughts: true } };
  }
  const thinkingBudget = thinkingTokens[effort];
  return { thinkingConfig: { thinkingBudget, includeThoughts: thinkingBudget > 0 } };
}

/** gpt-oss has three levels; Qwen thinks, or does not. */
function groqThinking(effort: Effort, model: string): Partial<ChatGroqInput> {
  if (!/gpt-oss/.test(model)) return { reasoningEffort: effort === "none" ? "none" : "default" };
  if (effort === "none" || effort === "minimal") return { reasoningEffort: "low" };
  return { reasoningEffort: effort === "xhigh" ? "high" : effort };
}

function claudeRequests(wanted: ModelOptions): RequestAdapter {
  return {
    options: ({ tools = [] }) =>
      tools.length > 0 && wanted.parallel_tool_calls === false
        ? { tool_choice: { type: "auto", disable_parallel_tool_use: true } }
        : {},
    refused: () => false,
  };
}

function parallelOption({ parallel_tool_calls }: ModelOptions, tools: readonly unknown[]) {
  return tools.length > 0 && parallel_tool_calls !== undefined ? { parallel_tool_calls } : {};
}

export const anthropic = onDemand<ChatAnthropicInput>({
  provider: "anthropic",
  packageName: "@langchain/anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  urlVariable: "ANTHROPIC_BASE_URL",
  publicUrl: "https://api.anthropic.com",
  fields: { temperature: "temperature", max_tokens: "maxTokens", top_p: "topP" },
  effort: claudeThinking,
  further: (options) => ({ invocationKwargs: options }),
  furtherNames: null,
  adapter: claudeRequests,
  async load() {
    const { FinishedAnthropic } = await import("./anthropic.ts");
    // Without a timeout of its own the client refuses to ask for more than 21,333 tokens unless they are streamed.
    const clientOptions = { timeout: longestTimeoutMs };
    return ({ url: anthropicApiUrl, ...access }, fields, { prompt_cache: caches = true }) => {
      const own = { anthropicApiUrl, clientOptions, maxRetries: 0 };
      return new FinishedAnthropic({ ...access, ...fields, ...own }, { caches });
    };
  },
});

export const google = onDemand<GoogleGenerativeAIChatInput>({
  provider: "google",
  packageName: "@langchain/google-genai",
  keyVariable: "GOOGLE_API_KEY",
  urlVariable: "GOOGLE_GEMINI_BASE_URL",
  publicUrl: "https://generativelanguage.googleapis.com",
  fields: { temperature: "temperature", max_tokens: "maxOutputTokens", top_p: "topP" },
  effort: geminiThinking,
  further: (options) => options,
  furtherNames: ["topK", "safetySettings", "stopSequences", "thinkingConfig"],
  async load() {
    const { FinishedGoogle } = await import("./google.ts");
    return ({ url: baseUrl, ...access }, fields) =>
      new FinishedGoogle({ ...access, ...fields, baseUrl, maxRetries: 0 });
  },
});

export const mistral = onDemand<ChatMistralAIInput>({
  provider: "mistral",
  packageName: "@langchain/mistralai",
  keyVariable: "MISTRAL_API_KEY",
  urlVariable: "MISTRAL_BASE_URL",
  publicUrl: "https://api.mistral.ai",
  fields: {
    temperature: "temperature",
    max_tokens: "maxTokens",
    top_p: "topP",
    seed: "randomSeed",
  },
  further: (options) => options,
  furtherNames: ["safePrompt", "presencePenalty", "frequencyPenalty"],
  async load() {
    const { FinishedMistral } = await import("./mistral.ts");
    return ({ url: serverURL, ...access }, fields) =>
      new FinishedMistral({ ...access, ...fields, serverURL, maxRetries: 0 });
  },
});

export const groq = onDemand<ChatGroqInput & { readonly seed?: number }>({
  provider: "groq",
  packageName: "@langchain/groq",
  keyVariable: "GROQ_API_KEY",
  urlVariable: "GROQ_BASE_URL",
  publicUrl: "https://api.groq.com",
  fields: { temperature: "temperature", max_tokens: "maxTokens", top_p: "topP", seed: "seed" },
  effort: groqThinking,
  further: (options) => options,
  furtherNames: ["serviceTier", "presencePenalty", "frequencyPenalty", "stop"],
  adapter: (wanted) => ({
    options: ({ tools = [] }) => parallelOption(wanted, tools),
    refused: () => false,
  }),
  async load() {
    const { FinishedGroq } = await import("./groq.ts");
    return ({ url: baseUrl, ...access }, fields) =>
      new FinishedGroq({ ...access, ...fields, baseUrl, timeout: longestTimeoutMs, maxRetries: 0 });
  },
});

/** Variables of which AWS's default chain of credentials needs one. */
const credentialVariables = [
  "AWS_BEARER_TOKEN_BEDROCK",
  "AWS_ACCESS_KEY_ID",
  "AWS_PROFILE",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
const urlVariables = ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"];
const regionVariables = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const bedrockOptions = {
  temperature: "temperature",
  max_tokens: "maxTokens",
  top_p: "topP",
} as const;

/** A model of Bedrock needs a region and the environment has none. */
class MissingRegionError extends StratagraphError {
  readonly code = "missing_region";

  constructor(readonly ref: string) {
    super(`The model "${ref}" needs a region: set the environment variable AWS_REGION.`);
  }
}

/** Amazon Bedrock's Converse API, with the credentials and the region that AWS's own programs find. */
export const bedrock: ModelProvider = {
  options: [...(Object.keys(bedrockOptions) as ModelOptionName[]), "base_url", "provider_options"],
  async create({ model, options, env }) {
    const ref = `bedrock:${model}`;
    const { FinishedBedrock } = await loadProvider("@langchain/aws", () => import("./bedrock.ts"));
    const first = (names: readonly string[]) => names.map((name) => env[name]).find(Boolean);
    if (first(credentialVariables) === undefined) {
      throw new MissingApiKeyError(
        ref,
        "AWS_BEARER_TOKEN_BEDROCK",
        ", or AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
      );
    }
    checkProviderOptions(ref, options.provider_options, { reserved });
    const region = first(regionVariables);
    if (region === undefined) throw new MissingRegionError(ref);
    refuseCredentials(ref, "base_url", options.base_url);
    for (const name of urlVariables) refuseCredentials(ref, name, env[name]);
    const url = options.base_url || first(urlVariables);
    const id = env["AWS_ACCESS_KEY_ID"];
    const secret = env["AWS_SECRET_ACCESS_KEY"];
    const sessionToken = env["AWS_SESSION_TOKEN"];
    const token = env["AWS_BEARER_TOKEN_BEDROCK"];
    return new FinishedBedrock({
      model,
      region,
      ...renamed<ChatBedrockConverseInput>(options, bedrockOptions),
      ...(options.provider_options !== undefined && {
        additionalModelRequestFields: options.provider_options,
      }),
      ...(token && { bedrockBearerToken: token }),
      ...(!token &&
        id &&
        secret && {
          credentials: {
            accessKeyId: id,
            secretAccessKey: secret,
            ...(sessionToken && { sessionToken }),
          },
        }),
      clientOptions: {
        maxAttempts: 1,
        // An endpoint that is set by its name is overwritten by the package.
        ...(url && { endpointProvider: () => ({ url: new URL(url.replace(/\/+$/, "")) }) }),
      },
      maxRetries: 0,
      streamIdleTimeout: 0,
    });
  },
};

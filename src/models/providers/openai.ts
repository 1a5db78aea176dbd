import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { errorMessage } from "../../errors.ts";
import { isRecord } from "../../values/json.ts";
import type { ModelRequest, StructuredAnswer } from "../agent-model.ts";
import { classifyFailure } from "../failure.ts";
import {
  checkProviderOptions,
  type Env,
  loadProvider,
  type ModelOptionName,
  type ModelOptions,
  type ModelProvider,
  refuseCredentials,
  type RequestAdapter,
  requireKey,
} from "../provider.ts";

const publicUrl = "https://api.openai.com/v1";

const options: readonly ModelOptionName[] = [
  "temperature",
  "max_tokens",
  "seed",
  "top_p",
  "base_url",
  "reasoning_effort",
  "verbosity",
  "parallel_tool_calls",
  "provider_options",
];

/**
 * OpenAI, and every server that speaks its chat completions: `base_url`, else OPENAI_BASE_URL, says where. A server
 * named that way needs no key; OPENAI_API_KEY is sent to it when set.
 */
export const openai: ModelProvider = {
  options,
  async create({ model, options: wanted, env }) {
    const named = wanted.base_url || env["OPENAI_BASE_URL"];
    const ref = `openai:${model}`;
    refuseCredentials(ref, "base_url", wanted.base_url);
    refuseCredentials(ref, "OPENAI_BASE_URL", env["OPENAI_BASE_URL"]);
    const apiKey = named
      ? env["OPENAI_API_KEY"] || "not-needed"
      : requireKey(
          env,
          "OPENAI_API_KEY",
          ref,
          ", or name an OpenAI-compatible server that needs none with llm_config.base_url",
        );
    const further = checkProviderOptions(ref, wanted.provider_options, { reserved });
    const { ChatOpenAI } = await loadProvider(
      "@langchain/openai",
      () => import("@langchain/openai"),
    );
    const { WholeCompletions } = await import("./whole-completions.ts");
    const { reasoning_effort: effort } = wanted;
    // LangChain sends an effort to OpenAI's own reasoning models only; other servers have theirs.
    const isReasoning = /^(o\d|gpt-5)(?!-chat)/.test(model);
    const fields = {
      model,
      apiKey,
      configuration: { baseURL: named || publicUrl },
      maxRetries: 0,
      streamUsage: true,
      ...(wanted.temperature !== undefined && { temperature: wanted.temperature }),
      ...(wanted.max_tokens !== undefined && { maxTokens: wanted.max_tokens }),
      ...(wanted.top_p !== undefined && { topP: wanted.top_p }),
      ...(wanted.verbosity !== undefined && { verbosity: wanted.verbosity }),
      ...(effort !== undefined && isReasoning && { reasoning: { effort } }),
      modelKwargs: {
        ...(wanted.seed !== undefined && { seed: wanted.seed }),
        ...(effort !== undefined && !isReasoning && { reasoning_effort: effort }),
        ...further,
      },
    };
    return new ChatOpenAI({ ...fields, completions: new WholeCompletions(fields) });
  },
  adapter: (wanted, { model, env }) => openaiAdapter(model, wanted, env),
};

/** Fields of a request that the engine sets, or that would change what a reply is. */
const reserved = [
  "model",
  "messages",
  "input",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "n",
];

/** Models of OpenAI's that write JSON of a schema. */
const writesSchemas = /^(ft:)?(gpt-(4o|4\.[15]|[5-9])|o[1-9])(?!.*(realtime|transcribe|audio))/;

function openaiAdapter(model: string, wanted: ModelOptions, env: Env): RequestAdapter {
  const server = wanted.base_url || env["OPENAI_BASE_URL"] || publicUrl;
  const isOpenAI = server.startsWith("https://api.openai.com/");
  const { structured_output: mode = "auto" } = wanted;
  let takesFormat = mode === "native" || (mode === "auto" && isOpenAI && writesSchemas.test(model));
  const caches = isOpenAI && wanted.prompt_cache !== false;
  return {
    options: ({ messages, tools = [], format }: ModelRequest) => ({
      ...(format !== undefined && takesFormat && { response_format: responseFormat(format) }),
      ...(caches && { promptCacheKey: cacheKey(messages) }),
      ...(tools.length > 0 &&
        wanted.parallel_tool_calls !== undefined && {
          parallel_tool_calls: wanted.parallel_tool_calls,
        }),
    }),
    refused(thrown) {
      const isRefusal =
        takesFormat &&
        classifyFailure(thrown).reason === "bad_request" &&
        /response_format|json_schema|structured/i.test(errorMessage(thrown));
      if (isRefusal) takesFormat = false;
      return isRefusal;
    },
  };
}

const formats = new WeakMap<StructuredAnswer, object>();

function responseFormat(format: StructuredAnswer): object {
  const known = formats.get(format);
  if (known !== undefined) return known;
  const { name, description, schema } = format;
  const made = {
    type: "json_schema",
    json_schema: { name, description, schema, strict: isStrict(schema) },
  };
  formats.set(format, made);
  return made;
}

/** Keywords that OpenAI enforces; a schema with others is only a hint. */
const strictKeywords = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "const",
  "description",
  "title",
]);

/** Whether OpenAI can enforce a schema: its objects are closed, and require all of their properties. */
function isStrict(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (Object.keys(schema).some((key) => !strictKeywords.has(key))) return false;
  const { type, properties = {}, required = [], additionalProperties, items } = schema;
  if (items !== undefined && !isStrict(items)) return false;
  if (type !== "object") return true;
  if (additionalProperties !== false || !isRecord(properties) || !Array.isArray(required))
    return false;
  return Object.entries(properties).every(
    ([name, one]) => required.includes(name) && isStrict(one),
  );
}

const cacheKeys = new WeakMap<BaseMessage, string>();

/** Requests with the same beginning share a cache where they share this key. It tells nothing of what they say. */
function cacheKey([first]: readonly BaseMessage[]): string | undefined {
  if (first === undefined) return undefined;
  const known = cacheKeys.get(first);
  if (known !== undefined) return known;
  const key = createHash("sha256").update(first.text).digest("hex").slice(0, 32);
  cacheKeys.set(first, key);
  return key;
}

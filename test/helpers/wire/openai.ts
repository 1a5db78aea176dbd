import {
  type Dialect,
  event,
  halves,
  type Refusal,
  type RefusedAs,
  usageOf,
  type WireFinish,
  type WireReply,
  type WireRequest,
  type WireUsage,
  wordFor,
  words,
} from "./script.ts";

/** What differs between servers of chat completions. */
export interface CompletionsForm {
  readonly path: string;
  /** Values of `finish_reason`. */
  readonly finishes: Partial<Record<WireFinish, string>>;
  /** The field of a message, and of a delta, that holds its reasoning. */
  readonly reasoningField: string;
  /** The id of a call. @param number from 1 */
  callId(number: number): string;
  usage(usage: WireUsage): object;
  /** Added to the first chunk of a stream, and to the one with the finish reason. */
  readonly first?: object;
  last?(usage: WireUsage | null): object;
  /** Whether a stream ends with a chunk of the usage alone, for requests that ask for it. */
  readonly usageChunk: boolean;
  refusal(kind: Refusal): { readonly status: number; readonly body: object } | null;
}

const form: CompletionsForm = {
  path: "/v1/chat/completions",
  finishes: { stop: "stop", length: "length", content_filter: "content_filter", refusal: "stop" },
  // OpenAI shows none; its name with DeepSeek and most servers of open models.
  reasoningField: "reasoning_content",
  callId: (number) => `call_${number}`,
  usage: completionsUsage,
  usageChunk: true,
  refusal: (kind) => refusals[kind] ?? null,
};

function refused(status: number, message: string, type: string, code: string | null = null) {
  return { status, body: { error: { message, type, param: null, code } } };
}

const refusals: Partial<Record<Refusal, ReturnType<typeof refused>>> = {
  auth: refused(
    401,
    "Incorrect API key provided: sk-te***cdef. You can find your API key at https://platform.openai.com/account/api-keys.",
    "invalid_request_error",
    "invalid_api_key",
  ),
  forbidden: refused(
    403,
    "Project `proj_1` does not have access to model `gpt-4o`",
    "invalid_request_error",
    "model_not_found",
  ),
  no_model: refused(
    404,
    "The model `gpt-0` does not exist or you do not have access to it.",
    "invalid_request_error",
    "model_not_found",
  ),
  invalid: refused(400, "Invalid type for 'temperature'.", "invalid_request_error", "invalid_type"),
  rate_limit: refused(
    429,
    "Rate limit reached for gpt-4o-mini in organization org-1 on tokens per min (TPM): Limit 200000, Used 199000, Requested 2000. Please try again in 300ms.",
    "tokens",
    "rate_limit_exceeded",
  ),
  quota: refused(
    429,
    "You exceeded your current quota, please check your plan and billing details.",
    "insufficient_quota",
    "insufficient_quota",
  ),
  overflow: refused(
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
    "invalid_request_error",
    "context_length_exceeded",
  ),
  server: refused(
    500,
    "The server had an error while processing your request. Sorry about that!",
    "server_error",
  ),
  overloaded: refused(
    503,
    "That model is currently overloaded with other requests.",
    "server_error",
  ),
  // Azure's.
  content_filter: refused(
    400,
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "invalid_request_error",
    "content_filter",
  ),
};

export function completionsUsage(usage: WireUsage) {
  const { input, output, cached, reasoning } = usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Chat completions as OpenAI publishes them. */
export const openai = completions(form);

export function completions(about: CompletionsForm): Dialect {
  return {
    isChat: ({ method, path }) => method === "POST" && path === about.path,
    isStreamed: ({ body }) => body["stream"] === true,
    streamType: "text/event-stream",
    streamError: event({ error: { message: "The server had an error", type: "server_error" } }),

    whole(reply, request) {
      const usage = usageOf(reply);
      const message = { role: "assistant", ...said(reply, about) };
      return {
        ...head(request, "chat.completion"),
        choices: [{ index: 0, message, finish_reason: finishOf(reply, about), logprobs: null }],
        ...(usage && { usage: about.usage(usage) }),
      };
    },

    stream(reply, request) {
      const usage = usageOf(reply);
      const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
        event({
          ...head(request, "chat.completion.chunk"),
          choices: [{ index: 0, delta, finish_reason, logprobs: null }],
          ...more,
        });
      const { include_usage: isUsageWanted } = (request.body["stream_options"] ?? {}) as {
        readonly include_usage?: boolean;
      };
      const counted = about.usageChunk && isUsageWanted === true && usage !== null;
      return [
        chunk({ role: "assistant", content: "" }, null, about.first),
        ...words(reply.reasoning?.text).map((word) => chunk({ [about.reasoningField]: word })),
        ...words(reply.text).map((word) =>
          chunk(reply.finish === "refusal" ? { refusal: word } : { content: word }),
        ),
        ...callsOf(reply, about).flatMap(({ id, type, function: made }, index) => [
          chunk({
            tool_calls: [{ index, id, type, function: { name: made.name, arguments: "" } }],
          }),
          ...halves(made.args).map((part) =>
            chunk({ tool_calls: [{ index, function: { arguments: part } }] }),
          ),
        ]),
        chunk({}, finishOf(reply, about), about.last?.(usage)),
        ...(counted
          ? [
              event({
                ...head(request, "chat.completion.chunk"),
                choices: [],
                usage: about.usage(usage),
              }),
            ]
          : []),
        "data: [DONE]\n\n",
      ];
    },

    refusal(kind, retryAfter): RefusedAs | null {
      const found = about.refusal(kind);
      if (found === null || retryAfter === undefined) return found;
      return { ...found, headers: { "retry-after": String(retryAfter) } };
    },
  };
}

function said(reply: WireReply, about: CompletionsForm): object {
  const { text = null, reasoning, finish } = reply;
  const tool_calls = callsOf(reply, about).map(({ id, type, function: { name, args } }) => ({
    id,
    type,
    function: { name, arguments: JSON.stringify(args) },
  }));
  return {
    ...(finish === "refusal" ? { content: null, refusal: text } : { content: text }),
    ...(reasoning && { [about.reasoningField]: reasoning.text }),
    ...(tool_calls.length > 0 && { tool_calls }),
  };
}

function callsOf({ calls = [] }: WireReply, about: CompletionsForm) {
  return calls.map(({ id, name, args }, index) => ({
    id: id ?? about.callId(index + 1),
    type: "function" as const,
    function: { name, args },
  }));
}

function finishOf({ finish, calls = [] }: WireReply, { finishes }: CompletionsForm): string {
  return finish === undefined && calls.length > 0
    ? "tool_calls"
    : wordFor(finishes, finish ?? "stop");
}

function head({ body }: WireRequest, object: string) {
  return { id: "chatcmpl-1", object, created: 1_700_000_000, model: body["model"] };
}

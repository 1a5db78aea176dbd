import {
  type Dialect,
  event,
  halves,
  type Refusal,
  usageOf,
  type WireReply,
  type WireRequest,
  wordFor,
  words,
} from "./script.ts";

/** Anthropic's Messages API, version 2023-06-01. */
export const anthropic: Dialect = {
  isChat: ({ method, path, headers }) =>
    method === "POST" && path === "/v1/messages" && headers["anthropic-version"] !== undefined,
  isStreamed: ({ body }) => body["stream"] === true,
  streamType: "text/event-stream",
  streamError: event(failed("overloaded_error", "Overloaded"), "error"),

  whole(reply, request) {
    const ends = { stop_reason: finishOf(reply), stop_sequence: null };
    return { ...head(request), content: blocksOf(reply), ...ends, usage: usage(reply) };
  },

  stream(reply, request) {
    const send = (type: string, data: object = {}) => event({ type, ...data }, type);
    const open = { stop_reason: null, stop_sequence: null, content: [] };
    const { output_tokens, ...read } = usage(reply);
    const blocks = blocksOf(reply).flatMap((block, index) => [
      send("content_block_start", { index, content_block: empty(block) }),
      ...deltas(block).map((delta) => send("content_block_delta", { index, delta })),
      send("content_block_stop", { index }),
    ]);
    const start = { ...head(request), ...open, usage: { ...read, output_tokens: 1 } };
    return [
      send("message_start", { message: start }),
      send("ping"),
      ...blocks,
      send("message_delta", {
        delta: { stop_reason: finishOf(reply), stop_sequence: null },
        // Cumulative.
        usage: { output_tokens },
      }),
      send("message_stop"),
    ];
  },

  refusal(kind, retryAfter) {
    const refused = refusals[kind];
    if (refused === undefined) return null;
    const retry = retryAfter !== undefined && { "retry-after": String(retryAfter) };
    return { ...refused, headers: { "request-id": "req_1", ...retry } };
  },
};

type Block =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: object;
    };

function blocksOf({ text, reasoning, calls = [] }: WireReply): readonly Block[] {
  return [
    ...(reasoning
      ? [
          {
            type: "thinking" as const,
            thinking: reasoning.text,
            signature: reasoning.signature ?? "",
          },
        ]
      : []),
    ...(text === undefined ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ id, name, args }, index) => ({
      type: "tool_use" as const,
      id: id ?? `toolu_${index + 1}`,
      name,
      input: args,
    })),
  ];
}

/** A block as its start shows it. */
function empty(block: Block): object {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "text":
      return { type: "text", text: "" };
    case "tool_use":
      return { ...block, input: {} };
  }
}

function deltas(block: Block): readonly object[] {
  switch (block.type) {
    case "thinking":
      return [
        ...words(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "text":
      return words(block.text).map((text) => ({ type: "text_delta", text }));
    case "tool_use":
      return ["", ...halves(block.input)].map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
  }
}

function finishOf({ finish, calls = [] }: WireReply): string {
  if (finish === undefined && calls.length > 0) return "tool_use";
  const reasons = { stop: "end_turn", length: "max_tokens", refusal: "refusal" };
  return wordFor(reasons, finish ?? "stop");
}

/** Its input tokens are those that no cache has; the output holds those of the reasoning. */
function usage(reply: WireReply) {
  const { input, output, cached = 0 } = usageOf(reply) ?? { input: 0, output: 0 };
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
    service_tier: "standard",
  };
}

function head({ body }: WireRequest) {
  return { id: "msg_1", type: "message", role: "assistant", model: body["model"] };
}

function failed(type: string, message: string) {
  return { type: "error", error: { type, message }, request_id: "req_1" };
}

function refusedAs(status: number, type: string, message: string) {
  return { status, body: failed(type, message) };
}

const refusals: Partial<Record<Refusal, ReturnType<typeof refusedAs>>> = {
  auth: refusedAs(401, "authentication_error", "invalid x-api-key"),
  forbidden: refusedAs(403, "permission_error", "Your API key does not have permission to use it."),
  no_model: refusedAs(404, "not_found_error", "model: claude-0"),
  invalid: refusedAs(400, "invalid_request_error", "temperature: range: 0..1"),
  rate_limit: refusedAs(
    429,
    "rate_limit_error",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
  ),
  quota: refusedAs(
    400,
    "invalid_request_error",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ),
  overflow: refusedAs(
    400,
    "invalid_request_error",
    "prompt is too long: 209000 tokens > 200000 maximum",
  ),
  server: refusedAs(500, "api_error", "Internal server error"),
  overloaded: refusedAs(529, "overloaded_error", "Overloaded"),
  content_filter: refusedAs(
    400,
    "invalid_request_error",
    "Output blocked by content filtering policy",
  ),
};

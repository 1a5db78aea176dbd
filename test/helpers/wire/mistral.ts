import {
  type Dialect,
  event,
  type Refusal,
  usageOf,
  type WireReply,
  wordFor,
  words,
} from "./script.ts";
import { completionsUsage } from "./openai.ts";

/**
 * Mistral's chat completions: ids of nine letters and digits, arguments of a streamed call in one part, the usage in the
 * chunk with the finish reason, and reasoning as blocks of the content.
 */
export const mistral: Dialect = {
  isChat: ({ method, path }) =>
    method === "POST" && /^\/v1\/chat\/completions(#stream)?$/.test(path),
  isStreamed: ({ body }) => body["stream"] === true,
  streamType: "text/event-stream",
  streamError: null,

  whole(reply, { body }) {
    const usage = usageOf(reply);
    const { text = "", reasoning } = reply;
    const content =
      reasoning === undefined ? text : [thinking(reasoning.text), { type: "text", text }];
    const tool_calls = callsOf(reply);
    const message = {
      role: "assistant",
      content,
      tool_calls: tool_calls.length > 0 ? tool_calls : null,
      prefix: false,
    };
    return {
      ...head(body["model"], "chat.completion"),
      choices: [{ index: 0, message, finish_reason: finishOf(reply) }],
      usage: completionsUsage(usage ?? { input: 0, output: 0 }),
    };
  },

  stream(reply, { body }) {
    const usage = usageOf(reply);
    const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
      event({
        ...head(body["model"], "chat.completion.chunk"),
        choices: [{ index: 0, delta, finish_reason }],
        ...more,
      });
    const tool_calls = callsOf(reply).map((call, index) => ({ ...call, index }));
    const end = usage && { usage: completionsUsage(usage) };
    return [
      chunk({ role: "assistant", content: "" }),
      ...words(reply.reasoning?.text).map((word) => chunk({ content: [thinking(word)] })),
      ...words(reply.text).map((word) => chunk({ content: word })),
      tool_calls.length > 0
        ? chunk({ content: "", tool_calls }, finishOf(reply), end ?? {})
        : chunk({ content: "" }, finishOf(reply), end ?? {}),
      "data: [DONE]\n\n",
    ];
  },

  refusal(kind, retryAfter) {
    const refused = refusals[kind];
    if (refused === undefined) return null;
    if (retryAfter === undefined) return refused;
    return { ...refused, headers: { "retry-after": String(retryAfter) } };
  },
};

function thinking(text: string) {
  return { type: "thinking", thinking: [{ type: "text", text }] };
}

function callsOf({ calls = [] }: WireReply) {
  return calls.map(({ id, name, args }, index) => ({
    id: id ?? `call0000${index + 1}`,
    function: { name, arguments: JSON.stringify(args) },
  }));
}

function finishOf({ finish, calls = [] }: WireReply): string {
  if (finish === undefined && calls.length > 0) return "tool_calls";
  return wordFor({ stop: "stop", length: "length" }, finish ?? "stop");
}

function head(model: unknown, object: string) {
  return { id: "cmpl-1", object, created: 1_700_000_000, model };
}

function refusedAs(status: number, message: string, type: string, code: string) {
  return { status, body: { object: "error", message, type, param: null, code } };
}

const refusals: Partial<Record<Refusal, { readonly status: number; readonly body: object }>> = {
  auth: { status: 401, body: { detail: "Unauthorized" } },
  forbidden: { status: 403, body: { detail: "Forbidden" } },
  no_model: refusedAs(400, "Invalid model: mistral-0", "invalid_model", "1500"),
  invalid: {
    status: 422,
    body: {
      object: "error",
      message: { detail: [{ type: "less_than_equal", loc: ["body", "temperature"], msg: "…" }] },
      type: "invalid_request_error",
      param: null,
      code: null,
    },
  },
  rate_limit: refusedAs(429, "Rate limit exceeded", "rate_limited", "1300"),
  quota: {
    status: 402,
    body: { detail: "Your monthly spending limit is reached. Check your plan and billing." },
  },
  overflow: refusedAs(
    400,
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "invalid_request_prompt",
    "3051",
  ),
  server: refusedAs(500, "Internal server error", "internal_server_error", "1000"),
  overloaded: refusedAs(503, "Service unavailable.", "service_unavailable", "3000"),
};

import {
  type Dialect,
  type Refusal,
  usageOf,
  type WireReply,
  type WireRequest,
  wordFor,
  words,
} from "./script.ts";

/** Ollama's `/api/chat`: a line of JSON for each part. */
export const ollama: Dialect = {
  isChat: ({ method, path }) => method === "POST" && path === "/api/chat",
  isStreamed: ({ body }) => body["stream"] !== false,
  streamType: "application/x-ndjson",
  streamError: `${JSON.stringify({ error: "model runner has unexpectedly stopped" })}\n`,

  whole(reply, request) {
    const { text = "", reasoning } = reply;
    const calls = callsOf(reply);
    const message = {
      content: text,
      ...(reasoning && { thinking: reasoning.text }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return { ...line(message, request), ...end(reply) };
  },

  stream(reply, request) {
    const lines = [
      ...words(reply.reasoning?.text).map((thinking) => ({ content: "", thinking })),
      ...words(reply.text).map((content) => ({ content })),
      ...callsOf(reply).map((call) => ({ content: "", tool_calls: [call] })),
    ];
    return [
      ...lines.map((message) => line(message, request)),
      { ...line({ content: "" }, request), ...end(reply) },
    ].map((one) => `${JSON.stringify(one)}\n`);
  },

  refusal(kind, retryAfter) {
    const refused = refusals[kind];
    if (refused === undefined) return null;
    const [status, error] = refused;
    const headers = retryAfter !== undefined && { headers: { "retry-after": String(retryAfter) } };
    return { status, body: { error }, ...headers };
  },
};

function line(message: object, { body }: WireRequest) {
  return {
    model: body["model"],
    created_at: "2026-01-01T00:00:00Z",
    message: { role: "assistant", ...message },
    done: false,
  };
}

function callsOf({ calls = [] }: WireReply) {
  return calls.map(({ id, name, args }, index) => ({
    ...(id !== undefined && { id }),
    function: { index, name, arguments: args },
  }));
}

/** It says `stop` of calls too. */
function end(reply: WireReply) {
  const usage = usageOf(reply);
  return {
    done: true,
    done_reason: wordFor({ stop: "stop", length: "length" }, reply.finish ?? "stop"),
    total_duration: 5_000_000,
    load_duration: 1_000_000,
    ...(usage && { prompt_eval_count: usage.input, eval_count: usage.output }),
  };
}

const refusals: Partial<Record<Refusal, readonly [number, string]>> = {
  auth: [401, "unauthorized"],
  no_model: [404, "model 'llama0' not found"],
  invalid: [400, "invalid options: temperature"],
  rate_limit: [429, "you have reached your hourly usage limit, please upgrade to continue"],
  overflow: [400, "the input length exceeds the context length"],
  server: [500, "llama runner process has terminated: signal: killed"],
  overloaded: [503, "server busy, please try again.  maximum pending requests exceeded"],
};

import {
  type Dialect,
  type Refusal,
  usageOf,
  type WireReply,
  type WireUsage,
  wordFor,
  words,
} from "./script.ts";

/** The Gemini API, v1beta: `generateContent` and `streamGenerateContent?alt=sse`. */
export const google: Dialect = {
  isChat: ({ method, path }) =>
    method === "POST" &&
    /^\/v1(beta)?\/models\/[^/]+:(generateContent|streamGenerateContent\?alt=sse)$/.test(path),
  isStreamed: ({ path }) => path.includes(":streamGenerateContent"),
  streamType: "text/event-stream",
  streamError: event({ error: failed(503, "UNAVAILABLE", "The model is overloaded.") }),

  whole(reply, { path }) {
    const usage = usageOf(reply);
    const end = { ...about(path), ...(usage && { usageMetadata: metadata(usage, usage.output) }) };
    if (reply.finish === "prompt_blocked") return { ...blocked, ...end };
    const parts = partsOf(reply);
    const candidate = { finishReason: finishOf(reply), index: 0, safetyRatings: [] };
    return { candidates: [{ ...(parts.length > 0 && content(parts)), ...candidate }], ...end };
  },

  stream(reply, { path }) {
    const usage = usageOf(reply);
    if (reply.finish === "prompt_blocked") return [event({ ...blocked, ...about(path) })];
    const { reasoning, text, calls = [] } = reply;
    const pieces = [
      ...words(reasoning?.text).map((word) => ({ text: word, thought: true })),
      ...words(text).map((word) => ({ text: word })),
      ...partsOf({ ...reply, calls }).filter((part) => "functionCall" in part),
    ];
    const chunks = pieces.map((part, index) => ({
      candidates: [{ ...content([part]), index: 0 }],
      // The counts grow; those of the reply are known from its end.
      ...(usage && { usageMetadata: metadata(usage, index + 1 === pieces.length ? null : 1) }),
    }));
    const last = {
      candidates: [
        {
          ...(reply.finish !== "content_filter" && content([{ text: "" }])),
          finishReason: finishOf(reply),
          index: 0,
        },
      ],
      ...(usage && { usageMetadata: metadata(usage, usage.output) }),
    };
    return [...chunks, last].map((chunk) => event({ ...chunk, ...about(path) }));
  },

  refusal(kind, retryAfter) {
    const refused = refusals[kind];
    if (refused === undefined || retryAfter === undefined) return refused ?? null;
    // No header, but a detail.
    const retry = { "@type": `${rpc}RetryInfo`, retryDelay: `${retryAfter}s` };
    const { error } = refused.body;
    return { ...refused, body: { error: { ...error, details: [...error.details, retry] } } };
  },
};

const rpc = "type.googleapis.com/google.rpc.";
const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}

function content(parts: readonly object[]) {
  return { content: { parts, role: "model" } };
}

/** The signature of a thought is with the first call, or else with the text. */
function partsOf({ text, reasoning, calls = [] }: WireReply): readonly object[] {
  const signed = reasoning?.signature !== undefined && { thoughtSignature: reasoning.signature };
  return [
    ...(reasoning ? [{ text: reasoning.text, thought: true }] : []),
    ...(text === undefined ? [] : [{ text, ...(calls.length === 0 && signed) }]),
    ...calls.map(({ id, name, args }, index) => ({
      functionCall: { ...(id !== undefined && { id }), name, args },
      ...(index === 0 && signed),
    })),
  ];
}

/** Also of a reply with calls. */
function finishOf({ finish = "stop" }: WireReply): string {
  return wordFor({ stop: "STOP", length: "MAX_TOKENS", content_filter: "SAFETY" }, finish);
}

/** @param sofar tokens of the reply, or null for none yet; the tokens of thoughts are not among them */
function metadata({ input, output, cached, reasoning }: WireUsage, sofar: number | null) {
  const thoughts = reasoning ?? 0;
  const candidates = sofar === output ? output - thoughts : sofar;
  return {
    promptTokenCount: input,
    ...(candidates !== null && { candidatesTokenCount: candidates }),
    totalTokenCount: input + (candidates ?? 0) + thoughts,
    ...(cached !== undefined && { cachedContentTokenCount: cached }),
    ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
  };
}

function about(path: string) {
  const [, modelVersion] = /models\/([^:]+)/.exec(path) ?? [];
  return { modelVersion, responseId: "resp-1" };
}

function failed(code: number, status: string, message: string, details: readonly object[] = []) {
  return { code, message, status, details };
}

function refusedAs(code: number, status: string, message: string, details: readonly object[] = []) {
  return { status: code, body: { error: failed(code, status, message, details) } };
}

function quotaFailure(quotaId: string) {
  return { "@type": `${rpc}QuotaFailure`, violations: [{ quotaId, quotaValue: "10" }] };
}

/** A quota of a minute and one of a day are worded alike. */
const usedUp =
  "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";

const refusals: Partial<Record<Refusal, ReturnType<typeof refusedAs>>> = {
  auth: refusedAs(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
    { "@type": `${rpc}ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" },
  ]),
  forbidden: refusedAs(403, "PERMISSION_DENIED", "The caller does not have permission"),
  no_model: refusedAs(
    404,
    "NOT_FOUND",
    "models/gemini-0 is not found for API version v1beta, or is not supported for generateContent.",
  ),
  invalid: refusedAs(400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.temperature'"),
  rate_limit: refusedAs(429, "RESOURCE_EXHAUSTED", usedUp, [
    quotaFailure("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
  ]),
  quota: refusedAs(429, "RESOURCE_EXHAUSTED", usedUp, [
    quotaFailure("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
  ]),
  overflow: refusedAs(
    400,
    "INVALID_ARGUMENT",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  ),
  server: refusedAs(500, "INTERNAL", "An internal error has occurred. Please retry."),
  overloaded: refusedAs(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
};

import { crc32 } from "node:zlib";
import {
  type Dialect,
  halves,
  type Refusal,
  usageOf,
  type WireReply,
  wordFor,
  words,
} from "./script.ts";

/** Amazon Bedrock's Converse and ConverseStream; a request without a signature, or a bearer token, is no chat. */
export const bedrock: Dialect = {
  isChat: ({ method, path, headers }) =>
    method === "POST" &&
    /^\/model\/[^/]+\/converse(-stream)?$/.test(path) &&
    /^(AWS4-HMAC-SHA256 Credential=.*Signature=[0-9a-f]{64}|Bearer \S+)$/.test(
      String(headers["authorization"]),
    ),
  isStreamed: ({ path }) => path.endsWith("/converse-stream"),
  streamType: "application/vnd.amazon.eventstream",
  streamError: frame(
    {
      ":message-type": "exception",
      ":exception-type": "modelStreamErrorException",
      ":content-type": "application/json",
    },
    { message: "The model stopped", originalStatusCode: 500 },
  ),

  whole(reply) {
    const message = { role: "assistant", content: blocksOf(reply) };
    return { output: { message }, stopReason: finishOf(reply), ...measured(reply) };
  },

  stream(reply) {
    const blocks = blocksOf(reply).flatMap((block, contentBlockIndex) => [
      ...("toolUse" in block
        ? [event("contentBlockStart", { contentBlockIndex, start: started(block.toolUse) })]
        : []),
      ...deltas(block).map((delta) => event("contentBlockDelta", { contentBlockIndex, delta })),
      event("contentBlockStop", { contentBlockIndex }),
    ]);
    return [
      event("messageStart", { role: "assistant" }),
      ...blocks,
      event("messageStop", { stopReason: finishOf(reply) }),
      event("metadata", measured(reply)),
    ];
  },

  refusal(kind, retryAfter) {
    const refused = refusals[kind];
    if (refused === undefined) return null;
    const [status, type, message] = refused;
    const retry = retryAfter !== undefined && { "retry-after": String(retryAfter) };
    return { status, headers: { "x-amzn-errortype": type, ...retry }, body: { message } };
  },
};

interface ToolUse {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: object;
}
type Block =
  | {
      readonly reasoningContent: {
        readonly reasoningText: { readonly text: string; readonly signature?: string };
      };
    }
  | { readonly text: string }
  | { readonly toolUse: ToolUse };

function blocksOf({ text, reasoning, calls = [] }: WireReply): readonly Block[] {
  return [
    ...(reasoning ? [{ reasoningContent: { reasoningText: reasoning } }] : []),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, args }, index) => ({
      toolUse: { toolUseId: id ?? `tooluse_${index + 1}`, name, input: args },
    })),
  ];
}

function started({ toolUseId, name }: ToolUse) {
  return { toolUse: { toolUseId, name } };
}

function deltas(block: Block): readonly object[] {
  if ("text" in block) return words(block.text).map((text) => ({ text }));
  if ("toolUse" in block) {
    return halves(block.toolUse.input).map((input) => ({ toolUse: { input } }));
  }
  const { text, signature } = block.reasoningContent.reasoningText;
  return [
    ...words(text).map((word) => ({ reasoningContent: { text: word } })),
    ...(signature === undefined ? [] : [{ reasoningContent: { signature } }]),
  ];
}

function finishOf({ finish, calls = [] }: WireReply): string {
  if (finish === undefined && calls.length > 0) return "tool_use";
  const reasons = {
    stop: "end_turn",
    length: "max_tokens",
    content_filter: "content_filtered",
    prompt_blocked: "guardrail_intervened",
  };
  return wordFor(reasons, finish ?? "stop");
}

function measured(reply: WireReply) {
  const usage = usageOf(reply);
  const { input = 0, output = 0, cached } = usage ?? {};
  return {
    usage: {
      inputTokens: input - (cached ?? 0),
      outputTokens: output,
      totalTokens: input + output,
      ...(cached !== undefined && { cacheReadInputTokens: cached, cacheWriteInputTokens: 0 }),
    },
    metrics: { latencyMs: 5 },
  };
}

function event(name: string, payload: object): Uint8Array {
  return frame(
    { ":event-type": name, ":content-type": "application/json", ":message-type": "event" },
    payload,
  );
}

/**
 * A message of `application/vnd.amazon.eventstream`: the lengths of all and of the headers, their CRC32, the headers
 * (length and name, type 7 for text, length and value), the payload, the CRC32 of everything before; all big-endian.
 */
function frame(headers: Readonly<Record<string, string>>, payload: object): Uint8Array {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const lengths = Buffer.from([7, 0, 0]);
      lengths.writeUInt16BE(Buffer.byteLength(value), 1);
      return Buffer.concat([
        Buffer.from([Buffer.byteLength(name)]),
        Buffer.from(name),
        lengths,
        Buffer.from(value),
      ]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.concat([uint32(16 + head.length + body.length), uint32(head.length)]);
  const message = Buffer.concat([prelude, uint32(crc32(prelude)), head, body]);
  return Buffer.concat([message, uint32(crc32(message))]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const refusals: Partial<Record<Refusal, readonly [number, string, string]>> = {
  auth: [
    403,
    "UnrecognizedClientException",
    "The security token included in the request is invalid.",
  ],
  forbidden: [403, "AccessDeniedException", "You don't have access to the model."],
  no_model: [404, "ResourceNotFoundException", "Could not resolve the foundation model."],
  invalid: [400, "ValidationException", "The provided model identifier is invalid."],
  rate_limit: [429, "ThrottlingException", "Too many requests, please wait before trying again."],
  quota: [400, "ServiceQuotaExceededException", "Your request exceeds the service quota."],
  overflow: [400, "ValidationException", "Input is too long for requested model."],
  server: [500, "InternalServerException", "The system encountered an unexpected error."],
  overloaded: [503, "ServiceUnavailableException", "Bedrock is unable to process your request."],
};

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server does with the next request. */
export type OpenAIAnswer =
  | { readonly text: string; readonly usage?: OpenAIUsage | null }
  | {
      readonly calls: readonly { readonly name: string; readonly args: object | string }[];
      readonly text?: string;
      readonly usage?: OpenAIUsage | null;
    }
  | {
      readonly status: number;
      readonly message?: string;
      readonly code?: string;
      readonly retryAfter?: number;
    }
  /** Answers 200 with this body instead of a completion. */
  | { readonly body: string; readonly type?: string }
  /** Streams (or begins to write) half of this text, then destroys the socket, or ends the answer as if it were whole. */
  | { readonly half: string; readonly end: "destroyed" | "closed" }
  /** Says nothing, or streams the text of `first`, until `release` is called; then answers with the (further) text. */
  | { readonly silent: Silence; readonly first?: string };

export interface OpenAIUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** One request that waits. */
export class Silence {
  readonly #released = gate<string>();
  readonly #asked = gate<void>();
  readonly #aborted = gate<void>();
  /** When the request has come in. */
  readonly asked = this.#asked.opened;
  /** When the client has given up. */
  readonly aborted = this.#aborted.opened;

  release(text = ""): void {
    this.#released.open(text);
  }

  /** For the server: the text to answer, or null when the client has gone. */
  async wait(response: ServerResponse): Promise<string | null> {
    this.#asked.open();
    const gone = gate<null>();
    response.on("close", () => gone.open(null));
    const text = await Promise.race([this.#released.opened, gone.opened]);
    if (text === null) this.#aborted.open();
    return text;
  }
}

function gate<T>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export interface OpenAIRequest {
  readonly headers: IncomingMessage["headers"];
  readonly body: {
    readonly model: string;
    readonly messages: readonly Record<string, unknown>[];
    readonly tools?: readonly Record<string, unknown>[];
    readonly stream?: boolean;
    readonly [option: string]: unknown;
  };
}

export interface OpenAIServer extends AsyncDisposable {
  /** For `base_url`. */
  readonly url: string;
  /** What came in, in order. */
  readonly requests: readonly OpenAIRequest[];
  /** Adds answers to the queue; a request that finds it empty gets status 500. */
  answer(...answers: OpenAIAnswer[]): void;
  /** Empties the queue. */
  forget(): void;
  close(): Promise<void>;
}

const defaultUsage: OpenAIUsage = { prompt_tokens: 100, completion_tokens: 20 };

/** A server on loopback that speaks `POST /v1/chat/completions`, whole and as a stream, and does what its script says. */
export async function openAIServer(...script: OpenAIAnswer[]): Promise<OpenAIServer> {
  const queue = [...script];
  const requests: OpenAIRequest[] = [];
  const server = createServer((request, response) => {
    void receive(request).then((body) => {
      requests.push({ headers: request.headers, body });
      const missing = { status: 500, message: "The script is at its end" };
      return respond(queue.shift() ?? missing, body, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    answer: (...answers) => void queue.push(...answers),
    forget: () => void queue.splice(0),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function receive(request: IncomingMessage): Promise<OpenAIRequest["body"]> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as OpenAIRequest["body"];
}

async function respond(
  answer: OpenAIAnswer,
  request: OpenAIRequest["body"],
  response: ServerResponse,
): Promise<void> {
  if ("silent" in answer) {
    const { first, silent } = answer;
    const write = first === undefined ? undefined : openStream(request, response);
    write?.({ delta: { role: "assistant", content: "" } });
    for (const word of words(first ?? "")) write?.({ delta: { content: word } });
    const text = await silent.wait(response);
    if (text === null) return;
    if (write === undefined) return respond({ text }, request, response);
    for (const word of words(text)) write({ delta: { content: word } });
    write({ delta: {}, finish_reason: "stop" });
    response.end("data: [DONE]\n\n");
    return;
  }
  if ("status" in answer) return refuse(answer, response);
  if ("body" in answer) {
    response.writeHead(200, { "content-type": answer.type ?? "application/json" });
    response.end(answer.body);
    return;
  }
  if ("half" in answer) return breakOff(answer, request, response);
  const { message, finish } = completion(answer);
  const usage = answer.usage === undefined ? defaultUsage : answer.usage;
  if (request.stream === true) stream(message, finish, usage, request, response);
  else {
    send(response, {
      ...head(request, "chat.completion"),
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
      ...(usage && { usage: { ...usage, total_tokens: total(usage) } }),
    });
  }
}

function refuse(answer: Extract<OpenAIAnswer, { status: number }>, response: ServerResponse): void {
  const { status, retryAfter } = answer;
  response.setHeader("content-type", "application/json");
  if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
  response.writeHead(status);
  const message = answer.message ?? `Scripted status ${answer.status}`;
  response.end(JSON.stringify({ error: { message, type: "scripted", code: answer.code ?? null } }));
}

/** An answer of OpenAI's for a request that is too long. */
export const tooLong: OpenAIAnswer = {
  status: 400,
  code: "context_length_exceeded",
  message:
    "This model's maximum context length is 128000 tokens. Your messages resulted in 200000.",
};

interface Message {
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

function completion(answer: Extract<OpenAIAnswer, { text: string } | { calls: unknown }>): {
  message: Message;
  finish: string;
} {
  if (!("calls" in answer)) return { message: { content: answer.text }, finish: "stop" };
  const tool_calls = answer.calls.map(({ name, args }, i) => ({
    id: `call_${i + 1}`,
    type: "function" as const,
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
  return { message: { content: answer.text ?? null, tool_calls }, finish: "tool_calls" };
}

function stream(
  message: Message,
  finish: string,
  usage: OpenAIUsage | null,
  request: OpenAIRequest["body"],
  response: ServerResponse,
): void {
  const write = openStream(request, response);
  write({ delta: { role: "assistant", content: "" } });
  for (const word of words(message.content ?? "")) write({ delta: { content: word } });
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const { id, type, function: made } = call;
    write({
      delta: { tool_calls: [{ index, id, type, function: { name: made.name, arguments: "" } }] },
    });
    for (const part of halves(made.arguments)) {
      write({ delta: { tool_calls: [{ index, function: { arguments: part } }] } });
    }
  }
  write({ delta: {}, finish_reason: finish });
  const wanted = (request["stream_options"] as { include_usage?: boolean } | undefined)
    ?.include_usage;
  if (usage !== null && wanted === true) {
    const chunk = head(request, "chat.completion.chunk");
    event(response, { ...chunk, choices: [], usage: { ...usage, total_tokens: total(usage) } });
  }
  response.end("data: [DONE]\n\n");
}

function breakOff(
  answer: Extract<OpenAIAnswer, { half: string }>,
  request: OpenAIRequest["body"],
  response: ServerResponse,
): void {
  const [half = ""] = halves(answer.half);
  if (request.stream === true) {
    const write = openStream(request, response);
    write({ delta: { role: "assistant", content: "" } });
    for (const word of words(half)) write({ delta: { content: word } });
  } else {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`{"id":"half","choices":[{"message":{"content":"${half}`);
  }
  if (answer.end === "closed") response.end();
  // Only once what was written is on its way, so that the client has read half of it.
  else response.write("\n", () => response.destroy());
}

function openStream(
  request: OpenAIRequest["body"],
  response: ServerResponse,
): (choice: { delta: object; finish_reason?: string }) => void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return ({ delta, finish_reason = null as string | null }) =>
    event(response, {
      ...head(request, "chat.completion.chunk"),
      choices: [{ index: 0, delta, finish_reason }],
    });
}

function event(response: ServerResponse, data: object): void {
  response.write(`data: ${JSON.stringify(data)}\n\n`);
}

function send(response: ServerResponse, data: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(data));
}

/** Ids of completions: messages with the same id would be taken for one. */
const ids = new WeakMap<OpenAIRequest["body"], string>();
let completions = 0;

function head(request: OpenAIRequest["body"], object: string) {
  const id = ids.get(request) ?? `chatcmpl-${(completions += 1)}`;
  ids.set(request, id);
  return { id, object, created: 1_700_000_000, model: request.model };
}

function words(text: string): readonly string[] {
  return text.match(/\s*\S+/g) ?? [];
}

function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function total(usage: OpenAIUsage): number {
  return usage.prompt_tokens + usage.completion_tokens;
}

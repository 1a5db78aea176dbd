import type { ServerResponse } from "node:http";
import { Silence } from "./openai-server.ts";

/** What the server does with the next chat. A string is a reply of that text. */
export type OllamaAnswer =
  | string
  | {
      readonly text?: string;
      readonly thinking?: string;
      /** Native tool calls; as a stream each comes in a line of its own. */
      readonly calls?: readonly { readonly name: string; readonly args: object }[];
      /** Default `stop`. */
      readonly done_reason?: string;
      /** Null for a server that counts nothing. Default 26 and 3. */
      readonly usage?: OllamaUsage | null;
    }
  /** Refuses with `{"error": …}`; with `page`, as a proxy's HTML instead. */
  | {
      readonly status: number;
      readonly error?: string;
      readonly page?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /**
   * Streams half of this text, then destroys the socket, ends as if it were whole, says an error in a line of the stream,
   * or waits until it is released and goes on with the text it was released with.
   */
  | {
      readonly half: string;
      readonly end: "destroyed" | "closed" | Silence | { readonly error: string };
    }
  /** Writes this, whatever it is, with status 200. */
  | { readonly body: string }
  /** Says nothing until it is released; then answers `then`, or the text it was released with. */
  | { readonly silent: Silence; readonly then?: OllamaAnswer };

export interface OllamaUsage {
  readonly prompt_eval_count: number;
  readonly eval_count: number;
}

/** The body of `POST /api/chat`. */
export interface OllamaChat {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly format?: unknown;
  readonly stream?: boolean;
  readonly think?: boolean;
}

const defaultUsage: OllamaUsage = { prompt_eval_count: 26, eval_count: 3 };

/** The same in every reply, so that equal runs get equal bytes. */
export const createdAt = "2026-01-01T00:00:00Z";
const durations = {
  total_duration: 5_000_000,
  load_duration: 1_000_000,
  prompt_eval_duration: 2_000_000,
  eval_duration: 2_000_000,
};

interface Asked {
  readonly chat: OllamaChat;
  /** Of the chat, from 1. */
  readonly number: number;
}

export async function respond(answer: OllamaAnswer, asked: Asked, response: ServerResponse) {
  if (typeof answer === "string") return respond({ text: answer }, asked, response);
  if ("silent" in answer) {
    const text = await answer.silent.wait(response);
    if (text !== null) await respond(answer.then ?? text, asked, response);
    return;
  }
  if ("status" in answer) {
    const { status, error = `Scripted status ${status}`, page, headers = {} } = answer;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (page === undefined) return send(response, status, { error });
    response.writeHead(status, { "content-type": "text/html" }).end(page);
    return;
  }
  if ("half" in answer) return breakOff(answer, asked, response);
  if ("body" in answer) return void open(response).end(answer.body);
  const { text = "", thinking, calls = [], done_reason = "stop", usage = defaultUsage } = answer;
  const tool_calls = calls.map(({ name, args }, index) => ({
    id: `call_${asked.number}_${index + 1}`,
    function: { index, name, arguments: args },
  }));
  const end = { done: true, done_reason, ...durations, ...usage };
  if (asked.chat.stream === false) {
    const said = { content: text, ...(thinking && { thinking }) };
    const called = tool_calls.length > 0 && { tool_calls };
    send(response, 200, { ...line(asked, { ...said, ...called }), ...end });
    return;
  }
  if (!response.headersSent) open(response);
  for (const word of words(thinking ?? "")) {
    write(response, line(asked, { content: "", thinking: word }));
  }
  for (const word of words(text)) write(response, line(asked, { content: word }));
  for (const call of tool_calls) write(response, line(asked, { content: "", tool_calls: [call] }));
  write(response, { ...line(asked, { content: "" }), ...end });
  response.end();
}

async function breakOff(
  { half, end }: Extract<OllamaAnswer, { half: string }>,
  asked: Asked,
  response: ServerResponse,
): Promise<void> {
  open(response);
  for (const word of words(half.slice(0, Math.ceil(half.length / 2)))) {
    write(response, line(asked, { content: word }));
  }
  if (end instanceof Silence) {
    const text = await end.wait(response);
    if (text !== null) await respond(text, asked, response);
  } else if (end === "closed") response.end();
  // Only once what was written is on its way, so that the client has read half of it.
  else if (end === "destroyed") response.write('{"model":', () => response.destroy());
  else response.end(`${JSON.stringify(end)}\n`);
}

function line({ chat }: Asked, message: object) {
  return {
    model: chat.model,
    created_at: createdAt,
    message: { role: "assistant", ...message },
    done: false,
  };
}

function open(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "content-type": "application/x-ndjson" });
}

function write(response: ServerResponse, data: object): void {
  response.write(`${JSON.stringify(data)}\n`);
}

export function send(response: ServerResponse, status: number, data: object): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(data));
}

function words(text: string): readonly string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

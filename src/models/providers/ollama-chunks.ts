import type { ChatOllama } from "@langchain/ollama";
import { BadReply, BrokenStream } from "../failure.ts";

/** One line of a reply. */
export type ReplyChunk = Awaited<ReturnType<ChatOllama["client"]["chat"]>>;

/**
 * The lines of JSON of `/api/chat`, up to the one that says it is done.
 * @throws BrokenStream when it ends before, when the server says an error in the middle (its status is 200 by then), or
 * when it has loaded or unloaded the model instead of replying; BadReply when it is something else
 */
export async function* replyChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ReplyChunk> {
  let saysAnything = false;
  for await (const line of jsonLines(bytes)) {
    const chunk = asChunk(line);
    const { content, thinking, tool_calls } = chunk.message;
    saysAnything ||= Boolean(content || thinking) || (tool_calls?.length ?? 0) > 0;
    if (chunk.done && !saysAnything && /^(un)?load$/.test(chunk.done_reason ?? "")) {
      throw new BrokenStream(
        `The server ${chunk.done_reason}ed the model and replied nothing (done_reason "${chunk.done_reason}")`,
      );
    }
    yield chunk;
    if (chunk.done) return;
  }
  throw new BrokenStream("The stream ended before the reply was done");
}

function asChunk(line: unknown): ReplyChunk {
  if (typeof line !== "object" || line === null) throw notOllama(JSON.stringify(line));
  const { error, message, done } = line as {
    error?: unknown;
    message?: { content?: unknown } | null;
    done?: unknown;
  };
  if (typeof error === "string") throw new BrokenStream(error);
  if (typeof message === "object" && message !== null) return line as ReplyChunk;
  // A server in between may leave out the empty message at the end.
  if (done === true) {
    return { ...line, message: { role: "assistant", content: "" } } as ReplyChunk;
  }
  throw notOllama(JSON.stringify(line));
}

async function* jsonLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder();
  // Only what is new is searched for line breaks: a line may come in very many parts.
  let open: string[] = [];
  let isBegun = false;
  for await (const part of bytes) {
    const [first = "", ...others] = decoder.decode(part, { stream: true }).split("\n");
    open.push(first);
    for (const next of others) {
      const line = open.join("");
      open = [next];
      if (line.trim() === "") continue;
      yield parsed(line);
      isBegun = true;
    }
  }
  const rest = open.join("");
  if (rest.trim() === "") return;
  try {
    yield JSON.parse(rest);
  } catch {
    if (!isBegun) throw notOllama(rest);
    throw new BrokenStream("The stream ended in the middle of a line");
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw notOllama(line);
  }
}

const shownOfLine = 80;

function notOllama(line: string): BadReply {
  const shown = line.length > shownOfLine ? `${line.slice(0, shownOfLine)}…` : line;
  return new BadReply(
    `Expected lines of JSON with a message, as Ollama's /api/chat sends them; got: ${shown}`,
  );
}

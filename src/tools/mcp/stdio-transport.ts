import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../../clock.ts";
import { headOf } from "../../values/text.ts";
import { hasOwnGroup, signalChild, trackChild } from "./child-processes.ts";
import { answeredRequest, invalidResponse, maxMessageBytes } from "./guarded-fetch.ts";

/** Milliseconds that a process has for ending by itself once its input has ended. */
const graceMs = 500;
/** Milliseconds between SIGTERM and SIGKILL. */
const killAfterMs = 2_000;
/** Milliseconds that pipes are waited for after the process has ended. */
const pipesMs = 1_000;

export interface StdioCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** All of the process's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** The request could not be written to the server's input, so the server has not got it. */
export class NotSentError extends Error {}

export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** The last 20 lines of a stream of text, each cut to 500 characters, whatever is written to it. */
export class TailBuffer {
  readonly #lines: string[] = [];
  #open = "";

  push(text: string): void {
    const [first = "", ...rest] = text.split("\n");
    this.#extend(first);
    for (const line of rest) {
      this.#close();
      this.#extend(line);
    }
  }

  /** Without empty lines. */
  get lines(): readonly string[] {
    return [...this.#lines, this.#open].filter((line) => line.trim() !== "").slice(-maxLines);
  }

  #extend(text: string): void {
    this.#open = headOf(this.#open + headOf(text, maxLineCharacters), maxLineCharacters);
  }

  #close(): void {
    if (this.#open.trim() !== "") this.#lines.push(this.#open.trimEnd());
    if (this.#lines.length > maxLines) this.#lines.shift();
    this.#open = "";
  }
}

/**
 * A server as a child process. The SDK's own transport of this kind, which LangChain's adapter uses, says neither how the
 * process ended nor what it printed, copies the whole of a long message for every chunk of it, ends the process where
 * one message is too long, and leaves what the process itself started.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly stderr = new TailBuffer();
  /** Lines of its output that are no messages; only the first is kept. */
  readonly garbage = { count: 0, first: "" };
  /** Set when the process has ended. */
  end: ProcessEnd | undefined;

  readonly #command: StdioCommand;
  readonly #clock: Clock;
  readonly #parse: (line: string) => JSONRPCMessage;
  readonly #pending = new Set<RequestId>();
  /** Resolves when the process is gone and its output is read. */
  readonly #closed: Promise<void>;
  #finish: () => void = () => {};
  #isFinished = false;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;

  /** `parse` throws for a line that is no message. */
  constructor(
    command: StdioCommand,
    { clock, parse }: { readonly clock: Clock; readonly parse: (line: string) => JSONRPCMessage },
  ) {
    this.#command = command;
    this.#clock = clock;
    this.#parse = parse;
    this.#closed = new Promise((resolve) => (this.#finish = resolve));
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Rejects with Node's error where the process cannot be started. */
  start(): Promise<void> {
    const { command, args, env, cwd } = this.#command;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        env,
        ...(cwd !== undefined && { cwd }),
        stdio: ["pipe", "pipe", "pipe"],
        detached: hasOwnGroup,
        windowsHide: true,
      });
      this.#child = child;
      child.once("spawn", () => {
        trackChild(child);
        resolve();
      });
      child.on("error", (error) => {
        reject(error);
        if (child.pid === undefined) this.#onGone();
      });
      child.once("exit", (exitCode, signal) => {
        this.end = { exitCode, signal };
        // What it started may hold its pipes open, and would be left alone.
        signalChild(child, "SIGKILL");
        const stop = this.#clock.after(pipesMs, () => this.#onGone());
        void this.#closed.then(stop);
      });
      child.once("close", () => this.#onGone());
      this.#read(child);
    });
  }

  /** Rejects with NotSentError; resolves when the message is in the pipe. */
  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.end !== undefined || this.#isFinished) {
      return Promise.reject(new NotSentError("the process has ended"));
    }
    if ("id" in message && "method" in message) this.#pending.add(message.id);
    else if ("method" in message && message.method === "notifications/cancelled") {
      this.#settled(message.params?.["requestId"]);
    }
    return new Promise((resolve, reject) => {
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (error) reject(new NotSentError(error.message));
        else resolve();
      });
    });
  }

  /** Ends its input, then the process: by SIGTERM after half a second, by SIGKILL two seconds later. */
  async close(): Promise<void> {
    await this.#stop(graceMs);
  }

  /** The same for a process that has never answered, which is given no time. */
  async kill(): Promise<void> {
    await this.#stop(0);
  }

  async #stop(grace: number): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || this.#isFinished) return;
    child.stdin.end();
    let cancel = () => {};
    const killLater = () => {
      signalChild(child, "SIGTERM");
      cancel = this.#clock.after(killAfterMs, () => signalChild(child, "SIGKILL"));
    };
    if (grace === 0) killLater();
    else cancel = this.#clock.after(grace, killLater);
    await this.#closed;
    cancel();
  }

  #onGone(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    const child = this.#child;
    child?.stdout.destroy();
    child?.stderr.destroy();
    this.#pending.clear();
    this.#finish();
    this.onclose?.();
  }

  #read(child: ChildProcessByStdio<Writable, Readable, Readable>): void {
    const splitter = new LineSplitter(maxMessageBytes, {
      onLine: (line) => this.#onLine(line),
      onLongLine: (head, tail) => {
        const mebibytes = maxMessageBytes / 1024 / 1024;
        this.#onBroken({ head, tail }, `its answer has more than ${mebibytes} MiB`);
      },
    });
    child.stdout.on("data", (chunk: Buffer) => splitter.push(chunk));
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => this.stderr.push(text));
    // A broken pipe is reported by the end of the process and by failing writes.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on("error", () => {});
  }

  #onLine(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = this.#parse(line);
    } catch {
      const ends = { head: line.slice(0, 512), tail: line.slice(-512) };
      this.#onBroken(ends, "its answer is no JSON-RPC message");
      return;
    }
    if (!("method" in message)) this.#settled(message.id);
    this.onmessage?.(message);
  }

  /** Some servers give numbers back as texts, which the SDK takes for the same. */
  #settled(id: unknown): void {
    this.#pending.delete(typeof id === "string" ? Number(id) : (id as RequestId));
  }

  /** Ends the request that the line was to answer; a line that answers none is passed over. */
  #onBroken(ends: { readonly head: string; readonly tail: string }, problem: string): void {
    this.garbage.count += 1;
    if (this.garbage.count === 1) this.garbage.first = headOf(ends.head, 200);
    const id = answeredRequest(ends, this.#pending);
    if (id === undefined) return;
    this.#pending.delete(id);
    this.onmessage?.(invalidResponse(id, "unreadable", problem));
  }
}

const newline = 0x0a;

/** Bytes that are kept of both ends of a line that is too long. */
const keptBytes = 512;

export interface LineReader {
  onLine(line: string): void;
  /** A line over the limit, of which only its first and last bytes are known. */
  onLongLine(head: string, tail: string): void;
}

/**
 * Splits a stream of bytes into lines without ever holding more than `maxBytes` of one. Each byte is copied once,
 * however many chunks a line comes in.
 */
export class LineSplitter {
  readonly #reader: LineReader;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;
  /** Set while a line that is too long goes by. */
  #skipped: { readonly head: Buffer; tail: Buffer } | undefined;

  constructor(maxBytes: number, reader: LineReader) {
    this.#maxBytes = maxBytes;
    this.#reader = reader;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      this.#extend(chunk.subarray(from, at));
      this.#end();
      from = at + 1;
    }
    this.#extend(chunk.subarray(from));
  }

  #extend(part: Buffer): void {
    if (part.length === 0) return;
    if (this.#skipped !== undefined) {
      this.#skipped.tail = lastOf(Buffer.concat([this.#skipped.tail, lastOf(part)]));
      return;
    }
    this.#chunks.push(part);
    this.#length += part.length;
    if (this.#length <= this.#maxBytes) return;
    const line = Buffer.concat(this.#chunks);
    this.#skipped = { head: Buffer.from(line.subarray(0, keptBytes)), tail: lastOf(line) };
    this.#chunks = [];
    this.#length = 0;
  }

  #end(): void {
    if (this.#skipped !== undefined) {
      const { head, tail } = this.#skipped;
      this.#skipped = undefined;
      this.#reader.onLongLine(head.toString("utf8"), tail.toString("utf8"));
      return;
    }
    const line = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    this.#length = 0;
    this.#reader.onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}

/** A copy, so that the chunk it was part of can be given back. */
function lastOf(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(Math.max(0, bytes.length - keptBytes)));
}

const maxLines = 20;
const maxLineCharacters = 500;

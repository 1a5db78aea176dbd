import process from "node:process";
import { createInterface } from "node:readline";
import type { CliIo, LinePrompt, Sink, StopReason } from "./io.ts";

/** Exit codes of a process that a signal ended, by the shell's convention of 128 plus the signal's number. */
const killedCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** The {@link CliIo} of this process. */
export function processIo(): CliIo {
  const stops = new Set<(reason: StopReason) => void>();
  const stop = (reason: StopReason) => {
    for (const listener of stops) listener(reason);
  };
  return {
    stdout: sinkOf(process.stdout, () => stop("output_closed")),
    stderr: sinkOf(process.stderr, () => {}),
    stdin: process.stdin,
    openPrompt:
      process.stdin.isTTY && process.stdout.isTTY
        ? (options) => openTerminalPrompt(process.stdin, process.stdout, options)
        : null,
    env: process.env,
    cwd: process.cwd(),
    onStop(listener) {
      let stopped = false;
      const once = (reason: StopReason) => {
        if (!stopped) listener(reason);
        stopped = true;
      };
      const onSignal = (signal: "SIGINT" | "SIGTERM") => {
        // A second signal ends the process at once. The exit handlers still release the database's folder.
        if (stopped) process.exit(killedCodes[signal]);
        once(signal);
      };
      stops.add(once);
      process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
      return () => {
        stops.delete(once);
        process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
      };
    },
  };
}

/** A stream that fails, because its reader is gone (EPIPE) or the disk is full, is not written to any more. */
function sinkOf(stream: NodeJS.WriteStream, onBroken: () => void): Sink {
  let broken = false;
  stream.on("error", () => {
    if (broken) return;
    broken = true;
    onBroken();
  });
  return {
    isTerminal: stream.isTTY && process.env["TERM"] !== "dumb",
    get columns() {
      // A terminal that does not know its width says 0.
      return stream.columns || undefined;
    },
    get rows() {
      return stream.rows || undefined;
    },
    write(text) {
      if (!broken) stream.write(text);
    },
  };
}

/** Resolves when everything that was written has been handed to the system. */
export async function flushed(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(drained));
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) resolve();
    else stream.write("", () => resolve());
  });
}

/** Milliseconds in which further lines of a pasted text come. */
const pasteMs = 20;

/** Reads lines with Node's line editor. Lines that are typed or pasted ahead wait for the next question. */
export function openTerminalPrompt(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  { history = [] }: { readonly history?: readonly string[] } = {},
): LinePrompt {
  const editor = createInterface({
    input,
    output,
    terminal: true,
    history: [...history],
    historySize: history.length,
  });
  const ahead: string[] = [];
  let left = false;
  let give: ((line: string | null) => void) | null = null;
  const end = () => {
    left = true;
    give?.(null);
  };
  editor.on("line", (line) => {
    if (give === null) ahead.push(line);
    else give(line);
  });
  // In raw mode Ctrl-C is a key and no signal.
  editor.on("SIGINT", end).on("close", end);
  const nextLine = (signal: AbortSignal) =>
    new Promise<string | null>((resolve) => {
      if (signal.aborted) return resolve(null);
      const abandon = () => give?.(null);
      signal.addEventListener("abort", abandon, { once: true });
      give = (line) => {
        give = null;
        signal.removeEventListener("abort", abandon);
        if (line === null) output.write("\n");
        resolve(line);
      };
    });
  /** The line, with those that follow it in the same piece. A last one that has not ended is waited for. */
  const withPasted = async (first: string, signal: AbortSignal): Promise<string | null> => {
    const lines = [first];
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, pasteMs));
      const more = ahead.splice(0);
      lines.push(...more);
      const isUnended = lines.length > 1 && editor.line !== "" && !left;
      if (!isUnended && more.length === 0) return lines.join("\n");
      if (!isUnended) continue;
      const last = await nextLine(signal);
      if (last === null) return null;
      lines.push(last);
    }
  };
  return {
    async line(text, { signal, prefilled = "", joinsPasted = false }) {
      const typed = ahead.shift();
      if (typed !== undefined) {
        output.write(`${text}${typed}\n`);
        return joinsPasted ? withPasted(typed, signal) : typed;
      }
      if (left || signal.aborted) return null;
      const next = nextLine(signal);
      editor.setPrompt(text);
      editor.prompt();
      if (prefilled !== "") editor.write(prefilled);
      const line = await next;
      return joinsPasted && line !== null ? withPasted(line, signal) : line;
    },
    close() {
      give?.(null);
      editor.close();
    },
  };
}

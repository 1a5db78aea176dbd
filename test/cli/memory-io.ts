import type { CliIo, LinePrompt, Sink, StopReason } from "../../src/cli/io.ts";

export interface MemorySink extends Sink {
  /** What was written since the last time. */
  take(): string;
}

export function memorySink({ isTerminal = false, columns = 80 } = {}): MemorySink {
  let written = "";
  return {
    isTerminal,
    columns: isTerminal ? columns : undefined,
    write(text) {
      written += text;
    },
    take() {
      const text = written;
      written = "";
      return text;
    },
  };
}

export interface MemoryIo extends CliIo {
  readonly stdout: MemorySink;
  readonly stderr: MemorySink;
  /** Does what a signal would. */
  stop(reason: StopReason): void;
  /** How many listen for signals. */
  readonly listening: number;
}

/** A person who types these lines, one for each question. */
export function scriptedPrompt(typed: (string | null)[], sink: MemorySink): LinePrompt {
  return {
    line: async (text, { prefilled = "" }) => {
      const line = typed.shift();
      if (line === undefined) throw new Error(`Nothing is typed after ${text}`);
      sink.write(`${text}[${prefilled}]${line ?? ""}\n`);
      return line;
    },
    close() {},
  };
}

/** A process around the command line that is all in memory. Unless given, its environment is empty: no keys, no database server. */
export function memoryIo(options: {
  readonly cwd: string;
  readonly stdin?: readonly Uint8Array[];
  readonly isTerminal?: boolean;
  /** What is typed on a terminal, line by line; null is Ctrl-C. Left out, nobody can be asked. */
  readonly typed?: readonly (string | null)[];
  readonly env?: CliIo["env"];
}): MemoryIo {
  const stdout = memorySink({ isTerminal: options.isTerminal ?? false });
  const typed = [...(options.typed ?? [])];
  const listeners = new Set<(reason: StopReason) => void>();
  return {
    stdout,
    stderr: memorySink(),
    stdin: (async function* () {
      yield* options.stdin ?? [];
    })(),
    openPrompt: options.typed === undefined ? null : () => scriptedPrompt(typed, stdout),
    env: options.env ?? {},
    cwd: options.cwd,
    onStop(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop(reason) {
      for (const listener of listeners) listener(reason);
    },
    get listening() {
      return listeners.size;
    },
  };
}

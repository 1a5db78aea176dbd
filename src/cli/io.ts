import type { Runtime, RuntimeOptions } from "../app.ts";
import { StratagraphError } from "../errors.ts";

/** Text going out. */
export interface Sink {
  /** Whether lines can be erased and coloured there. */
  readonly isTerminal: boolean;
  /** Columns of the terminal now, or undefined where it is none. */
  readonly columns: number | undefined;
  /** Rows of the terminal now; left out or undefined where they are unknown. */
  readonly rows?: number | undefined;
  write(text: string): void;
}

/** The reason why a command should end early. `output_closed`: the reader of its output is gone. */
export type StopReason = "SIGINT" | "SIGTERM" | "output_closed";

export interface LineOptions {
  readonly signal: AbortSignal;
  readonly prefilled?: string;
  readonly joinsPasted?: boolean;
}

/** Lines that a person types, from when it is made until it is closed. */
export interface LinePrompt {
  /**
   * Shows `text`, and gives the line that is typed after it; null when the person leaves (Ctrl-C, Ctrl-D), or when
   * `signal` aborts. `prefilled` stands there at first, to be edited. With `joinsPasted`, lines that come in one piece,
   * as pasted ones do, are given together, with line feeds between them.
   */
  line(text: string, options: LineOptions): Promise<string | null>;
  close(): void;
}

/** All that the command line knows of the process around it. */
export interface CliIo {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly stdin: AsyncIterable<Uint8Array>;
  /**
   * Begins to read lines from the terminal; null unless both standard input and standard output are one. `history` has
   * lines that the arrow keys call up, newest first.
   */
  readonly openPrompt: ((options?: { readonly history?: readonly string[] }) => LinePrompt) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What relative paths are relative to, and where the embedded database is kept. Absolute. */
  readonly cwd: string;
  /** Creates the runtime on the database of a command. Default: `createRuntime`. */
  readonly openRuntime?: (options: RuntimeOptions) => Promise<Runtime>;
  /** Calls `listener` once when the command is to end early. Returns a function that stops listening. */
  onStop(listener: (reason: StopReason) => void): () => void;
}

/** The command line was used wrongly. */
export class UsageError extends StratagraphError {
  readonly code: string;

  /** `code` says more closely what was wrong, where a caller may want to know. */
  constructor(message: string, code = "usage", options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

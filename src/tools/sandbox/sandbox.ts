/** A piece of JavaScript that is run away from everything else. */
export interface SandboxedCode {
  /** An expression whose value is a function of one argument, which may be async: `(input) => input.a + 1`. */
  readonly source: string;
  /** JSON. */
  readonly input: unknown;
  /** What is said of it in errors: a tool's name. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Milliseconds of running; waiting for a free worker is not counted. At least 1. */
  readonly timeoutMs: number;
  /** Bytes of memory, about 7 MiB of which QuickJS itself takes. Default 32 MiB, at least 16 MiB. */
  readonly memoryBytes?: number;
  /** UTF-8 bytes of the JSON that may come back. Default 16 MiB, at least 1. */
  readonly maxOutputBytes?: number;
  /**
   * Is given what the code wrote to its console when it has ended, well or badly: at most 200 lines of 2,000 characters,
   * and a line that says how many more there were. A run that was aborted, or had to be killed, gives none. What it throws becomes a warning of the process.
   */
  readonly onLog?: (lines: readonly string[]) => void;
}

/** Runs code without network, file system, environment, or anything else of the process; each run begins empty. */
export interface Sandbox {
  /**
   * What the function gives, as JSON; undefined becomes null.
   * @throws SandboxError for whatever the code does wrong or tries in vain; SandboxOptionError; the signal's reason
   */
  run(code: SandboxedCode): Promise<unknown>;
  /** Ends what is under way. A run after that starts it again. */
  close(): Promise<void>;
}

/**
 * Who can mend an error. `usage`: the caller, by changing what was passed (the command line exits with 2 and nothing
 * was written). `run`: no caller; the run itself failed (exit code 1).
 */
export type ErrorKind = "usage" | "run";

/**
 * Base of every error this package throws on purpose. Match on `code`, which is stable over releases; `message` is for
 * people and says what was expected, what came, and what to do. Subclasses carry the facts as readonly fields and live
 * next to the code that throws them.
 */
export abstract class StratagraphError extends Error {
  abstract readonly code: string;
  readonly kind: ErrorKind = "usage";
  /** Whether the same may succeed a little later: a time that was over, a limit of calls, a server that was down. */
  readonly transient: boolean = false;

  /** What was expected and what came, without the advice to callers of the API. */
  readonly #statement: string;

  /** @param options `advice`: what a caller of the API does about it; it ends the message */
  constructor(statement: string, options?: { cause?: unknown; advice?: string }) {
    const { advice, ...cause } = options ?? {};
    super(advice === undefined ? statement : `${statement} ${advice}`, cause);
    this.name = new.target.name;
    this.#statement = statement;
  }

  /** The message without its advice, for callers that advise otherwise, as the command line does. */
  get statement(): string {
    return this.#statement;
  }
}

/** The text of anything that was thrown, for messages and records. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

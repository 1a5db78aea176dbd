/**
 * The origin of an error. `usage`: the caller can fix it by changing the arguments; nothing was written, and the
 * command line exits with 2. `run`: the run itself failed (exit code 1).
 */
export type ErrorKind = "usage" | "run";

/**
 * Base class of every error this package throws on purpose. Match on `code`, which is stable across releases. `message`
 * is for people: the expectation, the value found, and the fix. Subclasses carry the details as readonly fields and
 * live next to the code that throws them.
 */
export abstract class StratagraphError extends Error {
  abstract readonly code: string;
  readonly kind: ErrorKind = "usage";
  /** Whether a retry may succeed: after a timeout, a rate limit or an outage. */
  readonly transient: boolean = false;
  /** Whether the turn that met it stays unfinished, to be resumed from its last checkpoint, instead of ending FAILED. */
  readonly leavesTurnOpen: boolean = false;

  /** The message without the advice to callers of the API. */
  readonly #statement: string;

  /** @param options `advice`: how a caller of the API fixes it; appended to the message */
  constructor(statement: string, options?: { cause?: unknown; advice?: string }) {
    const { advice, ...cause } = options ?? {};
    super(advice === undefined ? statement : `${statement} ${advice}`, cause);
    this.name = new.target.name;
    this.#statement = statement;
  }

  /** The message without its advice, for callers such as the command line that give their own. */
  get statement(): string {
    return this.#statement;
  }
}

/** Returns the message of any thrown value. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

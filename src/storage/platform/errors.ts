import { StratagraphError } from "../../errors.ts";

/** There is no such row, or it belongs to another tenant. */
export class NotFoundError extends StratagraphError {
  readonly code = "not_found";

  constructor(
    /** As in `agent`, `run`. */
    readonly subject: string,
    readonly id: string,
  ) {
    super(`There is no ${subject} ${JSON.stringify(id.slice(0, 100))}.`);
  }
}

/** What is stored does not allow the change. Nothing was written. */
export class ConflictError extends StratagraphError {
  readonly code: string = "conflict";

  constructor(
    readonly subject: string,
    problem: string,
  ) {
    super(problem);
  }
}

/** Another version of the agent became active since the caller read it. Nothing was written. */
export class VersionConflictError extends ConflictError {
  override readonly code = "version_conflict";

  constructor(
    readonly base: string,
    /** The active version; null where none is. */
    readonly current: string | null,
  ) {
    super(
      "agent",
      `Expected the change to be based on the active version ${current ?? "(none is active)"}, got ${base}. Read the agent again.`,
    );
  }
}

/** A text, number or document that cannot be stored. Nothing was written. */
export class InvalidValueError extends StratagraphError {
  readonly code = "invalid_value";

  constructor(
    readonly field: string,
    expected: string,
  ) {
    super(`${field}: expected ${expected}.`);
  }
}

/** A cursor that no page of a list has given. */
export class InvalidCursorError extends StratagraphError {
  readonly code = "invalid_cursor";

  constructor() {
    super("The cursor is not valid. Pass `next` of the previous page, or none for the first page.");
  }
}

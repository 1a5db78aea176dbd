import { StratagraphError } from "../errors.ts";

/** Postgres cuts longer names off without an error, so that two of them may become one. */
const MAX_BYTES = 63;

/** A name that Postgres cannot have: empty, longer than 63 bytes, or with a NUL character. */
export class InvalidIdentifierError extends StratagraphError {
  readonly code = "invalid_identifier";

  constructor(readonly identifier: string) {
    super(
      `Expected a Postgres name of 1 to ${MAX_BYTES} bytes without NUL characters, got ${JSON.stringify(identifier)} ` +
        `(${Buffer.byteLength(identifier)} bytes). Choose another.`,
    );
  }
}

/**
 * A name of a schema, table or column as SQL text: in quotes, its own quotes doubled.
 *
 * @throws {InvalidIdentifierError} for a name that Postgres cannot have.
 */
export function quoteIdentifier(name: string): string {
  if (name === "" || name.includes("\0") || Buffer.byteLength(name) > MAX_BYTES)
    throw new InvalidIdentifierError(name);
  return `"${name.replaceAll('"', '""')}"`;
}

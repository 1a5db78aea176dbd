import type { PGlite, Results } from "@electric-sql/pglite";
import { DatabaseClosedError } from "./errors.ts";
import type { QueryConfig, QueryResult } from "./pool.ts";
import { Session } from "./session.ts";

/** The members of PGlite used here. */
export type PGliteLike = Pick<PGlite, "query" | "exec" | "execProtocolRaw" | "close">;

/** Message of the frontend protocol that asks for ReadyForQuery, whose last byte is the transaction status. */
const SYNC = Uint8Array.of(0x53, 0, 0, 0, 4);
const IDLE = "I".charCodeAt(0);
/** Statements that neither open nor end a transaction: after these alone its status need not be asked for. */
const DATA_COMMANDS = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"]);

/**
 * The one session of a PGlite, opened by the first query that needs it. An opening that fails is tried again by the
 * next query.
 */
export class PGliteConnection {
  readonly #session = new Session();
  #opened: Promise<PGliteLike> | undefined;
  #closed = false;
  #maybeInTransaction = false;

  constructor(
    private readonly open: () => Promise<PGliteLike>,
    private readonly onClose: () => Promise<void>,
  ) {}

  /** @throws {DatabaseBusyError} when the session is not free within `waitMs` milliseconds. */
  async take(waitMs: number): Promise<void> {
    await this.#session.take(waitMs);
    try {
      await this.#database();
    } catch (error) {
      this.#session.give();
      throw error;
    }
  }

  /** Only between {@link take} and {@link give}. */
  async run<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const database = await this.#database();
    const { text, values: configured } = typeof query === "string" ? { text: query } : query;
    const parameters = values ?? configured;
    try {
      const results =
        parameters !== undefined && parameters.length > 0
          ? [await database.query<Row>(text, parameters.map(toParameter))]
          : ((await database.exec(text)) as Results<Row>[]);
      if (results.some(({ command }) => !DATA_COMMANDS.has(command ?? "")))
        this.#maybeInTransaction = true;
      return toResult(results.at(-1)!); // There is at least one, even for empty text.
    } catch (error) {
      this.#maybeInTransaction = true;
      throw withoutParameters(error);
    }
  }

  /** Rolls back a transaction that is still open, then lets the next one in. */
  async give(): Promise<void> {
    try {
      if (!this.#maybeInTransaction) return;
      const database = await this.#database();
      const answer = await database.execProtocolRaw(SYNC);
      if (answer.at(-1) !== IDLE) await database.exec("ROLLBACK");
      this.#maybeInTransaction = false;
    } finally {
      this.#session.give();
    }
  }

  /** Waits for the session, however long it is held. */
  async close(): Promise<void> {
    await this.#session.take(2 ** 31 - 1);
    this.#closed = true;
    this.#session.give();
    try {
      // An opening that failed was reported to the query that asked for it.
      await (await this.#opened?.catch(() => undefined))?.close();
    } finally {
      await this.onClose();
    }
  }

  async #database(): Promise<PGliteLike> {
    if (this.#closed)
      throw new DatabaseClosedError("The database is closed: open it again to query it.");
    this.#opened ??= this.open();
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }
}

function toResult<Row>(result: Results<Row>): QueryResult<Row> {
  return { rows: result.rows, rowCount: result.rowCount ?? null, command: result.command ?? "" };
}

/** Objects become JSON text whatever the column, as in node-postgres; PGlite would write `[object Object]` into text. */
function toParameter(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (
    typeof value !== "object" ||
    Array.isArray(value) ||
    value instanceof Date ||
    ArrayBuffer.isView(value)
  )
    return value;
  return JSON.stringify(value);
}

/** PGlite hangs the statement's values on its errors, where a log would print them: state, messages, secrets. */
function withoutParameters(error: unknown): unknown {
  if (error instanceof Error && "params" in error) delete error.params;
  return error;
}

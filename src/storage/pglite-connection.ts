import type { PGlite, Results } from "@electric-sql/pglite";
import { errorMessage, StratagraphError } from "../errors.ts";
import { DatabaseClosedError, DatabaseUnavailableError } from "./errors.ts";
import { PGliteStatements, type PGliteProtocol } from "./pglite-statements.ts";
import type { QueryConfig, QueryResult } from "./pool.ts";
import { Session } from "./session.ts";
import { endsSession, toDatabaseError } from "./to-database-error.ts";

/** The members of PGlite used here. */
export type PGliteLike = PGliteProtocol & Pick<PGlite, "exec" | "execProtocolRaw" | "close">;

/** Message of the frontend protocol that asks for ReadyForQuery, whose last byte is the transaction status. */
const SYNC = Uint8Array.of(0x53, 0, 0, 0, 4);
const IDLE = "I".charCodeAt(0);
/** Statements that neither open nor end a transaction: after these alone its status need not be asked for. */
const DATA_COMMANDS = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"]);

/**
 * The one session of a PGlite, opened by the first query that needs it. An opening that fails is tried again by the
 * next query. A PGlite that panics (no space for its log, say) is left as it is, since it hangs when it is asked
 * anything more, closing included; the next client gets a new one, which recovers as after a crash.
 */
export class PGliteConnection {
  /** Keys of the locks held by users of this, whichever of its pools they came through. */
  readonly heldLocks = new Set<string>();
  readonly #session = new Session();
  #database: PGliteLike | undefined;
  #statements: PGliteStatements | undefined;
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
      await this.#openIfNeeded();
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
    const database = this.#database;
    if (!database)
      throw new DatabaseUnavailableError("its session was lost before this", null, undefined);
    const config: QueryConfig = typeof query === "string" ? { text: query } : query;
    const { text, name } = config;
    const parameters = (values ?? config.values ?? []).map(toParameter);
    try {
      const results =
        parameters.length > 0
          ? [await this.#statements!.run<Row>({ text, name, values: parameters })]
          : ((await database.exec(text)) as Results<Row>[]);
      if (results.some(({ command }) => !DATA_COMMANDS.has(command ?? "")))
        this.#maybeInTransaction = true;
      return toResult(results.at(-1)!); // There is at least one, even for empty text.
    } catch (error) {
      if (endsSession(error)) this.#database = undefined;
      this.#maybeInTransaction = this.#database !== undefined;
      throw toDatabaseError(error);
    }
  }

  /** Rolls back a transaction that is still open, then lets the next one in. */
  async give(): Promise<void> {
    try {
      if (!this.#maybeInTransaction) return;
      const answer = await this.#database?.execProtocolRaw(SYNC);
      if (answer?.at(-1) !== IDLE) await this.#database?.exec("ROLLBACK");
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
      await this.#database?.close();
    } finally {
      await this.onClose();
    }
  }

  async #openIfNeeded(): Promise<void> {
    if (this.#closed)
      throw new DatabaseClosedError("The database is closed: open it again to query it.");
    try {
      if (this.#database) return;
      const database = await this.open();
      const { protocol } = await import("@electric-sql/pglite");
      this.#statements = new PGliteStatements(database, protocol);
      this.#database = database;
    } catch (error) {
      const named = toDatabaseError(error);
      if (named instanceof StratagraphError) throw named;
      const reason = `PGlite does not open: ${errorMessage(error)}`;
      throw new DatabaseUnavailableError(reason, null, error);
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

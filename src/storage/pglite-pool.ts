import type { PGlite, Results } from "@electric-sql/pglite";
import { errorMessage, StratagraphError } from "../errors.ts";
import {
  DatabaseBusyError,
  DatabaseClosedError,
  DatabaseUnavailableError,
  endsSession,
  isStalePlan,
  toDatabaseError,
} from "./errors.ts";
import {
  type DatabaseClient,
  type DatabasePool,
  type QueryConfig,
  type QueryResult,
  StatementNames,
} from "./pool.ts";

/**
 * A pool with one session: a second client waits until the first is released. So a `pool.query` by code that holds a
 * client waits for itself, and fails with {@link DatabaseBusyError} after `waitMs` milliseconds.
 */
export class PGlitePool implements DatabasePool {
  #ended: Promise<void> | undefined;

  constructor(
    private readonly connection: PGliteConnection,
    private readonly waitMs: number,
    private readonly onEnd: () => Promise<void>,
  ) {}

  get heldLocks(): Set<string> {
    return this.connection.heldLocks;
  }

  async connect(): Promise<DatabaseClient> {
    if (this.#ended)
      throw new DatabaseClosedError("The database is closed: open it again to query it.");
    await this.connection.take(this.waitMs);
    return new PGliteClient(this.connection);
  }

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const client = await this.connect();
    try {
      return await client.query<Row>(query, values);
    } finally {
      client.release();
    }
  }

  end(): Promise<void> {
    return (this.#ended ??= this.onEnd());
  }
}

class PGliteClient implements DatabaseClient {
  readonly pipelines = true;
  #released = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: PGliteConnection) {}

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    if (this.#released)
      throw new DatabaseClosedError("The client was released: take another from the pool.");
    const result = this.#last.then(() => this.connection.run<Row>(query, values));
    this.#last = result.catch(() => undefined);
    return result;
  }

  release(): void {
    if (this.#released) throw new DatabaseClosedError("The client was released before.");
    this.#released = true;
    // Queries that were not awaited end before the session changes hands. A session too broken to roll back says so to
    // the next query.
    void this.#last.then(() => this.connection.give()).catch(() => undefined);
  }
}

/** The members of PGlite used here. */
export type PGliteLike = PGliteProtocol & Pick<PGlite, "exec" | "execProtocolRaw" | "close">;

/** Message of the frontend protocol that asks for ReadyForQuery, whose last byte is the transaction status. */
const SYNC = Uint8Array.of(0x53, 0, 0, 0, 4);
const IDLE = "I".charCodeAt(0);
/** Statements that neither open nor end a transaction: after these alone its status need not be asked for. */
const DATA_COMMANDS = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"]);

/** Hands out one session, first come first served. */
class Session {
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  /** @throws {DatabaseBusyError} after `waitMs` milliseconds. */
  async take(waitMs: number): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      // Keeps the process alive on purpose: a program that waits for itself must end with this error, not in silence.
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new DatabaseBusyError(waitMs, 1));
      }, waitMs);
      const turn = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push(turn);
    });
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}

/**
 * The one session of a PGlite, opened by the first query that needs it. An opening that fails is tried again by the
 * next query. A PGlite that panics (no space for its log, say) is left as it is, since it hangs when it is asked
 * anything more, closing included; the next client gets a new one, which recovers as after a crash.
 */
export class PGliteConnection {
  /** Keys of the locks held by users of this, whichever of its pools they came through. */
  readonly heldLocks = new Set<string>();
  readonly #session = new Session();
  readonly #names = new StatementNames();
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
    const { text, name: given } = config;
    const parameters = (values ?? config.values ?? []).map(toParameter);
    try {
      const results =
        parameters.length > 0
          ? [
              await this.#statements!.run<Row>({
                text,
                name: given ?? this.#names.of(text),
                values: parameters,
              }),
            ]
          : ((await database.exec(text)) as Results<Row>[]);
      // A commit, even of a transaction that failed, ends it; its tag may be that of a rollback to a savepoint.
      if (results.at(-1)?.command === "COMMIT") this.#maybeInTransaction = false;
      else if (results.some(({ command }) => !DATA_COMMANDS.has(command ?? "")))
        this.#maybeInTransaction = true;
      return toResult(results.at(-1)!); // There is at least one, even for empty text.
    } catch (error) {
      if (endsSession(error)) this.#database = undefined;
      this.#maybeInTransaction = this.#database !== undefined;
      const isStale = given === undefined && isStalePlan(error);
      if (isStale) this.#names.renew(text);
      if (!isStale || !(await this.#isIdle())) throw toDatabaseError(error);
    }
    return this.run<Row>(query, values);
  }

  /** Rolls back a transaction that is still open, then lets the next one in. */
  async give(): Promise<void> {
    try {
      if (!this.#maybeInTransaction) return;
      if (!(await this.#isIdle())) await this.#database?.exec("ROLLBACK");
      this.#maybeInTransaction = false;
    } finally {
      this.#session.give();
    }
  }

  async #isIdle(): Promise<boolean> {
    const answer = await this.#database?.execProtocolRaw(SYNC);
    return answer?.at(-1) === IDLE;
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

/** The members of PGlite used here. */
type PGliteProtocol = Pick<PGlite, "execProtocol" | "parsers" | "serializers">;

/** A statement with values, and the name under which it stays prepared. */
export interface PGliteStatement {
  readonly text: string;
  readonly name: string | undefined;
  readonly values: readonly unknown[];
}

interface Prepared {
  readonly text: string;
  readonly parameterTypes: readonly number[];
  readonly columns: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/**
 * Runs statements with values on one PGlite, and keeps those with a name prepared. `PGlite.query` calls WebAssembly six
 * times and plans anew each time; a prepared statement takes one call, any other takes two.
 */
class PGliteStatements {
  readonly #prepared = new Map<string, Prepared>();

  constructor(
    private readonly database: PGliteProtocol,
    private readonly protocol: typeof import("@electric-sql/pglite").protocol,
  ) {}

  async run<Row>(statement: PGliteStatement): Promise<Results<Row>> {
    const { serialize } = this.protocol;
    const { name = "", text } = statement;
    const known = this.#prepared.get(name);
    if (known !== undefined && known.text !== text)
      throw new RangeError(`The statement "${name}" was prepared with another text.`);
    const { parameterTypes, columns } = known ?? (await this.#prepare(statement));
    const { serializers } = this.database;
    const values = statement.values.map((value, at) => {
      if (value === null) return null;
      return serializers[parameterTypes[at]!]?.(value) ?? `${value as string | number}`;
    });
    const messages = await this.#send(
      serialize.bind({ statement: name, values }),
      serialize.execute(),
      serialize.sync(),
    );
    return this.#toResult(messages, columns);
  }

  async #prepare({ name = "", text }: PGliteStatement): Promise<Prepared> {
    const { serialize, messages: kinds } = this.protocol;
    const messages = await this.#send(
      serialize.parse({ name, text }),
      serialize.describe({ type: "S", name }),
      serialize.sync(),
    );
    const prepared = {
      text,
      parameterTypes:
        messages.find((message) => message instanceof kinds.ParameterDescriptionMessage)
          ?.dataTypeIDs ?? [],
      columns:
        messages.find((message) => message instanceof kinds.RowDescriptionMessage)?.fields ?? [],
    };
    if (name !== "") this.#prepared.set(name, prepared);
    return prepared;
  }

  #toResult<Row>(messages: readonly Message[], columns: Prepared["columns"]): Results<Row> {
    const { messages: kinds } = this.protocol;
    const { parsers } = this.database;
    const rows: Row[] = [];
    let tag: string[] = [];
    for (const message of messages) {
      if (message instanceof kinds.DataRowMessage) {
        const entries = columns.map(({ name, dataTypeID }, at) => {
          const text = message.fields[at]!;
          const parse = parsers[dataTypeID];
          return [name, text === null || !parse ? text : parse(text, dataTypeID)];
        });
        rows.push(Object.fromEntries(entries) as Row);
      } else if (message instanceof kinds.CommandCompleteMessage) tag = message.text.split(" ");
    }
    // A tag such as "INSERT 0 5" ends in a count; one such as "CREATE TABLE" has none.
    const count = Number(tag.at(-1));
    return {
      rows,
      fields: [...columns],
      command: tag[0],
      ...(Number.isInteger(count) && { rowCount: count }),
    };
  }

  async #send(...parts: readonly Uint8Array[]): Promise<readonly Message[]> {
    return (await this.database.execProtocol(Buffer.concat(parts))).messages;
  }
}

type Message = Awaited<ReturnType<PGlite["execProtocol"]>>["messages"][number];

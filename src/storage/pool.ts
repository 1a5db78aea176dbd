import { createHash } from "node:crypto";
import { StratagraphError } from "../errors.ts";

/** One statement and its values, as node-postgres takes it. */
export interface QueryConfig {
  text: string;
  /**
   * Prepares the statement under this name, once a session. In a transaction of its own it is planned once a session as
   * well, without its values: the plan must suit all of them, and a partitioned table would be locked whole. One text a
   * name, of one statement; at most 63 bytes. Without effect on a statement that has no values on PGlite, and where
   * prepared statements are turned off.
   */
  name?: string;
  values?: readonly unknown[];
}

/** What a statement gave. `rowCount` counts rows read or changed, null for statements that have none. */
export interface QueryResult<Row = Record<string, unknown>> {
  rows: Row[];
  rowCount: number | null;
  command: string;
}

/** Values follow node-postgres on every database: `bigint` columns come as strings, `bytea` as Buffer, `jsonb` parsed. */
export interface Queryable {
  query<Row = Record<string, unknown>>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
}

/** One session, checked out of a pool: transactions run on it. */
export interface DatabaseClient extends Queryable {
  /**
   * Process id of its session as the other end of the connection gave it, which `pg_backend_pid()` has unless that end
   * is a pooler. Absent on an embedded database.
   */
  readonly backendPid?: number;
  /** Aborts when the session is lost while this client has it. Absent where a session is in this process. */
  readonly lost?: AbortSignal;
  /**
   * Whether statements may be sent before those ahead of them are answered. They run in the order in which they were
   * sent, each also after one that failed. Absent for clients of a plain `pg.Pool`.
   */
  readonly pipelines?: true;
  /**
   * Gives the session back; a transaction that is still open is rolled back. Pass an error, or true, when the session
   * is not to be used again. The client answers no queries afterwards.
   */
  release(error?: Error | boolean): void;
}

/**
 * The part of a `pg.Pool` that storage uses, and all that an embedded database has to offer. `query` takes a session of
 * its own: on an embedded database, which has one, calling it while holding a client waits for that client, so inside
 * a transaction query the client.
 */
export interface DatabasePool extends Queryable {
  /**
   * Keys of the locks held on an embedded database: one set for all pools on it, and no other process has it open.
   * Absent where a server keeps the locks.
   */
  readonly heldLocks?: Set<string>;
  /** Sessions of the server itself, where the pool's connections may be those of a pooler. Closed with the pool. */
  readonly direct?: Pick<DatabasePool, "connect">;
  connect(): Promise<DatabaseClient>;
  /** Waits for clients that are checked out, then closes. */
  end(): Promise<void>;
}

/** Texts of statements that a pool remembers. */
const maxTexts = 2_000;

/** Names for statements without one that are sent again, so that each session parses them once. */
export class StatementNames {
  readonly #names = new Map<string, string | null>();

  /** @param areSent false once a pooler was found to lose prepared statements */
  constructor(public areSent = true) {}

  /** The name of a statement; none for its first use, which may be its last. */
  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (typeof known === "string") return known;
    if (known === undefined) {
      if (this.#names.size < maxTexts) this.#names.set(text, null);
      return undefined;
    }
    const name = nameOf(text);
    this.#names.set(text, name);
    return name;
  }

  /** Gives a statement another name. What sessions have prepared under the one before has columns that were changed. */
  renew(text: string): void {
    const known = this.#names.get(text);
    if (typeof known === "string") this.#names.set(text, nameOf(`${known} ${text}`));
  }
}

/** The same in all processes: where a pooler shares sessions, none runs what another has prepared under a name. */
function nameOf(text: string): string {
  const hash = createHash("sha256").update(text).digest("hex");
  return `repeated-${hash.slice(0, 40)}`;
}

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

const SECRET_PARAMETERS = ["password", "sslpassword", "sslkey"];

/** The URL as messages and logs may show it: passwords replaced by `***`, nothing at all of a URL that does not parse. */
export function redactUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return "a URL that cannot be read";
  }
  if (parsed.password !== "") parsed.password = "***";
  for (const name of SECRET_PARAMETERS)
    if (parsed.searchParams.has(name)) parsed.searchParams.set(name, "***");
  return parsed.toString();
}

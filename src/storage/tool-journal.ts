import { createHash, randomUUID } from "node:crypto";
import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { ToolOutcome } from "../state/step-record.ts";
import type {
  StartedCall,
  CallEntry,
  CallKey,
  CallRecord,
  RecordedEnd,
  ToolJournal,
} from "../tools/journal.ts";
import { canonicalJson } from "../values/json.ts";
import {
  createValueCipher,
  MissingEncryptionKeyError,
  SealedValueError,
  type ValueCipher,
} from "./encryption/value-cipher.ts";
import { loadMigrations, migrate } from "./migrate.ts";
import type { SealedTable } from "./encryption/reseal.ts";
import { type DatabasePool, type QueryConfig, quoteIdentifier } from "./pool.ts";

export interface DatabaseToolJournalOptions {
  /** Schema of the table, made if need be. Any name: it is escaped. Default `public`. */
  readonly schema?: string;
  /** How ends become bytes: the checkpointer's, so that what that encrypts is encrypted here. Default: LangGraph's. */
  readonly serde?: SerializerProtocol;
  /** Seals ends; the checkpointer's. Default: one without keys, which seals nothing. */
  readonly cipher?: ValueCipher;
  /**
   * Resolves when all that was written to the thread so far is durable. Calls that must not be made twice wait for it,
   * else a crash could forget the decision to make them, and with it what the journal has. Left out, nothing waits.
   */
  readonly flush?: (threadId: string) => Promise<void>;
}

/** A call as the journal has it. */
export interface JournalEntry extends Omit<CallKey, "threadId"> {
  readonly tool: string;
  readonly state: Exclude<CallRecord["state"], "new">;
  /** ISO 8601. */
  readonly startedAt: string;
  /** ISO 8601; null until the call has ended. */
  readonly endedAt: string | null;
  /** Null until the call has ended, and where its record is damaged. */
  readonly outcome: ToolOutcome | null;
}

interface Row {
  tool: string;
  input_hash: Buffer;
  beginning: string;
  started_at: Date;
  begin_hash: Buffer | null;
  ended_at: Date | null;
  end_type: string | null;
  end_body: Buffer | null;
  end_hash: Buffer | null;
}

/** A call that is written down already. */
type RecordedCall = Exclude<CallRecord, { state: "new" }>;

/** The tool journal on Postgres or PGlite. Its table is made by the first call; the pool stays the caller's. */
export class DatabaseToolJournal implements ToolJournal {
  readonly #pool: DatabasePool;
  readonly #schema: string;
  readonly #table: string;
  readonly #durable: CallStatements;
  readonly #mayBeLost: CallStatements;
  readonly #serde: SerializerProtocol;
  readonly #cipher: ValueCipher;
  readonly #flush: DatabaseToolJournalOptions["flush"];
  #setUp: Promise<void> | undefined;

  /** @throws InvalidIdentifierError for a schema that Postgres cannot have */
  constructor(pool: DatabasePool, options: DatabaseToolJournalOptions = {}) {
    this.#pool = pool;
    this.#schema = options.schema ?? "public";
    this.#table = `${quoteIdentifier(this.#schema)}.tool_journal`;
    const name = `tool-journal-${createHash("sha256").update(this.#schema).digest("hex").slice(0, 12)}`;
    this.#durable = callStatements(this.#table, { name, mayBeLost: false });
    // What an embedded database has not written yet is gone with its process, which is killed more often than a server.
    const isServer = pool.heldLocks === undefined;
    this.#mayBeLost = isServer
      ? callStatements(this.#table, { name, mayBeLost: true })
      : this.#durable;
    this.#serde = options.serde ?? new MemorySaver().serde;
    this.#cipher = options.cipher ?? createValueCipher([]);
    this.#flush = options.flush;
  }

  async begin(entry: CallEntry): Promise<CallRecord> {
    await this.setup();
    if (!entry.idempotent) await this.#flush?.(entry.threadId);
    const { begin, restart } = this.#statementsOf(entry);
    const { tool } = entry;
    const input_hash = inputHash(entry);
    const beginning = randomUUID();
    const key = keyOf(entry);
    const values = [...key, tool, input_hash, beginning, beginHash(key, { tool, input_hash })];
    for (;;) {
      const { rows } = await this.#pool.query<Row>({ ...begin, values });
      const [row] = rows as [Row];
      if (row.beginning === beginning) return { state: "new" };
      const known = await this.#recorded(key, row);
      const isDamaged = known.state === "damaged";
      const isSame = row.input_hash.equals(input_hash);
      // A damaged record of a call that must not be made twice stays for a person to look at.
      if (isDamaged ? !entry.idempotent : isSame) return known;
      const restarted = await this.#pool.query({
        ...restart,
        values: [...values, row.beginning],
      });
      // Otherwise another process was faster, and what it wrote counts.
      if (restarted.rowCount === 1) return isDamaged ? known : { state: "new" };
    }
  }

  async find(entry: CallEntry): Promise<CallRecord> {
    await this.setup();
    const key = keyOf(entry);
    const { rows } = await this.#pool.query<Row>(`select * from ${this.#table} ${WHERE_KEY}`, key);
    const [row] = rows;
    if (row === undefined || !row.input_hash.equals(inputHash(entry))) return { state: "new" };
    return this.#recorded(key, row);
  }

  async end(call: StartedCall, { tiers, ...record }: RecordedEnd): Promise<void> {
    // As text the record is exact, whatever a serializer makes of objects that look like its own.
    const end: SerializedEnd = { record: JSON.stringify(record), ...(tiers && { tiers }) };
    const [end_type, bytes] = await this.#serde.dumpsTyped(end);
    const key = keyOf(call);
    const end_body = this.#cipher.sealBytes(Buffer.from(bytes), endContext(key));
    await this.#pool.query({
      ...this.#statementsOf(call).end,
      values: [...key, end_type, end_body, endHash(key, { end_type, end_body })],
    });
  }

  async withdraw(key: CallKey): Promise<void> {
    await this.#pool.query(
      `delete from ${this.#table} ${WHERE_KEY} and ended_at is null`,
      keyOf(key),
    );
  }

  /** What it has of a thread, or of one execution of a turn, in the order in which the calls began. */
  async entriesOf(threadId: string, run?: string): Promise<readonly JournalEntry[]> {
    await this.setup();
    const { rows } = await this.#pool.query<Row & { run: string; step: number; call_id: string }>(
      `select * from ${this.#table} where thread_id = $1 and ($2::text is null or run = $2)
      order by started_at, run, step, call_id`,
      [storable(threadId), run === undefined ? null : storable(run)],
    );
    return Promise.all(
      rows.map(async (row): Promise<JournalEntry> => {
        const known = await this.#recorded(
          [storable(threadId), row.run, row.step, row.call_id],
          row,
        );
        return {
          run: row.run,
          step: row.step,
          callId: row.call_id,
          tool: row.tool,
          state: known.state,
          startedAt: row.started_at.toISOString(),
          endedAt: row.ended_at?.toISOString() ?? null,
          outcome: known.state === "finished" ? known.end.outcome : null,
        };
      }),
    );
  }

  /** Removes what it has of a thread. Calls of a turn that is under way there could be made twice then. */
  async forget(threadId: string): Promise<void> {
    await this.setup();
    await this.#pool.query(`delete from ${this.#table} where thread_id = $1`, [storable(threadId)]);
  }

  /** The table of ends, for counting and resealing. */
  async sealedTables(): Promise<readonly SealedTable[]> {
    await this.setup();
    return [
      {
        name: "tool_journal",
        table: this.#table,
        key: { thread_id: "text", run: "text", step: "integer", call_id: "text" },
        column: "end_body",
        beside: ["end_type", "begin_hash"],
        context: (row) => endContext(rowKey(row)),
        hash: {
          column: "end_hash",
          // Rows from before there were hashes get none.
          of: (row, end_body) =>
            row["begin_hash"] === null
              ? null
              : endHash(rowKey(row), { end_type: String(row["end_type"]), end_body }),
        },
      },
    ];
  }

  /** Makes the table, unless it is there; any number of times, and by any number of processes at once. */
  setup(): Promise<void> {
    this.#setUp ??= this.#migrate().catch((error: unknown) => {
      this.#setUp = undefined;
      throw error;
    });
    return this.#setUp;
  }

  /**
   * Waiting for the disk is most of what the journal costs. A call that may be made twice does without: where a crash of
   * the database server forgets its row, it is made again. Any other call waits both times: with its beginning forgotten
   * it would be made twice, and with its end forgotten a call that is done would be told as one whose outcome is unknown.
   */
  #statementsOf({ idempotent }: StartedCall): CallStatements {
    return idempotent ? this.#mayBeLost : this.#durable;
  }

  async #migrate(): Promise<void> {
    const migrations = await loadMigrations(new URL("migrations", import.meta.url));
    await migrate(this.#pool, { schema: this.#schema, name: "tool_journal", migrations });
  }

  /** What a row says, as far as it is what was written. Rows without hashes are from before they had any. */
  async #recorded(key: RowKey, row: Row): Promise<RecordedCall> {
    const { tool, input_hash, begin_hash, ended_at, end_type, end_body, end_hash } = row;
    const at = row.started_at.toISOString();
    const damaged = (reason: string): RecordedCall => ({ state: "damaged", at, reason });
    if (begin_hash !== null && !begin_hash.equals(beginHash(key, { tool, input_hash }))) {
      return damaged("its beginning does not have the hash that it was given");
    }
    if (end_type === null || end_body === null) {
      const hasEnded = [ended_at, end_type, end_body, end_hash].some((part) => part !== null);
      return hasEnded ? damaged("its end is not there") : { state: "started", at };
    }
    const isHashed = begin_hash !== null || end_hash !== null;
    if (isHashed && end_hash?.equals(endHash(key, { end_type, end_body })) !== true) {
      return damaged("its end does not have the hash that it was given");
    }
    try {
      const body = this.#cipher.openBytes(end_body, endContext(key));
      const end = (await this.#serde.loadsTyped(end_type, body)) as SerializedEnd;
      const record = JSON.parse(end.record) as Omit<RecordedEnd, "tiers">;
      return { state: "finished", end: { ...record, ...(end.tiers && { tiers: end.tiers }) } };
    } catch (thrown) {
      if (thrown instanceof SealedValueError) return damaged("its end was sealed for another call");
      // A key that is missing, or of the serializer and changed, is no damage.
      if (isHashed || thrown instanceof MissingEncryptionKeyError) throw thrown;
      return damaged("its end cannot be read");
    }
  }
}

/** What binds a sealed end to its call. */
function endContext(key: RowKey): string {
  return `call ${JSON.stringify(key)}`;
}

interface SerializedEnd {
  /** JSON of all but the tiers. */
  readonly record: string;
  /** Stored as a checkpoint would have them. */
  readonly tiers?: RecordedEnd["tiers"];
}

/** The statements of calls: prepared, since planning them takes as long as running them. */
interface CallStatements {
  readonly begin: Statement;
  /** Begins a row anew, unless it is not the one that was read. */
  readonly restart: Statement;
  readonly end: Statement;
}

type Statement = Omit<QueryConfig, "values">;

interface CallStatementOptions {
  /** What the names begin with. */
  readonly name: string;
  /** Whether what they write may be lost in a crash of the server. */
  readonly mayBeLost: boolean;
}

function callStatements(table: string, { name, mayBeLost }: CallStatementOptions): CallStatements {
  const kind = mayBeLost ? "-may-be-lost" : "";
  const only = mayBeLost ? `where ${DOES_NOT_WAIT}` : "";
  const also = mayBeLost ? `and ${DOES_NOT_WAIT}` : "";
  return {
    begin: { name: `${name}-begin${kind}`, text: beginStatement(table, only) },
    restart: { name: `${name}-restart${kind}`, text: restartStatement(table, also) },
    end: { name: `${name}-end${kind}`, text: endStatement(table, also) },
  };
}

/**
 * True, and lets the transaction that a statement is by itself commit without waiting for the disk. As a subquery it runs
 * once, before any row is read, and the session's own setting is back after the statement.
 */
const DOES_NOT_WAIT = "(select set_config('synchronous_commit', 'off', true)) = 'off'";

/** On a row that is there this changes nothing, and gives it back. */
function beginStatement(table: string, only: string): string {
  return `insert into ${table} as known
      (thread_id, run, step, call_id, tool, input_hash, beginning, begin_hash)
    select $1, $2, $3::integer, $4, $5, $6::bytea, $7::uuid, $8::bytea ${only}
    on conflict (thread_id, run, step, call_id) do update set beginning = known.beginning
    returning tool, input_hash, beginning, started_at, begin_hash, ended_at, end_type, end_body, end_hash`;
}

function restartStatement(table: string, also: string): string {
  return `update ${table} set tool = $5, input_hash = $6, beginning = $7, begin_hash = $8,
      started_at = now(), ended_at = null, end_type = null, end_body = null, end_hash = null
    ${WHERE_KEY} and beginning = $9 ${also}`;
}

function endStatement(table: string, also: string): string {
  return `update ${table} set ended_at = now(), end_type = $5, end_body = $6, end_hash = $7
    ${WHERE_KEY} and ended_at is null ${also}`;
}

const WHERE_KEY = "where thread_id = $1 and run = $2 and step = $3 and call_id = $4";

function keyOf({ threadId, run, step, callId }: CallKey): RowKey {
  return [storable(threadId), storable(run), step, storable(callId)];
}

/** Characters of a text in a key. Longer ones would not fit into the index. */
const maxKeyLength = 200;

/** The text itself, or its hash where a key cannot hold it: models may write anything as the id of a call. */
function storable(text: string): string {
  const isPlain = text.length <= maxKeyLength && !/\0|\p{Surrogate}/u.test(text);
  return isPlain ? text : `sha256:${createHash("sha256").update(text, "utf16le").digest("hex")}`;
}

function inputHash({ tool, input }: CallEntry): Buffer {
  return createHash("sha256")
    .update(canonicalJson([tool, input]))
    .digest();
}

/** The key of a row as it is stored: thread, run, step, id of the call. */
type RowKey = readonly [threadId: string, run: string, step: number, callId: string];

function rowKey(row: Readonly<Record<string, unknown>>): RowKey {
  const { thread_id, run, step, call_id } = row;
  return [String(thread_id), String(run), Number(step), String(call_id)];
}

/** What is stored of a call's beginning. */
export interface StoredBeginning {
  readonly tool: string;
  readonly input_hash: Uint8Array;
}

/** What is stored of a call's end. */
export interface StoredEnd {
  readonly end_type: string;
  readonly end_body: Uint8Array;
}

/** SHA-256 over the beginning of a call, 32 bytes. */
function beginHash(key: RowKey, { tool, input_hash }: StoredBeginning): Buffer {
  return sha256([1, "begin", ...key, tool], input_hash);
}

/** SHA-256 over the end of a call, 32 bytes. */
function endHash(key: RowKey, { end_type, end_body }: StoredEnd): Buffer {
  return sha256([1, "end", ...key, end_type], end_body);
}

function sha256(head: readonly unknown[], body: Uint8Array): Buffer {
  return createHash("sha256")
    .update(`${JSON.stringify(head)}\n`)
    .update(body)
    .digest();
}

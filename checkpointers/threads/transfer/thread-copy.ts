import { canonicalHash } from "../../../src/values/json.ts";
import type { ValueCipher } from "../../../src/storage/encryption/value-cipher.ts";
import type { Queryable } from "../../../src/storage/pool.ts";
import { DamagedValue } from "../../elements/load-value.ts";
import type { DataSerializer } from "../../elements/revive.ts";
import { elementHash } from "../../elements/store-value.ts";
import { checkpointHash, sealContext, writesHash } from "../../integrity.ts";
import { toWriteSets } from "../../writing/pending-writes.ts";
import { REPLACE_DEFINITION } from "../../queries.ts";
import { CheckedThread } from "./checked-thread.ts";
import {
  type CheckpointLine,
  type ContentLine,
  type DefinitionLine,
  type ElementLine,
  fromReadable,
  type InspectValue,
  type StockBlobLine,
  type StockCheckpointLine,
  type StockWriteLine,
  unitShape,
  valueInspector,
  type WriteSetLine,
} from "./format.ts";

interface CopyParts {
  /** With the transaction open. */
  readonly client: Queryable;
  /** With its quotes. */
  readonly schema: string;
  readonly cipher: ValueCipher;
  readonly serde: DataSerializer;
  /** Of the thread that was exported, and of that to be made. */
  readonly from: string;
  readonly to: string;
  readonly newLogId: () => Promise<number>;
}

/** Checks the content of an export line by line, and stores it as a thread of another id, with logs of its own. */
export class ThreadCopy {
  checkpoints = 0;
  readonly #parts: CopyParts & {
    readonly thread: CheckedThread;
    readonly inspect: InspectValue | undefined;
  };
  readonly #inserts: ReturnType<typeof insertsFor>;
  /** Logs of the export and those here. */
  readonly #logs = new Map<number, number>();
  /** Hashes of checkpoints in the export, by namespace and id, and here. Null for those of the stock class. */
  readonly #hashes = new Map<string, Buffer | null>();
  readonly #definitions = new Set<string>();
  readonly #stockKeys = new Set<string>();
  /** Parents that did not come before their children. */
  readonly #missing = new Set<string>();

  constructor(parts: CopyParts) {
    const inspect = valueInspector(parts.serde);
    this.#parts = { ...parts, inspect, thread: new CheckedThread(parts.serde, inspect) };
    this.#inserts = insertsFor(parts.client, parts.schema);
  }

  /** @throws {DamagedValue} when it is not what was exported, or not in order */
  async add(line: Exclude<ContentLine, { attachment: unknown }>): Promise<void> {
    if ("element" in line) await this.#addElement(line.element);
    else if ("checkpoint" in line) await this.#addCheckpoint(line.checkpoint);
    else if ("stockCheckpoint" in line) await this.#addStockCheckpoint(line.stockCheckpoint);
    else if ("stockBlob" in line) await this.#addStockBlob(line.stockBlob);
    else if ("stockWrite" in line) await this.#addStockWrite(line.stockWrite);
    else await this.#addDefinition(line.definition);
  }

  async end(): Promise<void> {
    for (const log of this.#logs.values())
      await this.#inserts.uses.add({ log_id: log, thread_id: this.#parts.to });
    for (const inserts of Object.values(this.#inserts)) await inserts.flush();
  }

  /** Another definition under the hash of this one would be taken for it by every thread that was begun under it. */
  async #addDefinition({ hash, definition }: DefinitionLine): Promise<void> {
    if (this.#definitions.has(hash)) throw new DamagedValue(`definition ${hash} is there twice`);
    this.#definitions.add(hash);
    if (canonicalHash(definition) !== hash)
      throw new DamagedValue(`the definition under ${hash} does not have that hash`);
    await this.#inserts.definitions.add({ hash, definition });
  }

  async #addElement({ log, idx, type, value }: ElementLine): Promise<void> {
    const { thread, inspect } = this.#parts;
    if (thread.has(log, idx)) throw new DamagedValue(`element ${idx} of log ${log} is there twice`);
    const blob = fromReadable(value);
    const hash = elementHash({ type, blob });
    const shape = inspect && (unitShape(inspect(type, blob)) ?? null);
    thread.addElement(log, idx, shape === undefined ? { hash } : { hash, shape });
    const copied = await this.#logOf(log);
    const sealed = this.#parts.cipher.sealBytes(blob, sealContext.element(copied, idx));
    await this.#inserts.elements.add({ log_id: copied, idx, type, blob: base64(sealed) });
  }

  async #logOf(exported: number): Promise<number> {
    const log = this.#logs.get(exported) ?? (await this.#parts.newLogId());
    this.#logs.set(exported, log);
    return log;
  }

  async #addCheckpoint(line: CheckpointLine): Promise<void> {
    const { thread, inspect, from, to, cipher } = this.#parts;
    const { namespace, id, parentId, type, metadata, summary, writeSets } = line;
    this.#expectOnce(line);
    if (inspect && type !== null)
      throw new DamagedValue("its content is of a type that no export has");
    const body = fromReadable(line.body);
    const hash = fromHex(line.hash);
    const parentHash = line.parentHash === null ? null : fromHex(line.parentHash);
    const content = { namespace, id, parentId, type, body, metadata, summary };
    const { segments } = line;
    await thread.check({ ...content, threadId: from, segments, parentHash, hash, writeSets });
    const copied = await this.#copySegments(segments);
    const copiedParent = parentHash && this.#copyOfParent(line, parentHash);
    const copiedHash = checkpointHash({
      ...content,
      threadId: to,
      segments: copied,
      parentHash: copiedParent,
    });
    this.#hashes.set(keyOf(namespace, id), copiedHash);
    const context = sealContext.checkpoint({ threadId: to, namespace, id });
    await this.#inserts.checkpoints.add({
      ...rowOf(line, to),
      body: base64(cipher.sealBytes(body, context)),
      segments: copied,
      hash: base64(copiedHash),
      parent_hash: copiedParent && base64(copiedParent),
      summary,
    });
    await this.#addWriteSets(line);
  }

  /** The hash of a parent that is not in the thread stays as it was. */
  #copyOfParent({ namespace, parentId }: CheckpointLine, parentHash: Buffer): Buffer {
    const copied = parentId === null ? null : this.#hashes.get(keyOf(namespace, parentId));
    return copied ?? parentHash;
  }

  async #copySegments(segments: readonly number[]): Promise<number[]> {
    const copied: number[] = [];
    for (const [at, value] of segments.entries())
      copied.push(at % 3 === 0 ? await this.#logOf(value) : value);
    return copied;
  }

  async #addStockCheckpoint(line: StockCheckpointLine): Promise<void> {
    this.#expectOnce(line);
    if (line.checkpoint["id"] !== line.id)
      throw new DamagedValue(`checkpoint ${line.id} has another id within`);
    this.#parts.thread.addStock(line);
    this.#hashes.set(keyOf(line.namespace, line.id), null);
    await this.#inserts.stockCheckpoints.add({
      ...rowOf(line, this.#parts.to),
      checkpoint: line.checkpoint,
    });
    await this.#addWriteSets(line);
  }

  #expectOnce({ namespace, id, parentId }: CheckpointLine | StockCheckpointLine): void {
    const key = keyOf(namespace, id);
    if (this.#hashes.has(key)) throw new DamagedValue(`checkpoint ${id} is there twice`);
    if (this.#missing.has(key))
      throw new DamagedValue(`checkpoint ${id} comes after a child of it`);
    if (parentId !== null && !this.#hashes.has(keyOf(namespace, parentId)))
      this.#missing.add(keyOf(namespace, parentId));
    this.checkpoints += 1;
  }

  async #addWriteSets(line: CheckpointLine | StockCheckpointLine): Promise<void> {
    const names = line.writeSets.map(({ taskId, idx }) => `${idx} ${taskId}`);
    if (new Set(names).size < names.length)
      throw new DamagedValue(`pending writes of checkpoint ${line.id} are there twice`);
    for (const set of line.writeSets) await this.#addWriteSet(set, line);
  }

  async #addWriteSet(
    { taskId, taskPath = "", idx, hash, writes }: WriteSetLine,
    { namespace, id }: CheckpointLine | StockCheckpointLine,
  ): Promise<void> {
    const { from, to, inspect, cipher } = this.#parts;
    const dumped = writes.map(({ value, ...write }) => ({ ...write, blob: fromReadable(value) }));
    for (const { type, blob } of dumped) inspect?.(type, blob);
    const [set] = toWriteSets(dumped, { replacing: false, taskPath });
    const { body } = set!; // There is at least one write.
    const name = { namespace, checkpointId: id, taskId, idx, threadId: to };
    if (!writesHash({ ...name, body, threadId: from }).equals(fromHex(hash)))
      throw new DamagedValue("pending writes do not have the hash they were given");
    const sealed = cipher.sealBytes(body, sealContext.writes(name));
    await this.#inserts.writeSets.add({
      thread_id: to,
      checkpoint_ns: namespace,
      checkpoint_id: id,
      task_id: taskId,
      idx,
      body: base64(sealed),
      hash: base64(writesHash({ ...name, body: sealed })),
    });
  }

  async #addStockBlob({ namespace, channel, version, type, value }: StockBlobLine): Promise<void> {
    this.#expectNew("value", [namespace, channel, version]);
    // That of a channel without a value.
    if (type !== "empty") {
      if (value === null) throw new DamagedValue("a value is missing");
      this.#parts.inspect?.(type, fromReadable(value));
    }
    await this.#inserts.stockBlobs.add({
      thread_id: this.#parts.to,
      checkpoint_ns: namespace,
      channel,
      version,
      type,
      blob: value && base64(fromReadable(value)),
    });
  }

  async #addStockWrite(line: StockWriteLine): Promise<void> {
    this.#expectNew("write", [line.namespace, line.checkpointId, line.taskId, line.idx]);
    const blob = fromReadable(line.value);
    this.#parts.inspect?.(line.type, blob);
    await this.#inserts.stockWrites.add({
      thread_id: this.#parts.to,
      checkpoint_ns: line.namespace,
      checkpoint_id: line.checkpointId,
      task_id: line.taskId,
      idx: line.idx,
      channel: line.channel,
      type: line.type,
      blob: base64(blob),
    });
  }

  #expectNew(what: "value" | "write", key: readonly (string | number)[]): void {
    const text = JSON.stringify([what, ...key]);
    if (this.#stockKeys.has(text)) throw new DamagedValue(`a ${what} is there twice`);
    this.#stockKeys.add(text);
  }
}

const checkpointColumns = {
  thread_id: "text",
  checkpoint_ns: "text",
  checkpoint_id: "text",
  parent_checkpoint_id: "text",
  type: "text",
  checkpoint: "jsonb not null",
  metadata: "jsonb not null",
} as const;
const writeColumns = {
  thread_id: "text",
  checkpoint_ns: "text",
  checkpoint_id: "text",
  task_id: "text",
  idx: "integer",
} as const;

function insertsFor(client: Queryable, schema: string) {
  return {
    elements: new RowInserts(client, `${schema}.checkpoint_elements`, {
      log_id: "bigint",
      idx: "integer",
      type: "text",
      blob: "bytea",
    }),
    uses: new RowInserts(client, `${schema}.checkpoint_log_uses`, {
      log_id: "bigint",
      thread_id: "text",
    }),
    checkpoints: new RowInserts(client, `${schema}.checkpoints`, {
      ...checkpointColumns,
      body: "bytea",
      segments: "bigint[]",
      hash: "bytea",
      parent_hash: "bytea",
      summary: "jsonb",
    }),
    writeSets: new RowInserts(client, `${schema}.checkpoint_write_sets`, {
      ...writeColumns,
      body: "bytea",
      hash: "bytea",
    }),
    definitions: new RowInserts(
      client,
      `${schema}.checkpoint_definitions as stored`,
      { hash: "text", definition: "jsonb not null" },
      REPLACE_DEFINITION,
    ),
    stockCheckpoints: new RowInserts(client, `${schema}.checkpoints`, checkpointColumns),
    stockBlobs: new RowInserts(client, `${schema}.checkpoint_blobs`, {
      thread_id: "text",
      checkpoint_ns: "text",
      channel: "text",
      version: "text",
      type: "text",
      blob: "bytea",
    }),
    stockWrites: new RowInserts(client, `${schema}.checkpoint_writes`, {
      ...writeColumns,
      channel: "text",
      type: "text",
      blob: "bytea",
    }),
  };
}

function rowOf(line: CheckpointLine | StockCheckpointLine, threadId: string) {
  return {
    thread_id: threadId,
    checkpoint_ns: line.namespace,
    checkpoint_id: line.id,
    parent_checkpoint_id: line.parentId,
    type: line.type,
    checkpoint: null,
    metadata: line.metadata,
  };
}

function fromHex(hash: string): Buffer {
  return Buffer.from(hash, "hex");
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64");
}

function keyOf(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}

/** Characters of rows, about, that are sent at a time. */
const PORTION = 2 ** 20;

/** Rows have `bytea` as base64, and `jsonb` as the data itself. */
type ColumnType =
  | "text"
  | "integer"
  | "bigint"
  | "bigint[]"
  | "bytea"
  | "jsonb"
  /** JSON's own null stays one. */
  | "jsonb not null";

const GIVEN: Partial<Record<ColumnType, string>> = { bytea: "text", "jsonb not null": "jsonb" };
const STORED: Partial<Record<ColumnType, (name: string) => string>> = {
  bytea: (name) => `decode(${name}, 'base64')`,
  "jsonb not null": (name) => `coalesce(${name}, 'null')`,
};

/** Collects rows for one table, and inserts many with one statement. */
class RowInserts<const Of extends Readonly<Record<string, ColumnType>>> {
  #rows: string[] = [];
  #size = 0;
  readonly #statement: string;

  constructor(
    private readonly database: Queryable,
    /** As SQL. */
    table: string,
    columns: Of,
    /** What follows the rows, as `on conflict do nothing`. */
    conflict = "",
  ) {
    const entries = Object.entries(columns);
    const given = entries.map(([name, type]) => `${name} ${GIVEN[type] ?? type}`);
    const values = entries.map(([name, type]) => STORED[type]?.(name) ?? name);
    this.#statement = `insert into ${table} (${Object.keys(columns).join(", ")})
      select ${values.join(", ")} from json_to_recordset($1::json) as given (${given.join(", ")}) ${conflict}`;
  }

  async add(row: Readonly<Record<keyof Of, unknown>>): Promise<void> {
    const text = JSON.stringify(row);
    this.#rows.push(text);
    this.#size += text.length;
    if (this.#size >= PORTION) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = `[${this.#rows.join(",")}]`;
    this.#rows = [];
    this.#size = 0;
    await this.database.query(this.#statement, [rows]);
  }
}

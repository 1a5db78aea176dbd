import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { createHash } from "node:crypto";
import type { BlobStore } from "../src/durable-saver.ts";
import type { Queryable } from "../src/storage/pool.ts";
import { CorruptBlobError } from "./errors.ts";
import { sealContext } from "./integrity.ts";
import { openOrKeep } from "./rows.ts";
import { retryConflicts } from "./queries.ts";
import { type SealedTables, transaction } from "./tables.ts";

export interface DatabaseBlobsDeps extends SealedTables {
  readonly serde: SerializerProtocol;
  /** Creates the tables, unless they are there. */
  readonly setup: () => Promise<void>;
}

/** The attachments of threads, in the tables of their checkpoints. */
export class DatabaseBlobs implements BlobStore {
  readonly #deps: DatabaseBlobsDeps;

  constructor(deps: DatabaseBlobsDeps) {
    this.#deps = deps;
  }

  async put(
    threadId: string,
    { bytes, mimeType }: { readonly bytes: Uint8Array; readonly mimeType: string },
  ): Promise<string> {
    const { serde, setup } = this.#deps;
    await setup();
    const sha256 = blobHash(bytes);
    const [type, body] = await serde.dumpsTyped(bytes);
    const row = { threadId, sha256, mimeType, type, body: Buffer.from(body) };
    await retryConflicts(() => insertBlob(this.#deps.pool, this.#deps, row));
    return sha256;
  }

  async get(threadId: string, sha256: string): Promise<Uint8Array | null> {
    await this.#deps.setup();
    const [row] = await readBlobs(this.#deps, { threadId, sha256 });
    return row === undefined ? null : loadBlob(row, this.#deps.serde);
  }

  async forget(threadId: string): Promise<void> {
    const { pool, schema, setup } = this.#deps;
    await setup();
    const removal = () => transaction(pool, (client) => removeBlobs(client, schema, threadId));
    await retryConflicts(removal);
  }
}

/** SHA-256 in hex. */
function blobHash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export interface BlobRow {
  readonly sha256: string;
  readonly mimeType: string;
  readonly type: string;
  readonly body: Buffer;
}

/**
 * Stores bytes for a thread. An update replaces damaged bytes, and locks a row that is there, so that a removal under
 * way is waited for.
 */
export async function insertBlob(
  client: Queryable,
  { schema, cipher }: Pick<SealedTables, "schema" | "cipher">,
  row: BlobRow & { readonly threadId: string },
): Promise<void> {
  const body = cipher.sealBytes(row.body, sealContext.attachment(row.sha256));
  await client.query(
    `with stored as (
      insert into ${schema}.attachments (sha256, mime_type, type, body)
      values ($1, $2, $3, $4)
      on conflict (sha256) do update set type = excluded.type, body = excluded.body
      returning sha256
    )
    insert into ${schema}.attachment_uses (thread_id, sha256) select $5, sha256 from stored
    on conflict do nothing`,
    [row.sha256, row.mimeType, row.type, body, row.threadId],
  );
}

/** Returns what is stored of one attachment of a thread; empty if there is nothing. */
async function readBlobs(
  { pool, schema, cipher }: SealedTables,
  of: { readonly threadId: string; readonly sha256: string },
): Promise<readonly BlobRow[]> {
  const { rows } = await pool.query<BlobRow>(
    `select sha256, mime_type as "mimeType", type, body
    from ${schema}.attachments join ${schema}.attachment_uses using (sha256)
    where thread_id = $1 and sha256 = $2`,
    [of.threadId, of.sha256],
  );
  const context = sealContext.attachment(of.sha256);
  return rows.map((row) => ({ ...row, body: openOrKeep(cipher, row.body, context) }));
}

/** Yields what is stored of all attachments of a thread, one at a time. */
export async function* storedBlobs(
  tables: SealedTables,
  threadId: string,
): AsyncGenerator<BlobRow> {
  const { rows } = await tables.pool.query<{ sha256: string }>(
    `select sha256 from ${tables.schema}.attachment_uses where thread_id = $1 order by sha256`,
    [threadId],
  );
  for (const { sha256 } of rows) yield* await readBlobs(tables, { threadId, sha256 });
}

/** @throws {CorruptBlobError} */
export async function loadBlob(
  { sha256, type, body }: BlobRow,
  serde: SerializerProtocol,
): Promise<Uint8Array> {
  let bytes: unknown;
  try {
    bytes = await serde.loadsTyped(type, body);
  } catch (cause) {
    throw new CorruptBlobError(sha256, { cause });
  }
  if (!(bytes instanceof Uint8Array) || blobHash(bytes) !== sha256)
    throw new CorruptBlobError(sha256);
  return bytes;
}

/** Lets another thread refer to all that a thread refers to. */
export async function shareBlobs(
  client: Queryable,
  schema: string,
  of: { readonly threadId: string; readonly newThreadId: string },
): Promise<void> {
  await client.query(
    `insert into ${schema}.attachment_uses (thread_id, sha256)
    select $2, sha256 from ${schema}.attachment_uses where thread_id = $1
    on conflict do nothing`,
    [of.threadId, of.newThreadId],
  );
}

/**
 * Removes a thread's references, and the bytes to which no other thread refers. Only in a transaction: the rows are
 * locked in one order by a statement of its own, so that the next one sees every reference that was committed before.
 */
export async function removeBlobs(
  client: Queryable,
  schema: string,
  threadId: string,
): Promise<void> {
  const { rows } = await client.query<{ sha256: string }>(
    `select sha256 from ${schema}.attachments
    where sha256 in (select sha256 from ${schema}.attachment_uses where thread_id = $1)
    order by sha256 for update`,
    [threadId],
  );
  if (rows.length === 0) return;
  await client.query(`delete from ${schema}.attachment_uses where thread_id = $1`, [threadId]);
  await client.query(
    `delete from ${schema}.attachments a where a.sha256 = any($1::text[])
    and not exists (select from ${schema}.attachment_uses u where u.sha256 = a.sha256)`,
    [rows.map(({ sha256 }) => sha256)],
  );
}

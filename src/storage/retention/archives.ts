import { StratagraphError } from "../../errors.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";
import {
  checkId,
  checkPage,
  isoTime,
  isoTimeOrNull,
  type Page,
  type PageRequest,
  toPage,
} from "../platform/checks.ts";
import { NotFoundError } from "../platform/errors.ts";
import type { PartitionedTable } from "../platform/partitions.ts";
import type { PlatformTables } from "../platform/platform.ts";
import type { Queryable } from "../pool.ts";
import { queryTenant } from "../tenant.ts";
import { ARCHIVE_FORMAT, type ArchivePart, packPart, unpackPart } from "./archive-object.ts";
import type { ArchiveTarget } from "./archive-target.ts";

/** An archive is needed, and no place for archives is configured. */
export class NoArchiveTargetError extends StratagraphError {
  readonly code = "no_archive_target";

  constructor() {
    super(
      "Expected a place for archives, and none is configured. " +
        "Set STRATAGRAPH_ARCHIVE to the folder or the s3:// location that the archives are in.",
    );
  }
}

export type ArchiveState =
  | "writing"
  | "stored"
  | "archived"
  | "restoring"
  | "restored"
  | "removing";

/** What an archive holds: a thread, or rows of a table and a day. */
export type ArchiveSubject =
  | { readonly subject: "thread"; readonly threadId: string }
  | { readonly subject: PartitionedTable; /** `YYYY-MM-DD`, UTC. */ readonly day: string };

/** The manifest of an archive. */
export interface Archive {
  readonly id: string;
  readonly tenantId: string;
  readonly subject: "thread" | PartitionedTable;
  readonly threadId: string | null;
  readonly day: string | null;
  readonly state: ArchiveState;
  readonly format: number;
  readonly parts: readonly ArchivePart[];
  /** Rows, or checkpoints and calls. */
  readonly rows: number;
  /** Of all objects. */
  readonly bytes: number;
  readonly firstId: string | null;
  readonly lastId: string | null;
  readonly lastAt: string | null;
  readonly fingerprint: string | null;
  readonly holdUntil: string | null;
  readonly createdAt: string;
}

interface ArchiveRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly subject: Archive["subject"];
  readonly thread_id: string | null;
  readonly day: string | null;
  readonly state: ArchiveState;
  readonly format: number;
  readonly parts: readonly ArchivePart[];
  readonly rows: string;
  readonly bytes: string;
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly last_at: Date | null;
  readonly fingerprint: string | null;
  readonly hold_until: Date | null;
  readonly created_at: Date;
}

const columns = `id, tenant_id, subject, thread_id, day::text as day, state, format, parts, rows, bytes, first_id, last_id, last_at,
  fingerprint, hold_until, created_at`;

/** A line of an archive. */
export interface ArchiveLine {
  readonly text: string;
  /** Of a line that counts as a row, with what the manifest says of ids and times. */
  readonly row?: { readonly id?: string; readonly at?: Date };
}

/** Characters of lines, about, in an object before it is compressed. */
const partSize = 4 * 2 ** 20;

export interface ArchiveFilter {
  readonly subject?: Archive["subject"];
  readonly threadId?: string;
  readonly day?: string;
  readonly states?: readonly ArchiveState[];
  /** Only those whose newest row is older. */
  readonly lastBefore?: Date;
}

/** The archives of tenants: manifests in the database, objects in their place. */
export class Archives {
  readonly #target: ArchiveTarget | null;

  constructor(
    private readonly tables: PlatformTables,
    private readonly cipher: ValueCipher,
    /** Null: nothing can be archived, and no archive can be read. */
    target: ArchiveTarget | null,
  ) {
    this.#target = target;
  }

  get isConfigured(): boolean {
    return this.#target !== null;
  }

  /** @throws NoArchiveTargetError */
  get target(): ArchiveTarget {
    if (this.#target === null) throw new NoArchiveTargetError();
    return this.#target;
  }

  /**
   * Writes an archive, and reads every object back. It is `stored` then: what it holds can be deleted.
   *
   * @returns null if there were no lines
   * @throws ArchiveTargetError, DamagedArchiveError: the manifest stays `writing`, and the next round removes it
   */
  async write(
    tenantId: string,
    of: ArchiveSubject & { readonly fingerprint?: string },
    lines: AsyncIterable<ArchiveLine>,
  ): Promise<Archive | null> {
    const { clock, schema, ids } = this.tables;
    const { target } = this;
    const id = ids();
    const [threadId, day] = of.subject === "thread" ? [of.threadId, null] : [null, of.day];
    await this.#query(tenantId, {
      text: `insert into ${schema}.archive (id, tenant_id, subject, thread_id, day, format, fingerprint, created_at, updated_at)
        values ($1::uuid, $2::uuid, $3, $4, $5::date, $6, $7, $8, $8)`,
      values: [
        id,
        tenantId,
        of.subject,
        threadId,
        day,
        ARCHIVE_FORMAT,
        of.fingerprint ?? null,
        clock.now(),
      ],
    });
    const parts: ArchivePart[] = [];
    const sums = {
      rows: 0,
      first: null as string | null,
      last: null as string | null,
      at: null as Date | null,
    };
    const store = async (texts: readonly string[]) => {
      const index = parts.length;
      const context = contextOf(tenantId, id, index);
      const { object, part } = await packPart(texts, { cipher: this.cipher, context });
      await target.put({ tenantId, archiveId: id, part: index }, object);
      parts.push(part);
      await this.#unpack({ id, tenantId, parts }, index);
    };
    let [texts, size]: [string[], number] = [[], 0];
    for await (const { text, row } of lines) {
      texts.push(text);
      size += text.length;
      if (row !== undefined) sums.rows += 1;
      const { id: rowId, at } = row ?? {};
      if (rowId !== undefined && (sums.first === null || rowId < sums.first)) sums.first = rowId;
      if (rowId !== undefined && (sums.last === null || rowId > sums.last)) sums.last = rowId;
      if (at !== undefined && (sums.at === null || at > sums.at)) sums.at = at;
      if (size < partSize) continue;
      await store(texts);
      [texts, size] = [[], 0];
    }
    if (texts.length > 0) await store(texts);
    if (parts.length === 0) {
      await this.#deleteRow(tenantId, id);
      return null;
    }
    const { rows } = await this.#query<ArchiveRow>(tenantId, {
      text: `update ${schema}.archive set state = 'stored', parts = $2::jsonb, rows = $3, bytes = $4, first_id = $5, last_id = $6,
        last_at = $7, updated_at = $8 where id = $1::uuid and state = 'writing' returning ${columns}`,
      values: [
        id,
        JSON.stringify(parts),
        sums.rows,
        parts.reduce((sum, { bytes }) => sum + bytes, 0),
        sums.first,
        sums.last,
        sums.at,
        clock.now(),
      ],
    });
    const [row] = rows;
    if (row !== undefined) return toArchive(row);
    // The tenant was deleted meanwhile.
    await target.remove({ tenantId, archiveId: id });
    throw new NotFoundError("archive", id);
  }

  /** Yields the lines of an archive, each object verified before its first line. @throws DamagedArchiveError */
  async *lines(archive: Pick<Archive, "id" | "tenantId" | "parts">): AsyncGenerator<string> {
    for (const index of archive.parts.keys()) yield* await this.#unpack(archive, index);
  }

  /** Newest first. @throws InvalidCursorError, InvalidValueError */
  async list(tenantId: string, page: PageRequest & ArchiveFilter = {}): Promise<Page<Archive>> {
    const { limit, after } = checkPage(page);
    const rows = await this.#select(tenantId, page, { after, limit: limit + 1, order: "desc" });
    return toPage(rows, limit, { id: (row) => row.id, item: toArchive });
  }

  /** All that match, oldest first. */
  async find(tenantId: string, filter: ArchiveFilter): Promise<readonly Archive[]> {
    return (await this.#select(tenantId, filter, { after: null, limit: null, order: "asc" })).map(
      toArchive,
    );
  }

  /** @throws NotFoundError */
  async get(tenantId: string, archiveId: string): Promise<Archive> {
    const { rows } = await this.#query<ArchiveRow>(tenantId, {
      text: `select ${columns} from ${this.tables.schema}.archive where id = $1::uuid`,
      values: [checkId("archive", archiveId)],
    });
    const [row] = rows;
    if (row === undefined) throw new NotFoundError("archive", archiveId);
    return toArchive(row);
  }

  /** Sets the state of an archive unless it is being removed, within the caller's transaction if a client is given. */
  async setState(
    { id, tenantId }: Pick<Archive, "id" | "tenantId">,
    state: ArchiveState,
    { holdUntil, client }: { readonly holdUntil?: Date; readonly client?: Queryable } = {},
  ): Promise<void> {
    const statement = {
      text: `update ${this.tables.schema}.archive set state = $2, hold_until = coalesce($3, hold_until), updated_at = $4
        where id = $1::uuid and state <> 'removing'`,
      values: [id, state, holdUntil ?? null, this.tables.clock.now()],
    };
    await (client === undefined ? this.#query(tenantId, statement) : client.query(statement));
  }

  /** Removes the objects of an archive, then its manifest. */
  async remove({ id, tenantId, state }: Archive): Promise<void> {
    await this.target.remove({ tenantId, archiveId: id });
    if (state !== "restored") return this.#deleteRow(tenantId, id);
    // The manifest says until when what was restored is not archived again.
    await this.#query(tenantId, {
      text: `update ${this.tables.schema}.archive set parts = '[]', updated_at = $2 where id = $1::uuid`,
      values: [id, this.tables.clock.now()],
    });
  }

  /** Deletes the manifests of what was restored, where nothing is held back any more. */
  async forgetRestored(tenantId: string): Promise<void> {
    await this.#query(tenantId, {
      text: `delete from ${this.tables.schema}.archive where state = 'restored' and parts = '[]' and hold_until <= $1`,
      values: [this.tables.clock.now()],
    });
  }

  /**
   * Removes all objects of a tenant, whether or not a manifest names them.
   *
   * @throws NoArchiveTargetError if it has archives, and there is no place to remove them from
   */
  async removeTenant(tenantId: string): Promise<number> {
    const id = checkId("tenant", tenantId);
    if (this.#target !== null) return this.#target.remove({ tenantId: id });
    const found = await this.find(id, {});
    // What was restored has no objects any more.
    if (found.some(({ state, parts }) => state === "writing" || parts.length > 0))
      throw new NoArchiveTargetError();
    return 0;
  }

  async #unpack(
    { id, tenantId, parts }: Pick<Archive, "id" | "tenantId" | "parts">,
    index: number,
  ) {
    const part = parts[index]!;
    const object = await this.target.get({ tenantId, archiveId: id, part: index }, part.bytes);
    const { cipher } = this;
    return unpackPart(object, {
      archiveId: id,
      index,
      part,
      cipher,
      context: contextOf(tenantId, id, index),
    });
  }

  async #select(
    tenantId: string,
    { subject, threadId, day, states, lastBefore }: ArchiveFilter,
    {
      after,
      limit,
      order,
    }: {
      readonly after: string | null;
      readonly limit: number | null;
      readonly order: "asc" | "desc";
    },
  ): Promise<readonly ArchiveRow[]> {
    const { rows } = await this.#query<ArchiveRow>(tenantId, {
      text: `select ${columns} from ${this.tables.schema}.archive
        where tenant_id = $1::uuid and ($2::text is null or subject = $2) and ($3::text is null or thread_id = $3)
          and ($4::date is null or day = $4::date) and ($5::text[] is null or state = any($5::text[]))
          and ($6::timestamptz is null or last_at < $6) and ($7::uuid is null or id < $7::uuid)
        order by id ${order} limit $8::bigint`,
      values: [
        tenantId,
        subject ?? null,
        threadId ?? null,
        day ?? null,
        states ?? null,
        lastBefore ?? null,
        after,
        limit,
      ],
    });
    return rows;
  }

  async #deleteRow(tenantId: string, id: string): Promise<void> {
    await this.#query(tenantId, {
      text: `delete from ${this.tables.schema}.archive where id = $1::uuid`,
      values: [id],
    });
  }

  #query<Row>(
    tenantId: string,
    statement: { readonly text: string; readonly values: readonly unknown[] },
  ) {
    return queryTenant<Row>(this.tables.tenants, checkId("tenant", tenantId), statement);
  }
}

/** Binds a sealed object to its place. */
function contextOf(tenantId: string, archiveId: string, part: number): string {
  return `archive ${tenantId} ${archiveId} ${part}`;
}

function toArchive(row: ArchiveRow): Archive {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    subject: row.subject,
    threadId: row.thread_id,
    day: row.day,
    state: row.state,
    format: row.format,
    parts: row.parts,
    rows: Number(row.rows),
    bytes: Number(row.bytes),
    firstId: row.first_id,
    lastId: row.last_id,
    lastAt: isoTimeOrNull(row.last_at),
    fingerprint: row.fingerprint,
    holdUntil: isoTimeOrNull(row.hold_until),
    createdAt: isoTime(row.created_at),
  };
}

import { StratagraphError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import { checkCount } from "../../storage/platform/checks.ts";
import { ConflictError, NotFoundError } from "../../storage/platform/errors.ts";
import type { Platform } from "../../storage/platform/open-platform.ts";
import { type PartitionedTable } from "../../storage/platform/partitions.ts";
import { DamagedArchiveError } from "../../storage/retention/archive-object.ts";
import type { Archive } from "../../storage/retention/archives.ts";
import { lockRetention } from "../../storage/retention/retention-state.ts";
import { StoredRows } from "../../storage/retention/stored-rows.ts";
import { sqlStateOf } from "../../storage/errors.ts";
import { withTenant } from "../../storage/tenant.ts";
import {
  archivedRows,
  saverOf,
  type ThreadArchiveParts,
  type UseThreadServices,
} from "./archive-threads.ts";

/** Another process runs a round of retention, or restores. */
export class RetentionBusyError extends StratagraphError {
  readonly code = "retention_busy";
  override readonly kind = "run";
  override readonly transient = true;

  constructor() {
    super("Another process is archiving or restoring. Try again when it has ended.");
  }
}

export interface RestoreOptions {
  readonly platform: Pick<Platform, "tables" | "archives" | "partitions">;
  readonly useServices: UseThreadServices;
  readonly clock: Clock;
  readonly tenantId: string;
  /** Days for which what is restored is not archived again, 1 to 3,650. Default 30. */
  readonly holdDays?: number;
}

/** What was restored. */
export interface Restored {
  readonly archives: number;
  readonly rows: number;
  /** ISO 8601. It is not archived again before. */
  readonly holdUntil: string;
}

const dayMs = 86_400_000;

/**
 * Restores a thread from its newest archive: checkpoints, pending writes, attachments and calls. Every checkpoint is
 * verified. After an interruption the same call completes it.
 *
 * @throws NotFoundError without an archive; ConflictError if a thread of this id is there; RetentionBusyError,
 * DamagedArchiveError, NoArchiveTargetError, MissingEncryptionKeyError: nothing was restored then
 */
export async function restoreThread(
  options: RestoreOptions & { readonly threadId: string },
): Promise<Restored> {
  const { platform, tenantId, threadId, useServices } = options;
  const { archives, tables } = platform;
  const holdUntil = holdOf(options);
  return withLock(platform, async () => {
    const found = await archives.find(tenantId, {
      subject: "thread",
      threadId,
      states: ["archived", "restoring"],
    });
    const archive = found.at(-1);
    if (archive === undefined) throw new NotFoundError("archive", threadId);
    const parts: ThreadArchiveParts = {
      tables,
      archives,
      rows: new StoredRows(tables),
      useServices,
    };
    const isBegun = archive.state === "restoring";
    await useServices(tenantId, async ({ checkpointer }) => {
      const saver = saverOf(checkpointer);
      const isThere = await hasThread(options, threadId);
      if (isThere && !isBegun)
        throw new ConflictError(
          "thread",
          `There is a thread ${JSON.stringify(threadId)} already: delete it before its archive is restored.`,
        );
      if (!isThere) {
        await archives.setState(archive, "restoring", { holdUntil });
        await saver.importThread(exportedLines(archives.lines(archive)));
      }
      const { damaged, damagedAttachments = [] } = await saver.verifyThread(threadId);
      if (damaged.length + damagedAttachments.length === 0) return;
      await checkpointer?.deleteThread(threadId);
      throw new DamagedArchiveError(
        archive.id,
        0,
        `${damaged.length} checkpoints are not as they were written`,
      );
    });
    await completeThread(parts, archive);
    return { archives: 1, rows: archive.rows, holdUntil: holdUntil.toISOString() };
  });
}

/** Restores the calls of a thread whose checkpoints were restored, and removes the archive. */
export async function completeThread(
  { tables, archives, rows }: ThreadArchiveParts,
  archive: Archive,
): Promise<void> {
  await withTenant(tables.tenants, archive.tenantId, async (client) => {
    await rows.insert(client, archivedRows(archives, archive));
    await archives.setState(archive, "restored", { client });
  });
  await archives.remove({ ...archive, state: "restored" });
}

/**
 * Restores the rows of a day of a table, from all its archives: all of them or none.
 *
 * @throws NotFoundError without an archive; ConflictError if one of the rows is there; RetentionBusyError,
 * DamagedArchiveError, NoArchiveTargetError, MissingEncryptionKeyError: nothing was restored then
 */
export async function restoreDay(
  options: RestoreOptions & {
    readonly table: PartitionedTable;
    /** `YYYY-MM-DD`, UTC. */ readonly day: string;
  },
): Promise<Restored> {
  const { platform, tenantId, table, day } = options;
  const { archives, tables, partitions } = platform;
  const holdUntil = holdOf(options);
  return withLock(platform, async () => {
    const found = await archives.find(tenantId, { subject: table, day, states: ["archived"] });
    if (found.length === 0) throw new NotFoundError("archive", `${table} ${day}`);
    const rows = new StoredRows(tables);
    await partitions.ensureDay(day);
    const restored = await withTenant(tables.tenants, tenantId, async (client) => {
      let inserted = 0;
      const seen = new Set<string>();
      // A row that was written again after it was archived is in a newer archive too: that one counts.
      for (const archive of found.toReversed()) {
        inserted += await rows.insert(client, unseen(archivedRows(archives, archive), seen));
        await archives.setState(archive, "restored", { holdUntil, client });
      }
      return inserted;
    }).catch((thrown: unknown) => {
      if (sqlStateOf(thrown) !== "23505") throw thrown;
      throw new ConflictError(
        "row",
        `Rows of ${table} on ${day} are in the database already: nothing was restored.`,
      );
    });
    for (const archive of found) await archives.remove({ ...archive, state: "restored" });
    return { archives: found.length, rows: restored, holdUntil: holdUntil.toISOString() };
  });
}

function holdOf({ clock, holdDays = 30 }: RestoreOptions): Date {
  checkCount("hold_days", holdDays, { from: 1, to: 3_650 });
  return new Date(clock.now().getTime() + holdDays * dayMs);
}

async function withLock<T>(
  platform: RestoreOptions["platform"],
  work: () => Promise<T>,
): Promise<T> {
  const lock = await lockRetention(platform.tables);
  if (lock === null) throw new RetentionBusyError();
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function hasThread(
  { platform, tenantId }: RestoreOptions,
  threadId: string,
): Promise<boolean> {
  const { tenants, schema } = platform.tables;
  return withTenant(tenants, tenantId, async (client) => {
    const { rows } = await client.query(
      `select from ${schema}.checkpoint_threads where tenant_id = $1::uuid and thread_id = $2`,
      [tenantId, threadId],
    );
    return rows.length > 0;
  });
}

const threadPrefix = '{"thread":';

async function* exportedLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines)
    if (line.startsWith(threadPrefix)) yield line.slice(threadPrefix.length, -1);
}

async function* unseen(
  rows: ReturnType<typeof archivedRows>,
  seen: Set<string>,
): ReturnType<typeof archivedRows> {
  for await (const row of rows) {
    const id = row.row["id"] ?? "";
    if (seen.has(id)) continue;
    seen.add(id);
    yield row;
  }
}

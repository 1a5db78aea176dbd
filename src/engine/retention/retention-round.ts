import type { Clock } from "../../clock.ts";
import { partitionedTables } from "../../storage/platform/partitions.ts";
import type { Platform } from "../../storage/platform/open-platform.ts";
import type { Tenant } from "../../storage/platform/tenants.ts";
import { kindOfTable, limitOf, policyOf, type RowStages } from "../../storage/retention/policy.ts";
import {
  lockRetention,
  noMoves,
  type RetentionMoves,
} from "../../storage/retention/retention-state.ts";
import { StoredRows } from "../../storage/retention/stored-rows.ts";
import {
  archiveDay,
  type DayArchiveParts,
  type DueDay,
  deleteDay,
  nextDay,
  settleDay,
} from "./archive-days.ts";
import {
  archiveThread,
  cursorOf,
  deleteIdleThread,
  hasCheckpoint,
  type IdleThread,
  idleThreads,
  settleThread,
  thinThread,
  type ThreadArchiveParts,
  type UseThreadServices,
} from "./archive-threads.ts";
import { completeThread } from "./restore.ts";

export interface RetentionOptions {
  readonly platform: Pick<Platform, "tables" | "tenants" | "archives" | "partitions" | "retention">;
  readonly useServices: UseThreadServices;
  readonly clock: Clock;
  /** Ends the round before its next thread or day. What is left is done by the next round. */
  readonly signal?: AbortSignal;
  /** Called with what a thread, a day or a tenant throws. The others are done. */
  readonly onError: (error: unknown) => void;
  /** Only this tenant. Default: all of them. */
  readonly tenantId?: string;
  /** Threads that a round thins, and archives, of a tenant; archives of days likewise. Default 1,000. */
  readonly most?: number;
}

/** What a round did, by tenant. */
export interface RetentionRound {
  readonly tenants: readonly { readonly tenantId: string; readonly moves: RetentionMoves }[];
  /** Partitions without rows that were dropped. */
  readonly dropped: readonly string[];
}

/**
 * Moves what has reached its age: checkpoints are thinned, threads and days are archived, archives are deleted. One process
 * at a time does it; null if another one does. After an interruption at any point the next round completes it.
 */
export async function runRetention(options: RetentionOptions): Promise<RetentionRound | null> {
  const lock = await lockRetention(options.platform.tables);
  if (lock === null) return null;
  try {
    const signals = [lock.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const isOver = () => signals.some(({ aborted }) => aborted);
    const tenants: { tenantId: string; moves: RetentionMoves }[] = [];
    for await (const tenant of tenantsOf(options)) {
      if (isOver()) break;
      const round = new TenantRound(options, tenant, isOver);
      await round.run();
      tenants.push({ tenantId: tenant.id, moves: round.moves });
    }
    const dropped: string[] = [];
    for (const table of partitionedTables) {
      if (isOver()) break;
      dropped.push(...(await options.platform.partitions.dropEmpty(table)).dropped);
    }
    return { tenants, dropped };
  } finally {
    await lock.release();
  }
}

/** What a round would do now. */
export interface RetentionPlan {
  readonly tenantId: string;
  readonly threads_to_thin: number;
  readonly threads_to_archive: number;
  readonly days_to_archive: number;
  readonly archives_to_delete: number;
}

/** Counts what a round would begin with, at most `most` of each kind and tenant. Changes nothing. */
export async function planRetention(options: RetentionOptions): Promise<readonly RetentionPlan[]> {
  const { platform, clock, most = usualMost } = options;
  const { tables, archives, retention } = platform;
  const plans: RetentionPlan[] = [];
  for await (const { id: tenantId, settings } of tenantsOf(options)) {
    const policy = policyOf(settings.retention);
    const { thin_after_days, ...stages } = policy.checkpoints;
    const idle = async (before: Date | null, after: string) =>
      before === null
        ? 0
        : (await idleThreads(tables, tenantId, { before, after, limit: most })).length;
    let days = 0;
    for (const table of partitionedTables) {
      const before = removalLimit(
        policy[kindOfTable[table]],
        archives.isConfigured,
        clock.now(),
      )?.before;
      if (before === undefined) continue;
      let due = await nextDay(tables, tenantId, { table, before, after: null });
      for (; due !== null && days < most; days += 1)
        due = await nextDay(tables, tenantId, { table, before, after: due.day });
    }
    let expired = 0;
    for (const [subject, before] of expiries(policy, clock.now()))
      expired += (
        await archives.find(tenantId, { subject, lastBefore: before, states: ["archived"] })
      ).length;
    plans.push({
      tenantId,
      threads_to_thin: await idle(
        limitOf(thin_after_days, clock.now()),
        await retention.thinnedUntil(tenantId),
      ),
      threads_to_archive: await idle(
        removalLimit(stages, archives.isConfigured, clock.now())?.before ?? null,
        "",
      ),
      days_to_archive: days,
      archives_to_delete: expired,
    });
  }
  return plans;
}

const usualMost = 1_000;
/** Threads that are looked for at a time. */
const page = 50;

async function* tenantsOf({ platform, tenantId }: RetentionOptions): AsyncGenerator<Tenant> {
  if (tenantId !== undefined) return yield await platform.tenants.get(tenantId);
  for (let cursor: string | null | undefined; cursor !== null;) {
    const found = await platform.tenants.list({ limit: 200, ...(cursor && { cursor }) });
    yield* found.items;
    cursor = found.next;
  }
}

/** When rows leave the tables, and whether they are archived then; null if they stay. */
function removalLimit(
  stages: RowStages,
  canArchive: boolean,
  now: Date,
): { readonly before: Date; readonly isArchived: boolean } | null {
  const isArchived = stages.archive_after_days !== "off";
  // Without a place for archives, what would be archived stays.
  if (isArchived && !canArchive) return null;
  const before = limitOf(isArchived ? stages.archive_after_days : stages.delete_after_days, now);
  return before === null ? null : { before, isArchived };
}

/** The times before which archives are deleted, by what they hold. */
function expiries(policy: ReturnType<typeof policyOf>, now: Date) {
  const kinds = [
    ["thread", "checkpoints"] as const,
    ...partitionedTables.map((table) => [table, kindOfTable[table]] as const),
  ];
  return kinds.flatMap(([subject, kind]) => {
    const before = limitOf(policy[kind].delete_after_days, now);
    return before === null ? [] : [[subject, before] as const];
  });
}

/** The round of one tenant. */
class TenantRound {
  readonly moves = noMoves();
  readonly #parts: ThreadArchiveParts & DayArchiveParts;

  constructor(
    private readonly options: RetentionOptions,
    private readonly tenant: Tenant,
    private readonly isOver: () => boolean,
  ) {
    const { platform, useServices } = options;
    const { tables, archives } = platform;
    this.#parts = { tables, archives, rows: new StoredRows(tables), useServices };
  }

  async run(): Promise<void> {
    const { platform, clock } = this.options;
    const policy = policyOf(this.tenant.settings.retention);
    const now = clock.now();
    const { thin_after_days, ...threads } = policy.checkpoints;
    const canArchive = platform.archives.isConfigured;
    if (canArchive) await this.#attempt(() => this.#complete());
    await this.#attempt(() => this.#thin(limitOf(thin_after_days, now)));
    await this.#attempt(() => this.#moveThreads(removalLimit(threads, canArchive, now)));
    for (const table of partitionedTables)
      await this.#attempt(() =>
        this.#moveDays(table, removalLimit(policy[kindOfTable[table]], canArchive, now)),
      );
    if (canArchive) await this.#attempt(() => this.#expire(expiries(policy, now)));
    await this.#attempt(() => platform.retention.saveRound(this.tenant.id, this.moves));
  }

  /** Completes what a process left that ended in the middle. */
  async #complete(): Promise<void> {
    const { archives, tables } = this.#parts;
    const states = ["writing", "stored", "restoring", "restored", "removing"] as const;
    for (const archive of await archives.find(this.tenant.id, { states })) {
      if (this.isOver()) return;
      await this.#attempt(async () => {
        const isThread = archive.subject === "thread";
        switch (archive.state) {
          case "writing":
          case "removing":
            return archives.remove(archive);
          case "stored": {
            if (isThread) return void (await settleThread(this.#parts, archive));
            return settleDay(this.#parts, archive);
          }
          case "restoring":
            // The thread itself is restored in one transaction.
            if (await hasCheckpoint(tables, archive)) return completeThread(this.#parts, archive);
            return archives.setState(archive, "archived");
          case "restored":
            if (archive.parts.length > 0) await archives.remove(archive);
            return;
          case "archived":
        }
      });
    }
    await archives.forgetRestored(this.tenant.id);
  }

  async #thin(before: Date | null): Promise<void> {
    const { retention } = this.options.platform;
    const { tables } = this.#parts;
    if (before === null) return;
    const after = await retention.thinnedUntil(this.tenant.id);
    await this.#eachIdle(
      before,
      after,
      async (thread) => {
        const pruned = await thinThread(this.#parts, this.tenant.id, {
          threadId: thread.threadId,
          olderThan: before,
        });
        if (pruned !== null && pruned.checkpoints > 0) {
          this.moves.thinned.threads += 1;
          this.moves.thinned.rows += pruned.checkpoints;
          this.moves.thinned.bytes += pruned.bytes;
        }
        await retention.saveThinned(this.tenant.id, cursorOf(thread));
      },
      tables,
    );
  }

  async #moveThreads(limit: ReturnType<typeof removalLimit>): Promise<void> {
    if (limit === null) return;
    const { moves } = this;
    await this.#eachIdle(
      limit.before,
      "",
      async (thread) => {
        if (!limit.isArchived) {
          if (await deleteIdleThread(this.#parts, this.tenant.id, thread))
            moves.deleted.threads += 1;
          return;
        }
        const archive = await archiveThread(this.#parts, this.tenant.id, thread);
        if (archive === null) return;
        moves.archived.threads += 1;
        moves.archived.rows += archive.rows;
        moves.archived.bytes += archive.bytes;
      },
      this.#parts.tables,
    );
  }

  async #moveDays(
    table: (typeof partitionedTables)[number],
    limit: ReturnType<typeof removalLimit>,
  ): Promise<void> {
    if (limit === null) return;
    const { most = usualMost } = this.options;
    let [after, left]: [string | null, number] = [null, most];
    while (left > 0 && !this.isOver()) {
      const { before } = limit;
      const due = await nextDay(this.#parts.tables, this.tenant.id, { table, before, after });
      if (due === null) return;
      after = due.day;
      left -= 1;
      const room = left;
      await this.#attempt(async () => {
        left -= await this.#moveDay(due, { isArchived: limit.isArchived, most: room });
      });
    }
  }

  /** Returns how many archives it wrote. */
  async #moveDay(
    due: DueDay,
    { isArchived, most }: { readonly isArchived: boolean; readonly most: number },
  ): Promise<number> {
    const { moves } = this;
    if (!isArchived) {
      moves.deleted.rows += await deleteDay(this.#parts, this.tenant.id, due);
      return 0;
    }
    let written = 0;
    while (written <= most && !this.isOver()) {
      const archive = await archiveDay(this.#parts, this.tenant.id, due);
      if (archive === null) break;
      written += 1;
      moves.archived.rows += archive.rows;
      moves.archived.bytes += archive.bytes;
    }
    return written;
  }

  async #expire(limits: ReturnType<typeof expiries>): Promise<void> {
    const { archives } = this.#parts;
    for (const [subject, lastBefore] of limits) {
      for (const archive of await archives.find(this.tenant.id, {
        subject,
        lastBefore,
        states: ["archived"],
      })) {
        if (this.isOver()) return;
        await this.#attempt(async () => {
          await archives.setState(archive, "removing");
          await archives.remove(archive);
          this.moves.deleted.archives += 1;
          this.moves.deleted.rows += archive.rows;
          this.moves.deleted.bytes += archive.bytes;
        });
      }
    }
  }

  async #eachIdle(
    before: Date,
    from: string,
    work: (thread: IdleThread) => Promise<void>,
    tables: ThreadArchiveParts["tables"],
  ): Promise<void> {
    const { most = usualMost } = this.options;
    let after = from;
    for (let left = most; left > 0;) {
      const threads = await idleThreads(tables, this.tenant.id, {
        before,
        after,
        limit: Math.min(left, page),
      });
      for (const thread of threads) {
        if (this.isOver()) return;
        await this.#attempt(() => work(thread));
        after = cursorOf(thread);
      }
      left -= threads.length;
      if (threads.length < page) return;
    }
  }

  /** Reports what one part throws, so that the others are done. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.moves.failures += 1;
      this.options.onError(error);
    }
  }
}

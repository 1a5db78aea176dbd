import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { type ThreadKeeper, withThread } from "../../compile/run/acquire-thread.ts";
import { type DurableSaver, durableSaver } from "../../durable-saver.ts";
import { StratagraphError } from "../../errors.ts";
import type { Threads } from "../../runtime/threads/threads.ts";
import type { PlatformTables } from "../../storage/platform/platform.ts";
import { activeStates } from "../../storage/platform/runs/run-rows.ts";
import type { Archive, ArchiveLine, Archives } from "../../storage/retention/archives.ts";
import { rowLine, type StoredRow, type StoredRows } from "../../storage/retention/stored-rows.ts";
import { withTenant } from "../../storage/tenant.ts";

/** The parts of a tenant's runtime that retention uses. */
export type ThreadServices = Pick<ThreadKeeper, "lockThread"> & {
  readonly checkpointer?: (BaseCheckpointSaver & Partial<DurableSaver>) | undefined;
  readonly threads: Pick<Threads, "prune">;
};

export type UseThreadServices = <T>(
  tenantId: string,
  work: (services: ThreadServices) => Promise<T>,
) => Promise<T>;

/** A thread without a run under way, and without a request that waits for an answer. */
export interface IdleThread {
  readonly threadId: string;
  /** Id of its last checkpoint. */
  readonly lastId: string;
}

export interface ThreadArchiveParts {
  readonly tables: PlatformTables;
  readonly archives: Archives;
  readonly rows: StoredRows;
  readonly useServices: UseThreadServices;
}

/** The first version 6 UUID of a time, without its last digits: ids of checkpoints compare with it as texts. */
export function firstCheckpointIdAt(time: Date): string {
  const ticks = (BigInt(time.getTime()) + 12_219_292_800_000n) * 10_000n;
  const hex = ticks.toString(16).padStart(15, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-6${hex.slice(12)}`;
}

/** The time in the id of a checkpoint of LangGraph. */
function timeOfCheckpoint(id: string): Date {
  const ticks = BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(15, 18)}`);
  return new Date(Number(ticks / 10_000n - 12_219_292_800_000n));
}

/** Threads whose last checkpoint is older than a time, oldest first, after one of them. */
export async function idleThreads(
  { tenants, schema, clock }: PlatformTables,
  tenantId: string,
  of: {
    readonly before: Date;
    /** As {@link cursorOf} gives it; empty for the first. */
    readonly after: string;
    readonly limit: number;
  },
): Promise<readonly IdleThread[]> {
  return withTenant(tenants, tenantId, async (client) => {
    const table = `${schema}.checkpoint_threads`;
    const { rows: there } = await client.query<{ name: string | null }>(
      "select to_regclass($1)::text as name",
      [table],
    );
    if (there[0]?.name === null) return [];
    const { rows } = await client.query<IdleThread>(
      `select t.thread_id as "threadId", t.last_id as "lastId" from ${table} t
      where t.tenant_id = $1::uuid and t.last_id < $2 and t.last_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-6'
        and (t.last_id || ' ' || t.thread_id) collate "C" > $3 collate "C"
        and coalesce(t.status, '') not in ('AWAITING_HUMAN', 'AWAITING_TOOL') and not ${isUnderWay(schema)}
        and not exists (select from ${schema}.archive a where a.tenant_id = $1::uuid and a.thread_id = t.thread_id
          and (a.state in ('stored', 'restoring') or a.state = 'restored' and a.hold_until > $5))
      order by (t.last_id || ' ' || t.thread_id) collate "C" limit $4`,
      [tenantId, firstCheckpointIdAt(of.before), of.after, of.limit, clock.now()],
    );
    return rows;
  });
}

export function cursorOf({ lastId, threadId }: IdleThread): string {
  return `${lastId} ${threadId}`;
}

function isUnderWay(schema: string): string {
  return `exists (select from ${schema}.run r where r.tenant_id = $1::uuid and r.thread_id = t.thread_id
    and r.state in ${activeStates})`;
}

/** Thins the checkpoints of a thread to those that end turns; null if it is in use. */
export async function thinThread(
  { useServices }: Pick<ThreadArchiveParts, "useServices">,
  tenantId: string,
  of: { readonly threadId: string; readonly olderThan: Date },
) {
  return useServices(tenantId, ({ threads }) =>
    threads.prune({ ...of, keep: "turn_ends" }).catch(nullIfInUse),
  );
}

/** Deletes a thread without an archive; false if it is in use. */
export async function deleteIdleThread(
  { tables, rows, useServices }: ThreadArchiveParts,
  tenantId: string,
  { threadId }: IdleThread,
): Promise<boolean> {
  const deleted = await useServices(tenantId, async (services) =>
    withThread(services, threadId, async () => {
      if (await hasRunUnderWay(tables, tenantId, threadId)) return false;
      await services.checkpointer?.deleteThread(threadId);
      const calls = { table: "tool_journal", threadId } as const;
      await rows.delete(tenantId, calls, rows.read(tenantId, calls));
      return true;
    }).catch(nullIfInUse),
  );
  return deleted === true;
}

/**
 * Moves a thread into an archive: its checkpoints, pending writes, attachments and calls. Runs are not kept waiting: the
 * thread is locked only while it is removed, and one that has changed since stays.
 *
 * @returns null if the thread is in use, or has changed meanwhile
 */
export async function archiveThread(
  parts: ThreadArchiveParts,
  tenantId: string,
  { threadId }: IdleThread,
): Promise<Archive | null> {
  const { archives } = parts;
  const fingerprint = await fingerprintOf(parts.tables, tenantId, threadId);
  if (fingerprint === null) return null;
  const of = { subject: "thread", threadId, fingerprint } as const;
  const stored = await parts.useServices(tenantId, (services) =>
    archives.write(tenantId, of, threadLines(parts, services, { tenantId, threadId })),
  );
  return stored === null ? null : settleThread(parts, stored);
}

/** Removes from the tables what a `stored` archive of a thread holds. What was begun before is completed. */
export async function settleThread(
  parts: ThreadArchiveParts,
  archive: Archive,
): Promise<Archive | null> {
  const { tables, archives, rows, useServices } = parts;
  const { tenantId, threadId } = archive;
  if (threadId === null) throw new TypeError("an archive of rows");
  const isRemoved = await useServices(tenantId, async (services) =>
    withThread(services, threadId, async () => {
      // The thread itself goes in one transaction: without its last checkpoint it was removed before.
      if (!(await hasCheckpoint(tables, archive))) return true;
      const isSame = (await fingerprintOf(tables, tenantId, threadId)) === archive.fingerprint;
      if (!isSame || (await hasRunUnderWay(tables, tenantId, threadId))) return false;
      await services.checkpointer?.deleteThread(threadId);
      return true;
    }).catch(nullIfInUse),
  );
  if (isRemoved !== true) {
    // It is archived anew when it is idle again.
    await archives.remove(archive);
    return null;
  }
  await rows.delete(tenantId, { table: "tool_journal", threadId }, archivedRows(archives, archive));
  await archives.setState(archive, "archived");
  return archive;
}

/** Whether the last checkpoint of an archive is in the tables. */
export async function hasCheckpoint(
  { tenants, schema }: PlatformTables,
  archive: Archive,
): Promise<boolean> {
  return withTenant(tenants, archive.tenantId, async (client) => {
    const { rows } = await client.query(
      `select from ${schema}.checkpoints where tenant_id = $1::uuid and thread_id = $2 and checkpoint_ns = '' and checkpoint_id = $3`,
      [archive.tenantId, archive.threadId, archive.lastId],
    );
    return rows.length > 0;
  });
}

async function hasRunUnderWay(
  { tenants, schema }: PlatformTables,
  tenantId: string,
  threadId: string,
) {
  return withTenant(tenants, tenantId, async (client) => {
    const { rows } = await client.query<{ found: boolean }>(
      `select ${isUnderWay(schema)} as found from (select $2::text as thread_id) t`,
      [tenantId, threadId],
    );
    return rows[0]?.found === true;
  });
}

/** A hash over the checkpoints and the pending writes of a thread; null if it has no checkpoint. */
async function fingerprintOf(
  { tenants, schema }: PlatformTables,
  tenantId: string,
  threadId: string,
): Promise<string | null> {
  return withTenant(tenants, tenantId, async (client) => {
    const { rows } = await client.query<{ hash: string | null }>(
      `select case when bool_or(kind = 'c') then
        encode(sha256(convert_to(string_agg(kind || ns || ' ' || id || ' ' || more, E'\\n' order by kind, ns, id, more), 'UTF8')), 'hex') end as hash
      from (
        select 'c' as kind, checkpoint_ns as ns, checkpoint_id as id, coalesce(encode(hash, 'hex'), '') as more
          from ${schema}.checkpoints where tenant_id = $1::uuid and thread_id = $2
        union all select 's', checkpoint_ns, checkpoint_id, task_id || ' ' || idx || ' ' || encode(hash, 'hex')
          from ${schema}.checkpoint_write_sets where tenant_id = $1::uuid and thread_id = $2
        union all select 'w', checkpoint_ns, checkpoint_id, task_id || ' ' || idx
          from ${schema}.checkpoint_writes where tenant_id = $1::uuid and thread_id = $2
        union all select 'a', sha256, '', '' from ${schema}.attachment_uses where tenant_id = $1::uuid and thread_id = $2
      ) stored`,
      [tenantId, threadId],
    );
    return rows[0]?.hash ?? null;
  });
}

/** A checkpoint of the thread itself, or of a subgraph, as the beginning of its line in an export. */
const checkpointStart =
  /^\{"(?:stockCheckpoint|checkpoint)":\{"namespace":"((?:[^"\\]|\\.)*)","id":"([^"\\]*)"/;

/** Yields the lines of an archive of a thread: `{"thread":…}` for those of its export, and a row for each call of its journal. */
async function* threadLines(
  { rows }: Pick<ThreadArchiveParts, "rows">,
  { checkpointer }: ThreadServices,
  of: { readonly tenantId: string; readonly threadId: string },
): AsyncGenerator<ArchiveLine> {
  const { tenantId, threadId } = of;
  for await (const exported of saverOf(checkpointer).exportThread(threadId)) {
    const text = `{"thread":${exported}}`;
    const [, namespace, id = ""] = checkpointStart.exec(exported) ?? [];
    if (namespace === undefined) yield { text };
    else yield { text, row: namespace === "" ? { id, at: timeOfCheckpoint(id) } : {} };
  }
  for await (const row of rows.read(tenantId, { table: "tool_journal", threadId }))
    yield { text: JSON.stringify(row), row: {} };
}

export function saverOf(checkpointer: ThreadServices["checkpointer"]) {
  const saver = durableSaver(checkpointer, ["exportThread", "importThread", "verifyThread"]);
  if (saver === null) throw new TypeError("a checkpointer without exports");
  return saver;
}

/** The rows in the lines of an archive. */
export async function* archivedRows(
  archives: Archives,
  archive: Archive,
): AsyncGenerator<StoredRow> {
  for await (const line of archives.lines(archive))
    if (!line.startsWith('{"thread":')) yield rowLine.parse(JSON.parse(line));
}

/** A thread that runs, in this process or in another, is left alone until the next round. */
function nullIfInUse(thrown: unknown): null {
  const isInUse =
    thrown instanceof StratagraphError && ["thread_busy", "thread_locked"].includes(thrown.code);
  if (isInUse) return null;
  throw thrown;
}

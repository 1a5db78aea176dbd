import type { Clock } from "../../clock.ts";
import { TurnCancelledError } from "../../compile/errors.ts";
import type { ThreadLock } from "../../compile/run/acquire-thread.ts";
import type { Database } from "../database.ts";
import { quoteIdentifier } from "../pool.ts";
import { defaultTenant, openTenantPool, type TenantPool, withTenant } from "../tenant.ts";
import type { ThreadFences } from "../tenant-pool.ts";
import { lockThread } from "../thread-lock.ts";

/** Milliseconds between two looks at the requests for the threads that a process runs. */
export const cancelPollMs = 500;

const table = "cancel_request";

export interface CancelRequestOptions {
  readonly clock: Clock;
  /** Default: that of a process that serves only one. */
  readonly tenantId?: string | undefined;
  /** Schema of the tables. Default `stratagraph`. */
  readonly schema?: string;
  /** The threads of claimed runs, whose lock a frozen process may hold as well. Default none. */
  readonly fences?: Pick<ThreadFences, "of"> | undefined;
}

/** A thread that this process runs. */
interface WatchedThread {
  readonly threadId: string;
  /** The server's time when its lock was asked for: earlier requests were for an earlier run. */
  readonly since: string;
  readonly cancelling: AbortController;
}

/**
 * Requests to cancel the runs of other processes: rows that the process which holds a thread's lock looks for while it
 * holds any. Processes on an embedded database need none, since no other process has it open.
 */
export class CancelRequests {
  readonly #watched = new Set<WatchedThread>();
  readonly #tenantId: string;
  readonly #schema: string;
  #tables: Promise<TenantPool> | undefined;
  #stopTimer: (() => void) | undefined;
  #isLooking = false;

  constructor(
    private readonly database: Pick<Database, "pool">,
    private readonly options: CancelRequestOptions,
  ) {
    this.#tenantId = options.tenantId ?? defaultTenant;
    this.#schema = options.schema ?? "stratagraph";
  }

  /** Whether another process may run threads of this database. */
  get isShared(): boolean {
    return this.database.pool.heldLocks === undefined;
  }

  /**
   * Takes a thread as {@link lockThread} does, and watches for requests until it is released.
   *
   * @throws ThreadLockedError
   */
  readonly lockThread = async (threadId: string): Promise<ThreadLock> => {
    const lock = await lockThread(this.database, threadId, {
      schema: this.#schema,
      tenantId: this.#tenantId,
      isShared: this.options.fences?.of(threadId) !== undefined,
    });
    if (lock.takenAt === undefined) return lock;
    const thread = { threadId, since: lock.takenAt, cancelling: new AbortController() };
    this.#watched.add(thread);
    this.#schedule();
    return {
      signal: lock.signal,
      cancelled: thread.cancelling.signal,
      release: async () => {
        if (this.#watched.delete(thread) && this.#watched.size === 0) this.#stop();
        // Before another run can take the thread. A request that stays is void for it all the same.
        if (thread.cancelling.signal.aborted) await this.#remove(threadId).catch(() => undefined);
        await lock.release();
      },
    };
  };

  /**
   * Asks the process that runs a thread to cancel it. A second request replaces the first one.
   *
   * @returns the server's time of the request, for {@link isOpen}
   */
  async add(threadId: string, reason: string | null): Promise<string> {
    this.#tables ??= this.#open(true);
    return this.#query(async (client, name) => {
      const { rows } = await client.query<{ at: string }>(
        `insert into ${name} (tenant_id, thread_id, reason) values ($1, $2, $3)
        on conflict (tenant_id, thread_id) do update set requested_at = now(), reason = excluded.reason
        returning requested_at::text as at`,
        [this.#tenantId, threadId, reason],
      );
      return rows[0]!.at;
    });
  }

  /** Returns whether a request, or a later one, is still there: the run that it was for has not ended by it. */
  async isOpen(threadId: string, requestedAt: string): Promise<boolean> {
    return this.#query(async (client, name) => {
      const { rows } = await client.query(
        `select from ${name} where tenant_id = $1 and thread_id = $2 and requested_at >= $3::timestamptz`,
        [this.#tenantId, threadId, requestedAt],
      );
      return rows.length > 0;
    });
  }

  /**
   * Looks for requests for the threads of this process now, in one query, and removes those that were for an earlier
   * run. A notification of the server may call it at any time.
   */
  async check(): Promise<void> {
    if (this.#watched.size === 0 || !(await this.#exists())) return;
    const watched = [...this.#watched];
    const found = await this.#query(async (client, name) => {
      const { rows } = await client.query<Found>(
        `select r.thread_id as "threadId", r.reason, r.requested_at >= w.since as "isNew"
        from ${name} r join unnest($2::text[], $3::timestamptz[]) w (thread_id, since) using (thread_id)
        where r.tenant_id = $1`,
        [
          this.#tenantId,
          watched.map(({ threadId }) => threadId),
          watched.map(({ since }) => since),
        ],
      );
      return rows;
    });
    for (const { threadId, reason, isNew } of found) {
      if (!isNew) {
        await this.#remove(threadId, watched.find((one) => one.threadId === threadId)?.since);
        continue;
      }
      const thread = watched.find((one) => one.threadId === threadId);
      if (thread === undefined || !this.#watched.has(thread)) continue;
      thread.cancelling.abort(new TurnCancelledError(threadId, reason));
    }
  }

  #schedule(): void {
    if (this.#stopTimer !== undefined || this.#isLooking) return;
    const look = async () => {
      this.#stopTimer = undefined;
      this.#isLooking = true;
      // A look that fails must not end a run; the next one may succeed.
      await this.check().catch(() => undefined);
      this.#isLooking = false;
      if (this.#watched.size > 0) this.#schedule();
    };
    const { clock } = this.options;
    this.#stopTimer = clock.after(cancelPollMs, () => void look(), { keepsAlive: false });
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** @param before the server's time; later requests stay */
  async #remove(threadId: string, before?: string): Promise<void> {
    await this.#query((client, name) =>
      client.query(
        `delete from ${name} where tenant_id = $1 and thread_id = $2
        and requested_at < coalesce($3::timestamptz, 'infinity')`,
        [this.#tenantId, threadId, before ?? null],
      ),
    );
  }

  async #query<T>(
    work: (client: Parameters<Parameters<typeof withTenant<T>>[2]>[0], name: string) => Promise<T>,
  ): Promise<T> {
    const tenants = await (this.#tables ??= this.#open(false));
    const name = `${quoteIdentifier(this.#schema)}.${table}`;
    return withTenant(tenants, this.#tenantId, (client) => work(client, name));
  }

  /** A process that only runs threads makes no tables: without them there are no requests. */
  async #exists(): Promise<boolean> {
    if (this.#tables !== undefined) return true;
    const { rows } = await this.database.pool.query(
      `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = $2`,
      [this.#schema, table],
    );
    return rows.length > 0;
  }

  async #open(makesTables: boolean): Promise<TenantPool> {
    const [{ pool }, schema] = [this.database, this.#schema];
    try {
      if (!makesTables) return await openTenantPool(pool, { schema, tables: [table] });
      const { openPlatform } = await import("./open-platform.ts");
      const { tables } = await openPlatform(this.database, { schema, clock: this.options.clock });
      return tables.tenants;
    } catch (thrown) {
      this.#tables = undefined;
      throw thrown;
    }
  }
}

interface Found {
  readonly threadId: string;
  readonly reason: string | null;
  readonly isNew: boolean;
}

import { queryAllTenants, queryTenant } from "../../tenant.ts";
import { checkCount, checkText, isoTime, isoTimeOrNull } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";
import type { WorkerScope } from "./create-run.ts";
import { putBack, type RunKind, type RunState } from "./run-rows.ts";

/** A process that takes runs, as its row says. */
export interface Worker {
  readonly id: string;
  /** As in `worker` of its runs. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Null: all kinds. */
  readonly kinds: readonly RunKind[] | null;
  readonly labels: readonly string[];
  readonly concurrency: number;
  /** Runs that it executed when it was last seen. */
  readonly running: number;
  /** Whether others see its end at once. Otherwise its runs are put back when their leases end. */
  readonly isWatched: boolean;
  readonly startedAt: string;
  readonly seenAt: string;
  /** Milliseconds since then, by the clock of the database. */
  readonly silentMs: number;
}

/** What a worker writes of itself. */
export interface WorkerEntry
  extends
    WorkerScope,
    Pick<Worker, "id" | "name" | "host" | "pid" | "version" | "concurrency" | "running"> {
  /** The advisory lock that one of its sessions holds, as a decimal number; null without one. */
  readonly lockKey: string | null;
  readonly startedAt: Date;
}

/** A worker whose lock has gone. */
export interface LostWorker {
  readonly id: string;
  readonly lockKey: string;
}

/** Numbers of runs by state. Runs that have ended are not counted, apart from dead ones. */
export interface QueueDepth {
  /** Runs that a worker may take, or that wait for another run of their thread. */
  readonly queued: number;
  /** Queued runs whose time has not come. */
  readonly delayed: number;
  readonly running: number;
  readonly awaitingHuman: number;
  readonly awaitingTool: number;
  /** Runs that wait for a time or an event. */
  readonly awaitingEvent: number;
  readonly dead: number;
  /** Since when the oldest of `queued` is due; null without one. */
  readonly oldestAt: string | null;
}

/** The queue of all tenants. */
export interface QueueState extends QueueDepth {
  /** Running runs by name of their worker. */
  readonly runningBy: readonly { readonly worker: string; readonly runs: number }[];
  /** Runs that were put back since their lease had ended. */
  readonly endedLeases: number;
  /** Runs that were put back since their worker had died. */
  readonly takeovers: number;
}

interface WorkerRow {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly kinds: readonly RunKind[] | null;
  readonly labels: readonly string[];
  readonly concurrency: number;
  readonly running: number;
  readonly watched: boolean;
  readonly started_at: Date;
  readonly seen_at: Date;
  readonly silent_ms: number;
}

interface DepthRow {
  readonly states: Readonly<Partial<Record<RunState | "delayed", number>>>;
  readonly oldest: Date | null;
}

/** Seconds after which the row of a worker without a lock is removed. */
const silentSeconds = 60;
/** Workers that a list has, by name. */
const maxListed = 1_000;

/** The processes that take runs, and what they have to do. Operators read it; tenants read their own depth. */
export class Workers {
  constructor(private readonly tables: PlatformTables) {}

  /** Writes the row of a worker, also after others have removed it. @throws InvalidValueError */
  async publish(entry: WorkerEntry): Promise<void> {
    await this.#query(
      `insert into ${this.#name} as w (id, name, host, pid, version, kinds, labels, concurrency, running, lock_key, started_at)
      values ($1::uuid, $2, $3, $4::integer, $5, $6::text[], $7::text[], $8::integer, $9::integer, $10::bigint, $11::timestamptz)
      on conflict (id) do update set running = excluded.running, lock_key = excluded.lock_key, seen_at = now()`,
      [
        entry.id,
        checkText("worker", entry.name, 200),
        checkText("host", entry.host, 255),
        entry.pid,
        checkText("version", entry.version, 100),
        entry.kinds ?? null,
        entry.labels ?? [],
        checkCount("concurrency", entry.concurrency, { from: 0, to: 100_000 }),
        entry.running,
        entry.lockKey,
        entry.startedAt,
      ],
    );
  }

  /** Removes the row of a worker that has ended, whose runs were handed over. */
  async remove(id: string): Promise<void> {
    await this.#query(`delete from ${this.#name} where id = $1::uuid`, [id]);
  }

  /** Removes the rows of all workers, where no other process uses the database. */
  async removeAll(): Promise<void> {
    await this.#query(`delete from ${this.#name}`, []);
  }

  /**
   * The workers whose lock has gone, and whether `own` has a row. It reads the locks of the server and the few rows of
   * workers, and writes nothing.
   */
  async look(
    own: string,
  ): Promise<{ readonly lost: readonly LostWorker[]; readonly isKnown: boolean }> {
    const rows = await this.#query<{ id: string; lock_key: string | null }>(
      `select w.id, w.lock_key::text as lock_key from ${this.#name} w
      where w.id = $1::uuid or (w.lock_key is not null and ${this.#isGone})`,
      [own],
    );
    const lost = rows.flatMap(({ id, lock_key: lockKey }) =>
      id === own || lockKey === null ? [] : [{ id, lockKey }],
    );
    return { lost, isKnown: rows.some(({ id }) => id === own) };
  }

  /**
   * Removes the row of a worker whose lock has gone, and puts its runs back into the queue. Of several callers one removes
   * the row, and only that one puts runs back. Returns how many; null if the row was removed or has another lock.
   */
  async takeOver({ id, lockKey }: LostWorker): Promise<number | null> {
    const where = "r.worker = lost.name";
    const [row] = await this.#query<{ runs: number; workers: number }>(
      `with lost as (
        delete from ${this.#name} w where w.id = $1::uuid and w.lock_key = $2::bigint and ${this.#isGone} returning w.name
      ), ${putBack(this.tables.schema, { from: "lost", where, counted: "takeovers" })}
      select (select count(*)::integer from back) as runs, (select count(*)::integer from lost) as workers`,
      [id, lockKey],
    );
    return row === undefined || row.workers === 0 ? null : row.runs;
  }

  /** Removes the rows of workers without a lock that were silent for a minute: the leases of their runs have ended. */
  async removeSilent(): Promise<void> {
    await this.#query(
      `delete from ${this.#name} w where w.seen_at < now() - interval '${silentSeconds} seconds' and w.lock_key is null`,
      [],
    );
  }

  /** By name. */
  async list(): Promise<readonly Worker[]> {
    const rows = await this.#query<WorkerRow>(
      `select id, name, host, pid, version, kinds, labels, concurrency, running, lock_key is not null as watched, started_at,
        seen_at, greatest(0, extract(epoch from now() - seen_at) * 1000)::float8 as silent_ms
      from ${this.#name} order by name limit ${maxListed}`,
      [],
    );
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      host: row.host,
      pid: row.pid,
      version: row.version,
      kinds: row.kinds,
      labels: row.labels,
      concurrency: row.concurrency,
      running: row.running,
      isWatched: row.watched,
      startedAt: isoTime(row.started_at),
      seenAt: isoTime(row.seen_at),
      silentMs: Math.round(row.silent_ms),
    }));
  }

  /** The runs of one tenant. */
  async depthOf(tenantId: string): Promise<QueueDepth> {
    const { tenants, schema, clock } = this.tables;
    const { rows } = await queryTenant<DepthRow>(tenants, tenantId, {
      text: depthStatement(schema, "r.tenant_id = $2::uuid"),
      values: [clock.now(), tenantId],
    });
    return toDepth(rows[0]);
  }

  /** The runs of all tenants, without names of these. */
  async state(): Promise<QueueState> {
    const { schema, clock } = this.tables;
    const [depth, by, counts] = await Promise.all([
      this.#query<DepthRow>(depthStatement(schema, "true"), [clock.now()]),
      this.#query<{ worker: string; runs: number }>(
        `select r.worker, count(*)::integer as runs from ${schema}.run r where r.state = 'running' and r.worker is not null
        group by r.worker order by r.worker limit ${maxListed}`,
        [],
      ),
      this.#query<{ name: string; total: number }>(
        `select name, total::float8 as total from ${schema}.queue_count`,
        [],
      ),
    ]);
    const totals = new Map(counts.map(({ name, total }) => [name, total]));
    return {
      ...toDepth(depth[0]),
      runningBy: by,
      endedLeases: totals.get("ended_leases") ?? 0,
      takeovers: totals.get("takeovers") ?? 0,
    };
  }

  get #name(): string {
    return `${this.tables.schema}.worker`;
  }

  /** A condition on `worker w`: no session of this database holds its lock, a `bigint` as the server shows it. */
  get #isGone(): string {
    return `not exists (select from pg_locks l where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.classid::bigint = (w.lock_key >> 32) & 4294967295 and l.objid::bigint = w.lock_key & 4294967295)`;
  }

  async #query<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const { rows } = await queryAllTenants<Row>(this.tables.tenants.pool, { text, values });
    return rows;
  }
}

/** Each part reads one of the partial indexes. $1: the time now. */
function depthStatement(schema: string, where: string): string {
  const runs = `from ${schema}.run r where ${where} and r.state`;
  return `select json_object_agg(s.state, s.runs) as states, max(s.oldest) as oldest from (
    select case when r.run_at <= $1::timestamptz then 'queued' else 'delayed' end as state, count(*)::integer as runs,
      min(r.run_at) filter (where r.run_at <= $1::timestamptz) as oldest ${runs} = 'queued' group by 1
    union all select r.state, count(*)::integer, null ${runs} = 'running' group by 1
    union all select r.state, count(*)::integer, null ${runs} in ('awaiting_human', 'awaiting_tool', 'awaiting_event', 'dead') group by 1
  ) s`;
}

function toDepth(row: DepthRow | undefined): QueueDepth {
  const states = row?.states ?? {};
  return {
    queued: states.queued ?? 0,
    delayed: states.delayed ?? 0,
    running: states.running ?? 0,
    awaitingHuman: states.awaiting_human ?? 0,
    awaitingTool: states.awaiting_tool ?? 0,
    awaitingEvent: states.awaiting_event ?? 0,
    dead: states.dead ?? 0,
    oldestAt: isoTimeOrNull(row?.oldest ?? null),
  };
}

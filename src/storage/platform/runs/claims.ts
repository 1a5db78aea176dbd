import { sqlStateOf } from "../../errors.ts";
import type { Queryable } from "../../pool.ts";
import { queryAllTenants, queryTenant, withTenant } from "../../tenant.ts";
import { checkCount, checkId, checkText, sealedText } from "../checks.ts";
import {
  added,
  columnsOf,
  type NewRunEvent,
  type RunClaim,
  type RunEvents,
  type StoredRunEvent,
  storedEvents,
} from "./events.ts";
import type { Partitions } from "../partitions.ts";
import type { ValueCipher } from "../../encryption/value-cipher.ts";
import { type PlatformTables, preparedName } from "../platform.ts";
import type { NewClaim } from "./create-run.ts";
import { type Run, toRun } from "./runs.ts";
import {
  activeStates,
  type FinishedState,
  maxRunBytes,
  newestFirst,
  putBack,
  runColumns,
  type RunRow,
} from "./run-rows.ts";

/** Claims of other workers that a claim meets before it gives up until the next call. */
const maxRaces = 20;
/** Groups with a due run that a claim chooses from. */
const maxGroups = 32;
/** Below all ids of tenants. */
const noTenant = "00000000-0000-0000-0000-000000000000";
const UNIQUE_VIOLATION = "23505";

/** Parts of the platform that claims use. */
export interface RunClaimsOptions {
  readonly values: ValueCipher;
  readonly events: RunEvents;
  readonly partitions: Partitions;
}

/** Rolls a transaction back. */
class ClaimLost extends Error {}

/**
 * The table of runs as workers use it. Claiming a run increments its `epoch`; renewing, appending and finishing under
 * another epoch write nothing. Leases follow the clocks of the hosts, which may differ by less than a lease.
 */
export class RunClaims {
  /** The tenant of the last claim: the next one looks at the tenants after it first. */
  #lastTenant = noTenant;

  constructor(
    private readonly tables: PlatformTables,
    private readonly of: RunClaimsOptions,
  ) {}

  /**
   * Takes the next run that is due: by priority, then of the tenant with the fewest running runs, then of each tenant in
   * turn; within a tenant by `runAt`. It chooses from at most 32 groups of a tenant, a kind and a set of labels with a due
   * run, beginning after the tenant that it took a run of before. A worker takes runs of its kinds whose labels it has, and
   * no others. Runs of suspended tenants wait. The runs of a thread are taken in order, and one at a
   * time: behind one that waits for answers, the others wait too.
   * Null if there is none.
   */
  async claim(by: NewClaim): Promise<Run | null> {
    const { tenants, schema, clock } = this.tables;
    const worker = checkText("worker", by.worker, 200);
    checkCount("leaseMs", by.leaseMs, { from: 1, to: 3_600_000 });
    for (let race = 0; race < maxRaces; race += 1) {
      const now = clock.now();
      const until = new Date(now.getTime() + by.leaseMs);
      try {
        const { rows } = await queryAllTenants<RunRow>(tenants.pool, {
          name: preparedName(this.tables, "claim"),
          text: claimStatement(schema),
          values: [now, worker, until, this.#lastTenant, by.kinds ?? null, by.labels ?? []],
        });
        if (rows[0] === undefined) return null;
        this.#lastTenant = rows[0].tenant_id;
        return toRun(rows[0], this.of.values);
      } catch (error) {
        // Another worker took a run of the same thread since this one looked.
        if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
      }
    }
    return null;
  }

  /** Extends a lease. False if the run was claimed again or has ended. */
  async renew(
    { id, epoch }: Pick<RunClaim, "id" | "epoch">,
    { leaseMs }: { readonly leaseMs: number },
  ): Promise<boolean> {
    const { tenants, schema, clock } = this.tables;
    const until = new Date(clock.now().getTime() + leaseMs);
    const { rowCount } = await queryAllTenants(tenants.pool, {
      text: `update ${schema}.run set lease_until = $3 where id = $1::uuid and epoch = $2 and state = 'running'`,
      values: [checkId("run", id), epoch, until],
    });
    return rowCount === 1;
  }

  /** Whether a caller has asked for the run to be cancelled. Null if the run was claimed again or has ended. */
  async isCancelRequested({ tenantId, id, epoch }: RunClaim): Promise<boolean | null> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryTenant<{ asked: boolean }>(tenants, tenantId, {
      text: `select cancel_requested_at is not null as asked from ${schema}.run
        where tenant_id = $1::uuid and id = $2::uuid and epoch = $3 and state = 'running'`,
      values: [tenantId, checkId("run", id), epoch],
    });
    return rows[0]?.asked ?? null;
  }

  /**
   * Ends the turn of a claimed run, with its last events in the same transaction. Returns these; null if the run was claimed
   * again or has ended: nothing was written.
   *
   * @throws InvalidValueError
   */
  async finish(
    claim: RunClaim,
    given: {
      readonly state: FinishedState | "dead";
      readonly result: object | null;
      readonly events?: readonly NewRunEvent[];
      /** Further writes of the same transaction, undone if the claim does not hold. */
      readonly within?: (client: Queryable) => Promise<void>;
    },
  ): Promise<readonly StoredRunEvent[] | null> {
    const { tenants, schema, clock } = this.tables;
    const { values, events, partitions } = this.of;
    const checked = events.check(given.events ?? []);
    const result = sealedText(values, "result", given.result, maxRunBytes);
    const text = `with claimed as (
        update ${schema}.run set state = $5, result = $6::json, worker = null, lease_until = null,
          ended_at = case when $5 in ('complete', 'failed', 'cancelled', 'dead') then $7::timestamptz end, last_event = last_event + $4::integer
        where tenant_id = $1::uuid and id = $2::uuid and epoch = $3 and state = 'running' returning last_event
      ), ${added(schema, "$4::integer", 8)}
      select last_event from claimed`;
    const all = [
      claim.tenantId,
      checkId("run", claim.id),
      claim.epoch,
      checked.ids.length,
      given.state,
      result,
      clock.now(),
      ...columnsOf(checked, values),
    ];
    const finish = async (client: Queryable) => {
      // Sent together: what is written within is undone with the transaction.
      const [{ rows }] = await Promise.all([
        client.query<{ last_event: number }>(text, all),
        given.within?.(client),
      ]);
      if (rows[0] === undefined) throw new ClaimLost();
      return storedEvents(checked, rows[0].last_event);
    };
    try {
      return await partitions.withDays(checked.ids, () =>
        withTenant(tenants, claim.tenantId, finish),
      );
    } catch (thrown) {
      if (thrown instanceof ClaimLost) return null;
      throw thrown;
    }
  }

  /** Ends the runs of a thread that wait, since a later run has continued their turn. Call it within `finish`. */
  async endWaiting(
    run: Pick<Run, "id" | "tenantId" | "threadId" | "seq">,
    client: Queryable,
  ): Promise<void> {
    const { schema, clock } = this.tables;
    await client.query(
      `update ${schema}.run set state = 'complete', ended_at = $4
      where tenant_id = $1::uuid and thread_id = $2 and seq < $3 and state in ('awaiting_human', 'awaiting_tool', 'awaiting_event')`,
      [run.tenantId, run.threadId, run.seq, clock.now()],
    );
  }

  /** Writes the request of a claimed run. False if the run was claimed again or has ended. @throws InvalidValueError */
  async writeRequest(claim: RunClaim, request: object): Promise<boolean> {
    const text = sealedText(this.of.values, "request", request, maxRunBytes);
    return this.#update(claim, "request = $4::json", [text]);
  }

  /** Notes that the checkpoints of a claimed run were removed. False if the run was claimed again or has ended. */
  async markRolledBack(claim: RunClaim): Promise<boolean> {
    return this.#update(claim, "rollback = 'done'", []);
  }

  /** The request of a claimed run for which a rollback was asked; null without one, or if the claim is lost. */
  async rollbackRequest({ tenantId, id, epoch }: RunClaim): Promise<Run["request"] | null> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryTenant<{ request: unknown }>(tenants, tenantId, {
      text: `select request from ${schema}.run where tenant_id = $1::uuid and id = $2::uuid and epoch = $3
          and state = 'running' and rollback is not null`,
      values: [tenantId, checkId("run", id), epoch],
    });
    if (rows[0] === undefined) return null;
    return this.of.values.openJson(rows[0].request) as Run["request"];
  }

  async #update(claim: RunClaim, set: string, values: readonly unknown[]): Promise<boolean> {
    const { tenants, schema } = this.tables;
    const { rowCount } = await queryTenant(tenants, claim.tenantId, {
      text: `update ${schema}.run set ${set}
        where tenant_id = $1::uuid and id = $2::uuid and epoch = $3 and state = 'running'`,
      values: [claim.tenantId, checkId("run", claim.id), claim.epoch, ...values],
    });
    return rowCount === 1;
  }

  /** Puts a claimed run back into the queue, as a worker does that stops. It does not count as an attempt. */
  async handOver(claim: RunClaim): Promise<boolean> {
    const back = "state = 'queued', attempts = greatest(attempts - 1, 0)";
    return this.#update(claim, `${back}, worker = null, lease_until = null`, []);
  }

  /**
   * Puts runs whose lease has ended back into the queue, also those to be cancelled; with `isAll` every running one, where
   * no other process uses the database. Returns how many.
   */
  async releaseExpired({ isAll = false }: { readonly isAll?: boolean } = {}): Promise<number> {
    const { tenants, clock } = this.tables;
    const { rows } = await queryAllTenants<{ runs: number }>(tenants.pool, {
      text: expireStatement(this.tables.schema),
      values: [isAll ? "infinity" : clock.now()],
    });
    return rows[0]?.runs ?? 0;
  }
}

/**
 * A run in the middle of a turn is first on its thread, also where it was queued again after $1, the time of this worker.
 *
 * Walks on the index of queued runs from one group (a tenant, a kind and a set of labels) to the next, beginning after the
 * tenant $4, and stops at the last of `maxGroups` that have a run to take. Neither other runs nor other tenants are read,
 * however many there are. Only the run that is taken is locked: `chosen` is in order, and the limit at the end reads no
 * further than it must.
 */
function claimStatement(schema: string): string {
  const group = `select r.tenant_id, r.kind, r.labels from ${schema}.run r where r.state = 'queued'`;
  const first = "order by r.tenant_id, r.kind, r.labels limit 1";
  const due = `from ${schema}.run r where r.state = 'queued' and r.tenant_id = t.tenant_id and r.kind = t.kind
      and r.labels = t.labels and r.run_at <= $1::timestamptz and coalesce((
      select false from ${schema}.run o where o.tenant_id = r.tenant_id and o.thread_id = r.thread_id and o.id <> r.id
        and o.state in ${activeStates} and (o.state = 'running'
          or (o.state in ('awaiting_human', 'awaiting_tool', 'awaiting_event') and r.kind <> 'graph')
          or (o.state = 'queued' and o.kind = 'resume' and r.kind <> 'resume')
          or (o.state = 'queued' and o.seq < r.seq and o.run_at <= $1::timestamptz)) ${newestFirst}), true)
    order by r.priority desc, r.run_at, r.id limit 1`;
  return `with recursive walk (tenant_id, kind, labels, is_rest, place) as (
    select f.*, 1 from (
      (select g.*, false from (${group} and r.tenant_id > $4::uuid ${first}) g)
      union all (select g.*, true from (${group} and r.tenant_id <= $4::uuid ${first}) g)
      limit 1) f
    union all
    select n.*, w.place + 1 from walk w cross join lateral (
      (select g.*, w.is_rest from (${group} and (r.tenant_id, r.kind, r.labels) > (w.tenant_id, w.kind, w.labels)
        and (not w.is_rest or r.tenant_id <= $4::uuid) ${first}) g)
      union all (select g.*, true from (${group} and r.tenant_id <= $4::uuid and not w.is_rest ${first}) g)
      limit 1) n
  ),
  chosen as (
    select t.*, d.priority, d.run_at, d.id from walk t
    cross join lateral (select r.priority, r.run_at, r.id ${due}) d
    where ($5::text[] is null or t.kind = any($5::text[])) and t.labels <@ $6::text[]
      and (select o.suspended_at is null from ${schema}.tenant o where o.id = t.tenant_id) limit ${maxGroups}
  ),
  next as (
    select l.id from (
      select t.*, min(t.place) over (partition by t.tenant_id) as turn,
        (select count(*) from ${schema}.run o where o.tenant_id = t.tenant_id and o.state = 'running') as running
      from chosen t order by t.priority desc, running, turn, t.run_at, t.id) t
    cross join lateral (select r.id ${due} for update of r skip locked) l limit 1
  )
  update ${schema}.run r set state = 'running', epoch = epoch + 1, attempts = attempts + 1, worker = $2,
    lease_until = $3::timestamptz, started_at = coalesce(started_at, $1::timestamptz)
  from next where r.id = next.id returning ${runColumns}`;
}

function expireStatement(schema: string): string {
  return `with expired as (
    select id from ${schema}.run where state = 'running' and lease_until <= $1::timestamptz
    order by lease_until limit 1000 for update skip locked
  ), ${putBack(schema, { from: "expired", where: "r.id = expired.id", counted: "ended_leases" })}
  select count(*)::integer as runs from back`;
}

import type { Queryable } from "../../pool.ts";
import { ConflictError } from "../errors.ts";

export const runStates = [
  "queued",
  "running",
  "awaiting_human",
  "awaiting_tool",
  "awaiting_event",
  "complete",
  "failed",
  "cancelled",
  "dead",
] as const;

export type RunState = (typeof runStates)[number];

/** The states in which the turn of a run ends. */
export type FinishedState = Exclude<RunState, "queued" | "running" | "dead">;

export const runKinds = ["turn", "resume", "replay", "graph"] as const;

export type RunKind = (typeof runKinds)[number];

/** The states of runs that have not ended, as in the condition of the index `run_active`. */
export const activeStates =
  "('queued', 'running', 'awaiting_human', 'awaiting_tool', 'awaiting_event')";

/**
 * Ends a subquery for one of a thread's runs `o`. The order is that of two indexes, so that a plan uses one of them also
 * without statistics, when it was made on an empty table. Otherwise it would read all runs of the tenant.
 */
export const newestFirst = "order by o.seq desc limit 1";

export interface SummaryRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly instance_id: string;
  readonly thread_id: string;
  readonly seq: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly priority: number;
  readonly run_at: Date;
  readonly labels: readonly string[];
  readonly epoch: number;
  readonly attempts: number;
  readonly worker: string | null;
  readonly lease_until: Date | null;
  readonly cancel_requested_at: Date | null;
  readonly rollback: "asked" | "done" | null;
  readonly last_event: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
}

export interface RunRow extends SummaryRow {
  readonly request: unknown;
  readonly result: unknown;
}

const columns = [
  "id, tenant_id, instance_id, thread_id, seq, kind, state, request, result, priority",
  "run_at, labels, epoch, attempts, worker, lease_until, cancel_requested_at, rollback, last_event, metadata, created_at, started_at, ended_at",
]
  .flatMap((some) => some.split(", "))
  .map((column) => `r.${column}`);
export const summaryColumns = columns
  .filter((column) => !/request$|result$/.test(column))
  .join(", ");
export const runColumns = columns.join(", ");

/** Bytes of JSON of a request and of a result. */
export const maxRunBytes = 16_777_216;

/** @throws ConflictError while a run of an instance, whose row the caller has locked, is queued or running */
export async function refuseOthers(
  client: Queryable,
  schema: string,
  { tenantId, instanceId }: { readonly tenantId: string; readonly instanceId: string },
): Promise<void> {
  const { rows } = await client.query(
    `select from ${schema}.run where tenant_id = $1::uuid and instance_id = $2::uuid
      and state in ('queued', 'running') limit 1`,
    [tenantId, instanceId],
  );
  if (rows.length > 0) throw new ConflictError("run", "A run of the thread is queued or running.");
}

/** Removes a run, whose row the caller has locked, with its events. @throws ConflictError */
export async function removeRun(
  client: Queryable,
  schema: string,
  of: { readonly tenantId: string; readonly runId: string; readonly state: string },
): Promise<void> {
  const { tenantId, runId, state } = of;
  if (state === "queued" || state === "running")
    throw new ConflictError("run", `The run is ${state}. Cancel it, or wait for its end.`);
  await client.query(
    // The title is that of the first run: it goes with the only one.
    `update ${schema}.agent_instance i set removed_seq = greatest(i.removed_seq, r.seq),
      title = case when exists (select from ${schema}.run o where o.tenant_id = $1::uuid and o.instance_id = i.id and o.id <> r.id) then i.title end
    from ${schema}.run r
    where r.tenant_id = $1::uuid and r.id = $2::uuid and i.tenant_id = r.tenant_id and i.id = r.instance_id`,
    [tenantId, runId],
  );
  for (const [table, column] of [
    ["run_event", "run_id"],
    ["run", "id"],
  ] as const) {
    await client.query(
      `delete from ${schema}.${table} where tenant_id = $1::uuid and ${column} = $2::uuid`,
      [tenantId, runId],
    );
  }
}

/** Of a request to cancel a run: whether no worker has to see it. */
const endsAtOnce = `(state in ('awaiting_human', 'awaiting_tool', 'awaiting_event')
  or state = 'queued' and (started_at is null or kind <> 'graph' or not $4 and rollback is null))`;

/** What a request at `$3` to cancel a run sets. `$4`: whether what a graph's run wrote is removed. */
export const cancelAssignments = `
  cancel_requested_at = case when state in ${activeStates}
    then coalesce(cancel_requested_at, $3) else cancel_requested_at end,
  rollback = case when not $4 or kind <> 'graph' or rollback is not null or state not in ('queued', 'running') then rollback
    when state = 'queued' and started_at is null then 'done' else 'asked' end,
  ended_at = case when ${endsAtOnce} then $3 else ended_at end,
  state = case when ${endsAtOnce} then 'cancelled' else state end`;

/**
 * Queries of a `with` that put running runs back into the queue, in `back`, and add their number to a sum. The sum is
 * written only where runs were put back.
 */
export function putBack(
  schema: string,
  of: {
    readonly from: string;
    readonly where: string;
    readonly counted: "ended_leases" | "takeovers";
  },
): string {
  return `back as (
    update ${schema}.run r set worker = null, lease_until = null, state = 'queued'
    from ${of.from} where ${of.where} and r.state = 'running' returning r.id
  ), counted as (
    insert into ${schema}.queue_count as c (name, total)
    select '${of.counted}', count(*) from back having count(*) > 0
    on conflict (name) do update set total = c.total + excluded.total
  )`;
}

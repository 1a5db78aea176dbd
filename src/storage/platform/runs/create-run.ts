import type { ValueCipher } from "../../encryption/value-cipher.ts";
import { sqlStateOf } from "../../errors.ts";
import { queryTenant, withTenant } from "../../tenant.ts";
import { checkCount, checkId, checkText, checkTime, jsonbText, sealedText } from "../checks.ts";
import { NotFoundError } from "../errors.ts";
import type { Queryable } from "../../pool.ts";
import { preparedName, type PlatformTables } from "../platform.ts";
import { hasNoInputRails, titleOfRequest } from "./thread-title.ts";
import {
  activeStates,
  maxRunBytes,
  newestFirst,
  refuseOthers,
  runColumns,
  type RunKind,
  type RunRow,
} from "./run-rows.ts";

export interface NewRun {
  readonly instanceId: string;
  /** Default `turn`. */
  readonly kind?: RunKind;
  readonly request: object;
  /** Higher ones are claimed first: -1,000 to 1,000. Default 0. */
  readonly priority?: number;
  /** ISO 8601: not claimed before. Default: now. */
  readonly runAt?: string;
  /** Version of its agent, whose labels a worker must have to take it. Default: any worker takes it. */
  readonly definitionId?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Whether it is refused while another run of the thread is queued or running. Default false. */
  readonly isExclusive?: boolean;
}

/** Which runs a worker takes. */
export interface WorkerScope {
  /** Default: all. */
  readonly kinds?: readonly RunKind[] | undefined;
  /** It takes the runs that ask for these, for some of them or for none. Default none. */
  readonly labels?: readonly string[] | undefined;
}

/** Who claims a run, also with its creation. */
export interface NewClaim extends WorkerScope {
  readonly worker: string;
  readonly leaseMs: number;
}

/** Whether a worker takes a run, as {@link insertStatement} and claims decide it. */
export function isInScope(
  { kinds, labels: held = [] }: WorkerScope,
  { kind, labels }: { readonly kind: RunKind; readonly labels: readonly string[] },
): boolean {
  return (kinds?.includes(kind) ?? true) && labels.every((label) => held.includes(label));
}

/** The first run of a thread, with the agent of the thread. */
export interface FirstRun extends Omit<NewRun, "instanceId" | "isExclusive"> {
  /** No thread has it. */
  readonly threadId: string;
  readonly agent: string;
  readonly definitionId: string;
  /** Whether the thread is deleted some time after its last run. */
  readonly isEphemeral: boolean;
}

interface Creation<Given> {
  readonly tenantId: string;
  readonly given: Given;
  readonly claim: NewClaim | undefined;
  readonly values: ValueCipher;
}

const UNIQUE_VIOLATION = "23505";

export async function createRun(tables: PlatformTables, of: Creation<NewRun>): Promise<RunRow> {
  const { tenantId, claim } = of;
  const create = (claimed: NewClaim | undefined) =>
    withTenant(tables.tenants, tenantId, (client) =>
      createRunWithin(client, tables, { ...of, claim: claimed }),
    );
  return create(claim).catch((error: unknown) => {
    // Another worker has taken a run of the thread meanwhile.
    if (claim === undefined || sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    return create(undefined);
  });
}

/** Creates a run within a transaction of its tenant. */
export async function createRunWithin(
  client: Queryable,
  tables: PlatformTables,
  of: Creation<NewRun>,
): Promise<RunRow> {
  const { schema } = tables;
  const { tenantId, given } = of;
  const instanceId = checkId("instance", given.instanceId);
  const from = `${schema}.agent_instance i where i.tenant_id = $2::uuid and i.id = $14::uuid`;
  // Sent together. Runs of one instance are numbered one after the other: its row is locked.
  const [{ rowCount }, , , { rows }] = await Promise.all([
    client.query(
      `select from ${schema}.agent_instance where tenant_id = $1::uuid and id = $2::uuid for update`,
      [tenantId, instanceId],
    ),
    given.isExclusive === true ? refuseOthers(client, schema, { tenantId, instanceId }) : null,
    setTitle(client, schema, of),
    client.query<RunRow>(insertStatement(schema, from), [...valuesOf(tables, of), instanceId]),
  ]);
  if (rowCount === 0) throw new NotFoundError("instance", given.instanceId);
  return one(rows, ["instance", given.instanceId]);
}

export async function createRunOnNewThread(
  tables: PlatformTables,
  of: Creation<FirstRun>,
): Promise<RunRow> {
  const { tenants, schema, ids, clock } = tables;
  const { tenantId, given } = of;
  const definitionId = checkId("agent", given.definitionId);
  const { rows } = await queryTenant<RunRow>(tenants, tenantId, {
    name: preparedName(tables, "first_run"),
    // A foreign key alone would take the version of another tenant.
    text: `with instance as (
      insert into ${schema}.agent_instance (id, tenant_id, definition_id, agent_id, agent, thread_id, metadata, is_ephemeral, created_at, updated_at, title)
      select $14::uuid, $2::uuid, d.id, d.agent_id, $15, $16, '{}', $18, $17::timestamptz, greatest($17, now()),
        case when $19::text is not null and ${hasNoInputRails} then $19::json end
      from ${schema}.agent_definition d where d.tenant_id = $2::uuid and d.id = $11::uuid
      returning id, tenant_id, thread_id, removed_seq
    ) ${insertStatement(schema, "instance i")}`,
    values: [
      ...valuesOf(tables, of),
      ids(),
      checkText("agent", given.agent, 200),
      checkText("thread_id", given.threadId, 500),
      clock.now(),
      given.isEphemeral,
      titleText(of),
    ],
  });
  return one(rows, ["agent", definitionId]);
}

/** Gives a thread its title with its first run. A thread of an agent with rails on inputs gets none. */
async function setTitle(client: Queryable, schema: string, of: Creation<NewRun>): Promise<void> {
  const { tenantId, given } = of;
  const title = given.definitionId === undefined ? null : titleText(of);
  if (title === null) return;
  await client.query(
    `update ${schema}.agent_instance i set title = $4::json
    where i.tenant_id = $1::uuid and i.id = $2::uuid and i.title is null
      and not exists (select from ${schema}.run r where r.tenant_id = $1::uuid and r.instance_id = $2::uuid)
      and (select ${hasNoInputRails} from ${schema}.agent_definition d where d.tenant_id = $1::uuid and d.id = $3::uuid)`,
    [tenantId, given.instanceId, given.definitionId, title],
  );
}

/** The title that a request gives its thread, as the column stores it. */
function titleText({ given, values }: Pick<Creation<{ request: object }>, "given" | "values">) {
  return sealedText(values, "title", titleOfRequest(given.request), 1_000);
}

function one([row]: readonly RunRow[], [subject, id]: readonly [string, string]): RunRow {
  if (row === undefined) throw new NotFoundError(subject, id);
  return row;
}

/** The first thirteen values of {@link insertStatement}. */
function valuesOf(
  { ids, clock }: PlatformTables,
  { tenantId, given, claim, values }: Creation<Omit<NewRun, "instanceId">>,
): readonly unknown[] {
  const now = clock.now();
  return [
    ids(),
    tenantId,
    given.kind ?? "turn",
    sealedText(values, "request", given.request, maxRunBytes),
    checkCount("priority", given.priority ?? 0, { from: -1_000, to: 1_000 }),
    given.runAt === undefined ? now : checkTime("run_at", given.runAt),
    jsonbText("metadata", given.metadata ?? {}, 65_536),
    now,
    claim === undefined ? null : checkText("worker", claim.worker, 200),
    claim === undefined ? null : new Date(now.getTime() + claim.leaseMs),
    given.definitionId === undefined ? null : checkId("agent", given.definitionId),
    claim?.kinds ?? null,
    claim?.labels ?? [],
  ];
}

/**
 * Inserts the next run of an instance `i`, as a worker's if $9 names one that takes such runs and nothing else of the
 * thread comes first.
 */
function insertStatement(schema: string, from: string): string {
  const others = `from ${schema}.run o where o.tenant_id = $2::uuid and o.thread_id = i.thread_id`;
  return `insert into ${schema}.run as r (id, tenant_id, instance_id, thread_id, seq, kind, request, priority, run_at, metadata, created_at,
    state, epoch, attempts, worker, lease_until, started_at, labels)
  select $1::uuid, $2::uuid, i.id, i.thread_id, i.seq, $3, $4::json, $5::integer, $6::timestamptz, $7::jsonb, $8::timestamptz,
    case when i.taken then 'running' else 'queued' end, i.taken::integer, i.taken::integer,
    case when i.taken then $9 end, case when i.taken then $10::timestamptz end, case when i.taken then $8::timestamptz end,
    i.labels
  from (
    select i.id, i.thread_id, greatest((select o.seq ${others} ${newestFirst}), i.removed_seq) + 1 as seq,
      i.labels, $9::text is not null and ($12::text[] is null or $3 = any($12::text[])) and i.labels <@ $13::text[] and $6::timestamptz <= $8::timestamptz
        and (select t.suspended_at is null from ${schema}.tenant t where t.id = $2::uuid)
        and coalesce((select false ${others} and o.state in ${activeStates} and (o.state = 'running'
          or (o.state = 'queued' and (o.kind = 'resume' or o.run_at <= $8::timestamptz))
          or (o.state in ('awaiting_human', 'awaiting_tool', 'awaiting_event') and $3 <> 'graph')) ${newestFirst}), true) as taken
    from (select i.*, coalesce((select d.worker_labels from ${schema}.agent_definition d
      where d.tenant_id = $2::uuid and d.id = $11::uuid), '{}') as labels from ${from}) i
    -- So that the subqueries run once, not for each use of their columns.
    offset 0
  ) i returning ${runColumns}`;
}

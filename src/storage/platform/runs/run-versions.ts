import { queryTenant, withAllTenants } from "../../tenant.ts";
import { checkId } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";
import type { RunState } from "./run-rows.ts";

export interface ThreadPlace {
  readonly tenantId: string;
  readonly threadId: string;
}

/**
 * Texts that change when runs do, by their ids, and when threads get a run or their newest run changes, in the order of
 * `threads`. One statement, of all tenants. A run or a thread that is unknown has none.
 */
export async function readRunVersions(
  { tenants, schema }: Pick<PlatformTables, "tenants" | "schema">,
  of: { readonly runs: readonly string[]; readonly threads: readonly ThreadPlace[] },
): Promise<{ readonly runs: ReadonlyMap<string, string>; readonly threads: readonly string[] }> {
  const { rows } = await withAllTenants(tenants.pool, (client) =>
    client.query<{ key: string; version: string }>(
      `select r.id::text as key, r.state || ' ' || r.last_event as version
      from ${schema}.run r where r.id = any($1::uuid[])
      union all select t.place::text, coalesce(newest.version, '')
      from unnest($2::uuid[], $3::text[]) with ordinality as t (tenant_id, thread_id, place)
      left join lateral (
        select r.seq || ' ' || r.state as version from ${schema}.run r
        where r.tenant_id = t.tenant_id and r.thread_id = t.thread_id order by r.seq desc limit 1
      ) as newest on true`,
      [
        of.runs.map((id) => checkId("run", id)),
        of.threads.map(({ tenantId }) => checkId("tenant", tenantId)),
        of.threads.map(({ threadId }) => threadId),
      ],
    ),
  );
  const versions = new Map(rows.map(({ key, version }) => [key, version]));
  const threads = of.threads.map((_, at) => versions.get(String(at + 1)) ?? "");
  return { runs: versions, threads };
}

/** How far a run is, and where it belongs. */
export interface RunChange {
  readonly id: string;
  readonly threadId: string;
  /** Null if the agent is not stored. */
  readonly agentId: string | null;
  readonly state: RunState;
  readonly lastEvent: number;
}

/** States of runs that may change without a caller. */
const openStates: readonly RunState[] = [
  "queued",
  "running",
  "awaiting_human",
  "awaiting_tool",
  "awaiting_event",
];
/** Open runs that are read, the newest first. */
const maxOpen = 500;

export function isOpenRun({ state }: Pick<RunChange, "state">): boolean {
  return openStates.includes(state);
}

/** Returns the runs of a tenant with these ids, and its newest open runs if they are asked for, oldest first. */
export async function readRunChanges(
  { tenants, schema }: Pick<PlatformTables, "tenants" | "schema">,
  tenantId: string,
  of: { readonly ids: readonly string[]; readonly withOpen: boolean },
): Promise<readonly RunChange[]> {
  const { rows } = await queryTenant<{
    id: string;
    thread_id: string;
    agent_id: string | null;
    state: RunState;
    last_event: number;
  }>(tenants, tenantId, {
    text: `with found as (
        select r.id from ${schema}.run r where r.tenant_id = $1::uuid and r.id = any($2::uuid[])
        union (select r.id from ${schema}.run r where r.tenant_id = $1::uuid and r.state = any($3::text[]) order by r.id desc limit $4)
      )
      select r.id, r.thread_id, i.agent_id, r.state, r.last_event from found
      join ${schema}.run r on r.tenant_id = $1::uuid and r.id = found.id
      left join ${schema}.agent_instance i on i.tenant_id = r.tenant_id and i.id = r.instance_id
      order by r.id`,
    values: [
      tenantId,
      of.ids.map((id) => checkId("run", id)),
      of.withOpen ? openStates : [],
      maxOpen,
    ],
  });
  return rows.map((row) => ({
    id: row.id,
    threadId: row.thread_id,
    agentId: row.agent_id,
    state: row.state,
    lastEvent: row.last_event,
  }));
}

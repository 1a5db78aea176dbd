import { withAllTenants } from "../../tenant.ts";
import { checkId } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";

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

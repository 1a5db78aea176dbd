import { queryAllTenants } from "../../tenant.ts";
import { checkCount } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";

/** What is due by the clock: a schedule, or the timer of a run that waits. */
export interface Due {
  readonly kind: "schedule" | "timer";
  /** Id of the schedule, or of the run. */
  readonly id: string;
  readonly tenantId: string;
}

/**
 * Finds what is due, of all tenants, oldest first. It locks nothing: what is done about a row checks again that it is due.
 * What belongs to suspended tenants waits.
 *
 * @param of.limit 1 to 1,000
 */
export async function findDue(
  { tenants, schema, clock }: PlatformTables,
  of: { readonly limit: number },
): Promise<readonly Due[]> {
  const limit = checkCount("limit", of.limit, { from: 1, to: 1_000 });
  const isServed = (table: string) =>
    `exists (select from ${schema}.tenant t where t.id = ${table}.tenant_id and t.suspended_at is null)`;
  const { rows } = await queryAllTenants<{ kind: Due["kind"]; id: string; tenant_id: string }>(
    tenants.pool,
    {
      text: `select kind, id, tenant_id from (
          (select 'schedule' as kind, s.id, s.tenant_id, s.next_at as due_at from ${schema}.schedule s
            where s.enabled and s.next_at <= $1 and ${isServed("s")} order by s.next_at limit $2)
          union all
          (select 'timer', m.run_id, m.tenant_id, m.due_at from ${schema}.timer m
            where m.due_at <= $1 and ${isServed("m")} order by m.due_at limit $2)
        ) due order by due_at limit $2`,
      values: [clock.now(), limit],
    },
  );
  return rows.map(({ kind, id, tenant_id: tenantId }) => ({ kind, id, tenantId }));
}

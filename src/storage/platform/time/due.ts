import { queryAllTenants } from "../../tenant.ts";
import { checkCount } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";

/** A schedule that is due. */
export interface Due {
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
  const { rows } = await queryAllTenants<{ id: string; tenant_id: string }>(tenants.pool, {
    text: `select s.id, s.tenant_id from ${schema}.schedule s
        where s.enabled and s.next_at <= $1
          and exists (select from ${schema}.tenant t where t.id = s.tenant_id and t.suspended_at is null)
        order by s.next_at limit $2`,
    values: [clock.now(), limit],
  });
  return rows.map(({ id, tenant_id: tenantId }) => ({ id, tenantId }));
}

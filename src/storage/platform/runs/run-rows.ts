import type { Queryable } from "../../pool.ts";
import { ConflictError } from "../errors.ts";

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

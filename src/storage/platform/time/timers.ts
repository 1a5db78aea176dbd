import type { ValueCipher } from "../../encryption/value-cipher.ts";
import type { Queryable } from "../../pool.ts";
import { withTenant } from "../../tenant.ts";
import { checkId, checkTime, sealedText } from "../checks.ts";
import type { PlatformTables } from "../platform.ts";
import { createRunWithin } from "../runs/create-run.ts";
import { maxRunBytes, runColumns, type RunRow } from "../runs/run-rows.ts";
import { type Run, toRun } from "../runs/runs.ts";

/** What a run does when its timer is due. */
export interface Resumption {
  /** Whether a new run of its thread continues the turn, as runs of graphs do. Else the run itself does. */
  readonly isNewRun: boolean;
  /** Version of the agent, whose labels a new run asks of its worker. Default: any worker takes it. */
  readonly definitionId?: string;
  readonly request: object;
}

/** The first deadlines of runs that wait. A run that waits no longer loses its timer by a trigger of the database. */
export class Timers {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /** Sets the timer of a run, within the transaction that ends it as waiting. `dueAt`: ISO 8601. */
  async set(
    { tenantId, id }: Pick<Run, "tenantId" | "id">,
    dueAt: string,
    client: Queryable,
  ): Promise<void> {
    await client.query(
      `insert into ${this.tables.schema}.timer as t (run_id, tenant_id, due_at) values ($1::uuid, $2::uuid, $3)
      on conflict (run_id) do update set due_at = excluded.due_at where t.tenant_id = excluded.tenant_id`,
      [checkId("run", id), tenantId, checkTime("due_at", dueAt)],
    );
  }

  /**
   * Queues the run that goes on when a timer is due, in the transaction that removes the timer: of any number of
   * processes one does so. Returns whether it was this one.
   *
   * @param decide what the run does, from its row
   */
  async fire(
    { tenantId, id }: Pick<Run, "tenantId" | "id">,
    decide: (run: Run) => Resumption,
  ): Promise<boolean> {
    const { tables, values } = this;
    const { schema, clock, tenants } = tables;
    const runId = checkId("run", id);
    return withTenant(tenants, tenantId, async (client) => {
      // The row of the run first, as answers lock it. An answer that is under way as a run of a graph comes first.
      const { rows } = await client.query<RunRow>(
        `select ${runColumns} from ${schema}.run r
        where r.tenant_id = $1::uuid and r.id = $2::uuid and r.state in ('awaiting_human', 'awaiting_tool', 'awaiting_event')
          and exists (select from ${schema}.timer t where t.run_id = r.id and t.due_at <= $3)
          and (r.kind <> 'graph' or not exists (select from ${schema}.run o where o.tenant_id = r.tenant_id
            and o.thread_id = r.thread_id and (o.state = 'running' or o.state = 'queued' and o.run_at <= $3)))
        for update of r skip locked`,
        [tenantId, runId, clock.now()],
      );
      if (rows[0] === undefined) return false;
      const run = toRun(rows[0], values);
      const { isNewRun, definitionId, request } = decide(run);
      if (isNewRun) {
        const { instanceId, kind, priority, metadata } = run;
        const version = definitionId !== undefined && { definitionId };
        const given = { instanceId, kind, priority, metadata, request, ...version };
        await createRunWithin(client, tables, { tenantId, claim: undefined, values, given });
        await client.query(`delete from ${schema}.timer where run_id = $1::uuid`, [runId]);
        return true;
      }
      await client.query(
        `update ${schema}.run set state = 'queued', kind = 'resume', request = $3::json, run_at = $4, attempts = 0
        where tenant_id = $1::uuid and id = $2::uuid`,
        [tenantId, runId, sealedText(values, "request", request, maxRunBytes), clock.now()],
      );
      return true;
    });
  }
}

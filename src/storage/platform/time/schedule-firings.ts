import type { ValueCipher } from "../../encryption/value-cipher.ts";
import type { Queryable } from "../../pool.ts";
import { withTenant } from "../../tenant.ts";
import { checkId } from "../checks.ts";
import { ConflictError, InvalidValueError, NotFoundError } from "../errors.ts";
import type { PlatformTables } from "../platform.ts";
import { createRunWithin } from "../runs/create-run.ts";
import { createInstance } from "../runs/instances.ts";
import {
  oneSchedule,
  type Schedule,
  scheduleColumns,
  type ScheduleRow,
  toSchedule,
} from "./schedule-rows.ts";

/** What a due schedule does. */
export interface Firing {
  /** The firings that make runs, oldest first. */
  readonly times: readonly Date[];
  readonly nextAt: string | null;
  /** Why it makes no runs; absent where it may. */
  readonly problem?: string;
}

/** What a schedule has made. */
export interface Fired {
  readonly runIds: readonly string[];
  readonly problem: string | null;
}

/** Runs of a kept thread that have not begun, at which firings are left out. */
const maxQueued = 100;

/** The runs that schedules make. */
export class ScheduleFirings {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /**
   * Makes the runs of a schedule that is due, and sets when it is due next, in one transaction: of any number of
   * processes one does so. Null if it is not due any more, or another process has it.
   *
   * @param decide what the schedule does, from its row
   */
  async fire(
    { tenantId, id }: Pick<Schedule, "tenantId" | "id">,
    decide: (schedule: Schedule) => Firing,
  ): Promise<Fired | null> {
    const refusal = { problem: null as string | null };
    const fire = (client: Queryable) => this.#fire(client, { tenantId, id, decide, refusal });
    try {
      return await withTenant(this.tables.tenants, tenantId, fire);
    } catch (thrown) {
      const isRefused =
        thrown instanceof ConflictError ||
        thrown instanceof NotFoundError ||
        thrown instanceof InvalidValueError;
      if (!isRefused) throw thrown;
      // The transaction was rolled back: this firing makes no run, and the next one is tried.
      refusal.problem = thrown.message;
      return withTenant(this.tables.tenants, tenantId, fire);
    }
  }

  /** Makes a run of a schedule now; when it is due next stays. @throws NotFoundError; ConflictError */
  async runNow(tenantId: string, scheduleId: string): Promise<string> {
    const id = checkId("schedule", scheduleId);
    const { schema, tenants, clock } = this.tables;
    return withTenant(tenants, tenantId, async (client) => {
      const { rows } = await client.query<ScheduleRow>(
        `select ${scheduleColumns} from ${schema}.schedule where tenant_id = $1::uuid and id = $2::uuid for update`,
        [tenantId, id],
      );
      const schedule = oneSchedule(rows, scheduleId, this.values);
      const [runId = ""] = await this.#createRuns(client, schedule, [clock.now()]);
      return runId;
    });
  }

  async #fire(
    client: Queryable,
    of: {
      readonly tenantId: string;
      readonly id: string;
      readonly decide: (schedule: Schedule) => Firing;
      readonly refusal: { readonly problem: string | null };
    },
  ): Promise<Fired | null> {
    const { schema, clock } = this.tables;
    const now = clock.now();
    const { rows } = await client.query<ScheduleRow>(
      `select ${scheduleColumns} from ${schema}.schedule
      where tenant_id = $1::uuid and id = $2::uuid and enabled and next_at <= $3 for update skip locked`,
      [of.tenantId, of.id, now],
    );
    if (rows[0] === undefined) return null;
    const schedule = toSchedule(rows[0], this.values);
    const { times, nextAt, problem: why } = of.decide(schedule);
    const problem = of.refusal.problem ?? why ?? null;
    const runIds = problem === null ? await this.#createRuns(client, schedule, times) : [];
    const isFired = times.length > 0;
    await client.query(
      `update ${schema}.schedule set next_at = $3, last_problem = case when $4 then $5 else last_problem end,
        last_at = coalesce($6, last_at), last_run_id = coalesce($7::uuid, last_run_id)
      where tenant_id = $1::uuid and id = $2::uuid`,
      [
        of.tenantId,
        of.id,
        nextAt,
        isFired,
        problem?.slice(0, 1_000) ?? null,
        runIds.length > 0 ? times.at(-1) : null,
        runIds.at(-1) ?? null,
      ],
    );
    return { runIds, problem };
  }

  /** @throws NotFoundError, ConflictError */
  async #createRuns(
    client: Queryable,
    schedule: Schedule,
    times: readonly Date[],
  ): Promise<readonly string[]> {
    const { schema, ids } = this.tables;
    const { tenantId, agentId, threadId, isEphemeral, kind } = schedule;
    if (times.length === 0) return [];
    const { rows: agents } = await client.query<{ id: string; name: string }>(
      `select id, name from ${schema}.agent_definition where tenant_id = $1::uuid and agent_id = $2::uuid and is_active`,
      [tenantId, agentId],
    );
    const [agent] = agents;
    if (agent === undefined)
      throw new ConflictError("agent", "The agent of the schedule is not active.");
    const made: string[] = [];
    for (const time of times) {
      const place = { threadId: threadId ?? ids(), agent: agent.name, definitionId: agent.id };
      const instance = await createInstance(client, this.tables, {
        tenantId,
        values: this.values,
        given: { ...place, isEphemeral: isEphemeral && threadId === null },
      });
      if (threadId !== null) await this.#refuseFull(client, tenantId, instance.id);
      const run = await createRunWithin(client, this.tables, {
        tenantId,
        claim: undefined,
        values: this.values,
        given: {
          instanceId: instance.id,
          definitionId: agent.id,
          kind,
          request: { ...schedule.request, definition_id: agent.id, turn_id: ids() },
          priority: schedule.priority,
          metadata: {
            ...schedule.metadata,
            schedule_id: schedule.id,
            scheduled_at: time.toISOString(),
          },
          isExclusive: schedule.isExclusive && made.length === 0,
        },
      });
      made.push(run.id);
    }
    return made;
  }

  /** @throws ConflictError */
  async #refuseFull(client: Queryable, tenantId: string, instanceId: string): Promise<void> {
    const { rows } = await client.query(
      `select from ${this.tables.schema}.run where tenant_id = $1::uuid and instance_id = $2::uuid and state = 'queued' limit ${maxQueued}`,
      [tenantId, instanceId],
    );
    if (rows.length < maxQueued) return;
    throw new ConflictError("thread", `${maxQueued} runs of the thread have not begun.`);
  }
}

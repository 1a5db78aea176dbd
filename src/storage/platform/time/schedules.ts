import type { ValueCipher } from "../../encryption/value-cipher.ts";
import { sqlStateOf } from "../../errors.ts";
import type { Queryable } from "../../pool.ts";
import { queryTenant, withTenant } from "../../tenant.ts";
import { checkCount, checkId, checkPage, type Page, type PageRequest, toPage } from "../checks.ts";
import { ConflictError, NotFoundError } from "../errors.ts";
import type { PlatformTables } from "../platform.ts";
import {
  columnsOf,
  columnTypes,
  conditionsOf,
  type NewSchedule,
  oneSchedule,
  type Schedule,
  type ScheduleChange,
  scheduleColumns,
  type ScheduleFilter,
  type ScheduleRow,
  toSchedule,
} from "./schedule-rows.ts";

export const scheduleOrders = ["created_at", "updated_at", "next_at", "id"] as const;

/** Schedules of a tenant. */
const maxSchedules = 100;
const UNIQUE_VIOLATION = "23505";

/** The schedules of tenants. */
export class Schedules {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
  ) {}

  /** @throws NotFoundError for an unknown agent; ConflictError for more than 100, and for a name that is taken; InvalidValueError */
  async create(tenantId: string, given: NewSchedule): Promise<Schedule> {
    const { schema, ids, clock } = this.tables;
    const columns = columnsOf(this.values, given);
    const names = Object.keys(columns);
    const agentId = checkId("agent", given.agentId);
    const all = [ids(), tenantId, agentId, clock.now(), ...Object.values(columns)];
    return withTenant(this.tables.tenants, tenantId, async (client) => {
      await this.#refuseUnknown(client, tenantId, agentId);
      const { rows } = await client
        .query<ScheduleRow>(
          `insert into ${schema}.schedule (id, tenant_id, agent_id, created_at, updated_at, ${names.join(", ")})
          select $1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $4::timestamptz, ${names.map((name, at) => `$${at + 5}::${columnTypes[name as keyof typeof columnTypes]}`).join(", ")}
          where (select count(*) from ${schema}.schedule where tenant_id = $2::uuid) < ${maxSchedules}
          returning ${scheduleColumns}`,
          all,
        )
        .catch(refuseTakenName);
      if (rows[0] === undefined)
        throw new ConflictError("schedule", `A tenant has at most ${maxSchedules} schedules.`);
      return toSchedule(rows[0], this.values);
    });
  }

  /** @throws NotFoundError */
  async get(tenantId: string, scheduleId: string): Promise<Schedule> {
    const id = checkId("schedule", scheduleId);
    const { rows } = await queryTenant<ScheduleRow>(this.tables.tenants, tenantId, {
      text: `select ${scheduleColumns} from ${this.tables.schema}.schedule where tenant_id = $1::uuid and id = $2::uuid`,
      values: [tenantId, id],
    });
    return oneSchedule(rows, scheduleId, this.values);
  }

  /** Newest first. @throws InvalidCursorError */
  async list(
    tenantId: string,
    of: PageRequest & Pick<ScheduleFilter, "agentId" | "enabled"> = {},
  ): Promise<Page<Schedule>> {
    const { limit, after } = checkPage(of);
    const { where, values } = conditionsOf(tenantId, of);
    values.push(after, limit + 1);
    const { rows } = await queryTenant<ScheduleRow>(this.tables.tenants, tenantId, {
      text: `select ${scheduleColumns} from ${this.tables.schema}.schedule
        where ${where} and ($${values.length - 1}::uuid is null or id < $${values.length - 1}::uuid)
        order by id desc limit $${values.length}`,
      values,
    });
    return toPage(rows, limit, { id: ({ id }) => id, item: (row) => toSchedule(row, this.values) });
  }

  /** As LangGraph's protocol asks for them. `limit`: 1 to 1,000; `offset`: to 1,000,000. @throws InvalidValueError */
  async search(
    tenantId: string,
    query: ScheduleFilter & {
      readonly limit: number;
      readonly offset: number;
      readonly sortBy?: (typeof scheduleOrders)[number];
      readonly order?: "asc" | "desc";
    },
  ): Promise<readonly Schedule[]> {
    const { where, values } = conditionsOf(tenantId, query);
    const { sortBy = "created_at", order = "desc" } = query;
    const sorted = scheduleOrders.find((known) => known === sortBy) ?? "created_at";
    const direction = order === "asc" ? "asc" : "desc";
    values.push(
      checkCount("limit", query.limit, { from: 1, to: 1_000 }),
      checkCount("offset", query.offset, { from: 0, to: 1_000_000 }),
    );
    const { rows } = await queryTenant<ScheduleRow>(this.tables.tenants, tenantId, {
      text: `select ${scheduleColumns} from ${this.tables.schema}.schedule where ${where}
        order by ${sorted} ${direction} nulls last, id ${direction} limit $${values.length - 1} offset $${values.length}`,
      values,
    });
    return rows.map((row) => toSchedule(row, this.values));
  }

  /** @throws InvalidValueError */
  async count(tenantId: string, filter: ScheduleFilter): Promise<number> {
    const { where, values } = conditionsOf(tenantId, filter);
    const { rows } = await queryTenant<{ count: string }>(this.tables.tenants, tenantId, {
      text: `select count(*) as count from ${this.tables.schema}.schedule where ${where}`,
      values,
    });
    return Number(rows[0]?.count ?? 0);
  }

  /**
   * Changes a schedule, whose firings wait meanwhile.
   *
   * @param decide returns the change for the schedule as it is; what it throws leaves the schedule so
   * @throws NotFoundError; ConflictError for a name that is taken; InvalidValueError
   */
  async update(
    tenantId: string,
    scheduleId: string,
    decide: (schedule: Schedule) => ScheduleChange,
  ): Promise<Schedule> {
    const id = checkId("schedule", scheduleId);
    const { schema, tenants, clock } = this.tables;
    return withTenant(tenants, tenantId, async (client) => {
      const locked = await client.query<ScheduleRow>(
        `select ${scheduleColumns} from ${schema}.schedule where tenant_id = $1::uuid and id = $2::uuid for update`,
        [tenantId, id],
      );
      const columns = columnsOf(
        this.values,
        decide(oneSchedule(locked.rows, scheduleId, this.values)),
      );
      const set = Object.keys(columns).map(
        (name, at) => `${name} = $${at + 4}::${columnTypes[name as keyof typeof columnTypes]}`,
      );
      const { rows } = await client
        .query<ScheduleRow>(
          `update ${schema}.schedule set ${["updated_at = $3", ...set].join(", ")}
          where tenant_id = $1::uuid and id = $2::uuid returning ${scheduleColumns}`,
          [tenantId, id, clock.now(), ...Object.values(columns)],
        )
        .catch(refuseTakenName);
      return oneSchedule(rows, scheduleId, this.values);
    });
  }

  /** Removes a schedule. Its runs and threads stay. @throws NotFoundError */
  async remove(tenantId: string, scheduleId: string): Promise<void> {
    const id = checkId("schedule", scheduleId);
    const { rowCount } = await queryTenant(this.tables.tenants, tenantId, {
      text: `delete from ${this.tables.schema}.schedule where tenant_id = $1::uuid and id = $2::uuid`,
      values: [tenantId, id],
    });
    if (rowCount !== 1) throw new NotFoundError("schedule", scheduleId);
  }

  /** @throws NotFoundError */
  async #refuseUnknown(client: Queryable, tenantId: string, agentId: string): Promise<void> {
    const { rows } = await client.query(
      `select from ${this.tables.schema}.agent_definition where tenant_id = $1::uuid and agent_id = $2::uuid limit 1`,
      [tenantId, agentId],
    );
    if (rows.length === 0) throw new NotFoundError("agent", agentId);
  }
}

/** @throws ConflictError */
function refuseTakenName(thrown: unknown): never {
  if (sqlStateOf(thrown) !== UNIQUE_VIOLATION) throw thrown;
  throw new ConflictError("schedule", "Another schedule has this name. Choose another one.");
}

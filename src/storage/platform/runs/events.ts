import type { Queryable } from "../../pool.ts";
import { queryTenant } from "../../tenant.ts";
import { checkCount, checkId, checkText, isoTime, jsonText, timeOfId } from "../checks.ts";
import { InvalidValueError } from "../errors.ts";
import type { Partitions } from "../partitions.ts";
import type { ValueCipher } from "../../encryption/value-cipher.ts";
import type { PlatformTables } from "../platform.ts";

export interface NewRunEvent {
  /** As in `status`, `message`. */
  readonly event: string;
  readonly data: object;
  /** The JSON of `data`, where it is at hand. */
  readonly json?: string;
}

export interface StoredRunEvent {
  /** From 1 in its run, without gaps. */
  readonly seq: number;
  readonly at: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The JSON of `data`, where it is at hand. */
  readonly json?: string;
}

/** A claim of a run: what it writes is refused once the run was claimed again. */
export interface RunClaim {
  readonly id: string;
  readonly tenantId: string;
  readonly epoch: number;
}

/** Events ready to be inserted. */
export interface CheckedEvents {
  readonly events: readonly NewRunEvent[];
  readonly ids: readonly string[];
  readonly names: readonly string[];
  /** JSON of their data. */
  readonly jsons: readonly string[];
}

const maxEvents = 1_000;
const maxEventBytes = 1_048_576;
/** Clocks of hosts may differ: an event may be dated before its run. */
const skewMs = 3_600_000;

/** The events of runs, in the order in which they were appended. */
export class RunEvents {
  constructor(
    private readonly tables: PlatformTables,
    private readonly values: ValueCipher,
    private readonly partitions: Partitions,
  ) {}

  /**
   * Appends events of a running run. Returns them as they are stored; null if the run was claimed again or has ended, and
   * nothing was written.
   *
   * @throws InvalidValueError for more than 1,000 events, or one of more than 1 MiB
   */
  async append(
    claim: RunClaim,
    events: readonly NewRunEvent[],
  ): Promise<readonly StoredRunEvent[] | null> {
    const { tenants, schema } = this.tables;
    const checked = this.check(events);
    const statement = {
      text: `with claimed as (
          update ${schema}.run set last_event = last_event + $4::integer
          where tenant_id = $1::uuid and id = $2::uuid and epoch = $3 and state = 'running' returning last_event
        ), ${added(schema, "$4::integer", 5)}
        select last_event from claimed`,
      values: [
        claim.tenantId,
        checkId("run", claim.id),
        claim.epoch,
        events.length,
        ...columnsOf(checked, this.values),
      ],
    };
    const { rows } = await this.partitions.withDays(checked.ids, () =>
      queryTenant<{ last_event: number }>(tenants, claim.tenantId, statement),
    );
    return rows[0] === undefined ? null : storedEvents(checked, rows[0].last_event);
  }

  /** @throws InvalidValueError */
  check(events: readonly NewRunEvent[]): CheckedEvents {
    if (events.length > maxEvents)
      throw new InvalidValueError("events", `at most ${maxEvents} at once`);
    return {
      events,
      ids: events.map(() => this.tables.ids()),
      names: events.map(({ event }) => checkText("event", event, 2_000)),
      jsons: events.map(({ data, json }) => json ?? jsonText("data", data, maxEventBytes)),
    };
  }

  /** Inserts events whose numbers end with `last`, which the run's row has in the same transaction. */
  async insert(
    client: Queryable,
    of: { readonly tenantId: string; readonly id: string; readonly last: number },
    checked: CheckedEvents,
  ): Promise<void> {
    const { length } = checked.ids;
    if (length === 0) return;
    await client.query(
      `with claimed as (select $3::integer as last_event), ${added(this.tables.schema, "$4::integer", 5)} select from added`,
      [of.tenantId, of.id, of.last, length, ...columnsOf(checked, this.values)],
    );
  }

  /**
   * The events after a number, in order. None for an unknown run.
   *
   * @param of.limit events, 1 to 1,000. Default 200
   * @param of.maxBytes bytes of JSON after which no further event is read. Default 1 GiB
   */
  async read(
    tenantId: string,
    runId: string,
    of: { readonly after?: number; readonly limit?: number; readonly maxBytes?: number } = {},
  ): Promise<readonly StoredRunEvent[]> {
    const { after = 0, limit = 200, maxBytes = 1_073_741_824 } = of;
    const { tenants, schema } = this.tables;
    const id = checkId("run", runId);
    checkCount("after", after, { from: 0, to: 2_147_483_647 });
    checkCount("limit", limit, { from: 1, to: maxEvents });
    // The run's id has its time: partitions of days before it are not read.
    const from = new Date(timeOfId(id).getTime() - skewMs);
    const { rows } = await queryTenant<{ seq: number; at: Date; event: string; data: unknown }>(
      tenants,
      tenantId,
      { text: readStatement(schema), values: [tenantId, id, from, after, limit, maxBytes] },
    );
    return rows.map(({ seq, at, event, data }) => ({
      seq,
      at: isoTime(at),
      event,
      data: this.values.openJson(data) as Readonly<Record<string, unknown>>,
    }));
  }
}

/**
 * A part of a statement that inserts events, numbered up to `last_event` of `claimed`, of tenant $1 and run $2. It takes
 * four values from `$first` on, those of {@link columnsOf}.
 */
export function added(schema: string, count: string, first: number): string {
  const [at, id, event, data] = [0, 1, 2, 3].map((place) => `$${first + place}`);
  return `added as (
    insert into ${schema}.run_event (at, id, tenant_id, run_id, seq, event, data)
    select e.at, e.id, $1::uuid, $2::uuid, c.last_event - ${count} + e.place, e.event, e.data::json
    from claimed c, unnest(${at}::timestamptz[], ${id}::uuid[], ${event}::text[], ${data}::text[])
      with ordinality as e (at, id, event, data, place)
    returning seq
  )`;
}

export function columnsOf(
  { ids, names, jsons }: CheckedEvents,
  values: ValueCipher,
): readonly unknown[] {
  return [ids.map(timeOfId), ids, names, jsons.map((json) => values.sealJsonText(json))];
}

/** Checked events as a later read returns them, but for data that JSON leaves out. */
export function storedEvents(
  { events, ids, jsons }: CheckedEvents,
  last: number,
): readonly StoredRunEvent[] {
  return events.map((appended, at) => ({
    seq: last - events.length + at + 1,
    at: isoTime(timeOfId(ids[at]!)),
    event: appended.event,
    json: jsons[at]!,
    get data() {
      return appended.data as Readonly<Record<string, unknown>>;
    },
  }));
}

/** Exported for its plan to be tested. Values: tenant, run, earliest time, number, limit, bytes. */
export function readStatement(schema: string): string {
  return `select seq, at, event, data from (
    select seq, at, event, data, coalesce(sum(octet_length(data::text)) over before, 0) as bytes_before from (
      select seq, at, event, data from ${schema}.run_event
      where tenant_id = $1::uuid and run_id = $2::uuid and at >= $3::timestamptz and seq > $4::integer
      order by seq limit $5::integer
    ) as page window before as (order by seq rows between unbounded preceding and 1 preceding)
  ) as counted where bytes_before < $6::bigint order by seq`;
}

import { queryTenant } from "../tenant.ts";
import { checkId } from "./checks.ts";
import { InvalidValueError, NotFoundError } from "./errors.ts";
import { dayOf } from "./partitions.ts";
import type { PlatformTables } from "./platform.ts";
import type { RunState } from "./runs/run-rows.ts";
import type { TenantSettings } from "./tenants.ts";

const counters = [
  "requests",
  "runs",
  "turns",
  "tool_calls",
  "llm_calls",
  "tokens_in",
  "cached_tokens",
  "tokens_out",
  "reasoning_tokens",
  "unpriced_calls",
] as const;

type Counter = (typeof counters)[number];

/** Sums to add; what is left out is 0. */
export type UsageSums = Readonly<Partial<Record<Counter | "cost_usd", number>>>;

export type UsageDay = Readonly<Record<Counter | "cost_usd", number>> & {
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
};

/** What a tenant may still use today; null where there is no quota. */
export interface RemainingQuota {
  readonly requests: number | null;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
}

type UsageRow = Readonly<Record<Counter | "cost_usd", string>> & { readonly day: string };

const maxDays = 366;
/** Milliseconds in which counts are gathered. */
const gatherMs = 100;
/** Tenants whose counts wait for the database. */
const maxCounted = 1_000;
/** Runs that are counted at most. */
const maxCountedRuns = 100_000;

/** What tenants use, as sums of a day in UTC. */
export class UsageDays {
  readonly #counted = new Map<string, Partial<Record<Counter, number>>>();
  #cancelTimer: (() => void) | undefined;

  constructor(private readonly tables: PlatformTables) {}

  /**
   * Adds to the sums of today soon, together with what is counted in the next tenth of a second. A process that is killed
   * meanwhile has not counted it.
   */
  count(tenantId: string, sums: Readonly<Partial<Record<Counter, number>>>): void {
    const counted = this.#counted.get(tenantId) ?? {};
    for (const [name, sum] of Object.entries(sums) as [Counter, number][])
      counted[name] = (counted[name] ?? 0) + sum;
    this.#counted.set(tenantId, counted);
    this.#cancelTimer ??= this.tables.clock.after(gatherMs, () => void this.flush(), {
      keepsAlive: false,
    });
  }

  /** Writes what was counted. Never rejects: what cannot be written is tried again with the next. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const counted = [...this.#counted];
    this.#counted.clear();
    await Promise.all(
      counted.map(async ([tenantId, sums]) => {
        try {
          await this.add(tenantId, sums);
        } catch {
          if (this.#counted.size < maxCounted) this.count(tenantId, sums);
        }
      }),
    );
  }

  /** Adds to the sums of today. @throws InvalidValueError for a number that is negative or not finite */
  async add(tenantId: string, sums: UsageSums): Promise<void> {
    const { tenants, schema, clock } = this.tables;
    const names = [...counters, "cost_usd"] as const;
    const given = names.map((name) => {
      const sum = sums[name] ?? 0;
      const isValid = name === "cost_usd" ? Number.isFinite(sum) : Number.isSafeInteger(sum);
      if (!isValid || sum < 0) throw new InvalidValueError(name, "a number of at least 0");
      return sum;
    });
    const added = names.map((name) => `${name} = u.${name} + excluded.${name}`).join(", ");
    await queryTenant(tenants, tenantId, {
      text: `insert into ${schema}.usage_day as u (tenant_id, day, ${names.join(", ")})
        values ($1::uuid, $2::date, ${names.map((_, at) => `$${at + 3}`).join(", ")})
        on conflict (tenant_id, day) do update set ${added}`,
      values: [tenantId, dayOf(clock.now()), ...given],
    });
  }

  /**
   * The days from one to another, both included, oldest first. Days without use are left out.
   *
   * @throws InvalidValueError for no dates, and for more than 366 days
   */
  async range(
    tenantId: string,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<readonly UsageDay[]> {
    const { tenants, schema } = this.tables;
    checkDays({ from, to });
    await this.flush();
    const { rows } = await queryTenant<UsageRow>(tenants, tenantId, {
      text: `select day::text, ${[...counters, "cost_usd"].join(", ")} from ${schema}.usage_day
        where tenant_id = $1::uuid and day between $2::date and $3::date order by day`,
      values: [tenantId, from, to],
    });
    return rows.map(toUsage);
  }

  /**
   * How many runs were created from one day to another, both included, by state. Of the newest {@link maxCountedRuns}.
   *
   * @throws InvalidValueError as `range`
   */
  async runStates(
    tenantId: string,
    days: { readonly from: string; readonly to: string },
  ): Promise<Readonly<Partial<Record<RunState, number>>>> {
    const { tenants, schema } = this.tables;
    const [first, last] = checkDays(days);
    const { rows } = await queryTenant<{ state: RunState; runs: string }>(tenants, tenantId, {
      text: // Ids begin with their time, so that the index of ids serves.
        `select state, count(*) as runs from (
          select state from ${schema}.run where tenant_id = $1::uuid and id >= $2::uuid and id < $3::uuid
          order by id desc limit ${maxCountedRuns}
        ) r group by state`,
      values: [tenantId, firstId(first), firstId(last + 86_400_000)],
    });
    return Object.fromEntries(rows.map(({ state, runs }) => [state, Number(runs)]));
  }

  /** What is left of the tenant's quota of today. @throws NotFoundError for an unknown tenant */
  async remaining(tenantId: string): Promise<RemainingQuota> {
    const { tenants, schema, clock } = this.tables;
    const id = checkId("tenant", tenantId);
    const { rows } = await queryTenant<{
      settings: TenantSettings;
      requests: string;
      tokens: string;
      cost: string;
    }>(tenants, id, {
      text: `select t.settings, coalesce(u.requests, 0) as requests, coalesce(u.tokens_in + u.tokens_out, 0) as tokens,
          coalesce(u.cost_usd, 0) as cost
        from ${schema}.tenant t left join ${schema}.usage_day u on u.tenant_id = t.id and u.day = $2::date
        where t.id = $1::uuid`,
      values: [id, dayOf(clock.now())],
    });
    if (rows[0] === undefined) throw new NotFoundError("tenant", tenantId);
    const { settings, requests, tokens, cost } = rows[0];
    const { quota = {} } = settings;
    const left = (most: number | undefined, used: string) =>
      most === undefined ? null : Math.max(0, most - Number(used));
    return {
      requests: left(quota.requests, requests),
      tokens: left(quota.tokens, tokens),
      cost_usd: left(quota.cost_usd, cost),
    };
  }
}

/** The first and the last day, as milliseconds. @throws InvalidValueError */
function checkDays(of: { readonly from: string; readonly to: string }): readonly [number, number] {
  const [from, to] = [dayNumber("from", of.from), dayNumber("to", of.to)];
  const days = (to - from) / 86_400_000 + 1;
  if (days < 1 || days > maxDays)
    throw new InvalidValueError("to", `a day within ${maxDays} days from ${of.from}`);
  return [from, to];
}

/** The least version 7 UUID of a time. */
function firstId(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

function dayNumber(field: string, day: string): number {
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(time) || dayOf(new Date(time)) !== day)
    throw new InvalidValueError(field, "a date as YYYY-MM-DD");
  return time;
}

function toUsage(row: UsageRow): UsageDay {
  const sums = [...counters, "cost_usd" as const].map((name) => [name, Number(row[name])]);
  return { day: row.day, ...(Object.fromEntries(sums) as Record<Counter | "cost_usd", number>) };
}

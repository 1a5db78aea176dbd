import type { Clock } from "../clock.ts";
import type { DayUsage, QuotaStore } from "./ports.ts";
import { HttpProblem } from "./problems.ts";

/** Milliseconds for which the stored usage of a tenant is believed. */
const freshMs = 5000;
/** The most tenants whose usage is cached. */
const maxTenants = 10_000;

interface TenantDay {
  readonly day: string;
  readonly readAt: number;
  readonly usage: DayUsage;
  readonly limits: Partial<DayUsage>;
  /** Requests since then, which are not stored yet. */
  pending: number;
}

/**
 * Applies the quotas of a day. Requests are counted here and stored in batches: several processes together may allow
 * some seconds' worth of requests too many.
 */
export class QuotaGate {
  readonly #days = new Map<string, TenantDay>();
  readonly #reading = new Map<string, Promise<TenantDay>>();

  constructor(
    private readonly store: QuotaStore,
    private readonly clock: Pick<Clock, "now" | "monotonic">,
  ) {}

  /**
   * Counts a request.
   *
   * @param spends whether the quotas of tokens and cost apply as well
   * @throws HttpProblem `quota_exceeded`
   */
  async take(tenantId: string, spends: boolean): Promise<void> {
    const state = await this.#read(tenantId);
    state.pending += 1;
    const used = { ...state.usage, requests: state.usage.requests + state.pending - 1 };
    const names = spends ? (["requests", "tokens", "costUsd"] as const) : (["requests"] as const);
    const name = names.find((one) => {
      const limit = state.limits[one];
      return limit !== undefined && used[one] >= limit;
    });
    if (name === undefined) return;
    const quota = name === "costUsd" ? "cost_usd" : name;
    throw new HttpProblem("quota_exceeded", {
      detail: `The quota of ${quota} of this day (UTC) is used up.`,
      extensions: { quota, limit: state.limits[name], used: used[name] },
      headers: { "Retry-After": String(secondsToMidnight(this.clock.now())) },
    });
  }

  /** Stores the counted requests of all tenants. */
  async flush(): Promise<void> {
    await Promise.all([...this.#days].map(([tenantId, state]) => this.#store(tenantId, state)));
  }

  async #read(tenantId: string): Promise<TenantDay> {
    const known = this.#days.get(tenantId);
    const day = this.clock.now().toISOString().slice(0, 10);
    const isFresh = known?.day === day && this.clock.monotonic() - known.readAt < freshMs;
    if (known !== undefined && isFresh) return known;
    // Concurrent requests share one read.
    const reading = this.#reading.get(tenantId) ?? this.#refresh(tenantId, day, known);
    this.#reading.set(tenantId, reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(tenantId);
    }
  }

  async #refresh(
    tenantId: string,
    day: string,
    known: TenantDay | undefined,
  ): Promise<TenantDay> {
    if (known !== undefined) await this.#store(tenantId, known);
    const [usage, limits] = await Promise.all([
      this.store.usage(tenantId, day),
      this.store.limits(tenantId),
    ]);
    const counted = known?.day === day ? known.pending : 0;
    const fresh = { day, readAt: this.clock.monotonic(), usage, limits, pending: counted };
    this.#days.delete(tenantId);
    this.#days.set(tenantId, fresh);
    if (this.#days.size > maxTenants) await this.#forgetOldest();
    return fresh;
  }

  async #store(tenantId: string, state: TenantDay): Promise<void> {
    const count = state.pending;
    if (count === 0) return;
    state.pending = 0;
    try {
      await this.store.addRequests(tenantId, state.day, count);
    } catch (thrown) {
      state.pending += count;
      throw thrown;
    }
  }

  async #forgetOldest(): Promise<void> {
    const oldest = this.#days.entries().next();
    if (oldest.done) return;
    const [tenantId, state] = oldest.value;
    this.#days.delete(tenantId);
    await this.#store(tenantId, state);
  }
}

function secondsToMidnight(now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.max(1, Math.ceil((midnight - now.getTime()) / 1000));
}

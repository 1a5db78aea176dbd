import type { Clock } from "../clock.ts";
import type { RemainingQuota } from "../storage/platform/usage.ts";
import type { TenantLimitStores } from "./ports.ts";
import { HttpProblem } from "./problems.ts";
import type { RateLimit } from "./rate-limits.ts";

/** Milliseconds for which what was read of a tenant is believed. */
const freshMs = 5000;
/** The most tenants that are cached. */
const maxTenants = 10_000;

interface TenantState {
  readonly day: string;
  readonly readAt: number;
  readonly remaining: RemainingQuota;
  readonly rate: RateLimit | undefined;
  /** Requests since then, which are not stored yet. */
  pending: number;
}

/**
 * The limits in the settings of tenants: their rate, and their quotas of a day. Requests are counted here and stored in
 * batches: several processes together may allow some seconds' worth of requests too many.
 */
export class TenantLimits {
  readonly #states = new Map<string, TenantState>();
  readonly #reading = new Map<string, Promise<TenantState>>();

  constructor(
    private readonly stores: TenantLimitStores,
    private readonly clock: Pick<Clock, "now" | "monotonic">,
  ) {}

  /** The rate of a tenant, if its settings have one. */
  async rate(tenantId: string): Promise<RateLimit | undefined> {
    return (await this.#read(tenantId)).rate;
  }

  /**
   * Counts a request.
   *
   * @param spends whether the quotas of tokens and cost apply as well
   * @throws HttpProblem `quota_exceeded`
   */
  async take(tenantId: string, spends: boolean): Promise<void> {
    const state = await this.#read(tenantId);
    const names = spends ? (["requests", "tokens", "cost_usd"] as const) : (["requests"] as const);
    const quota = names.find((name) => {
      const left = state.remaining[name];
      return left !== null && left - (name === "requests" ? state.pending : 0) <= 0;
    });
    if (quota === undefined) {
      state.pending += 1;
      return;
    }
    throw new HttpProblem("quota_exceeded", {
      detail: `The quota of ${quota} of this day (UTC) is used up.`,
      extensions: { quota },
      headers: { "Retry-After": String(secondsToMidnight(this.clock.now())) },
    });
  }

  /** Stores the counted requests of all tenants. */
  async flush(): Promise<void> {
    await Promise.all([...this.#states].map(([tenantId, state]) => this.#store(tenantId, state)));
  }

  async #read(tenantId: string): Promise<TenantState> {
    const known = this.#states.get(tenantId);
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
    known: TenantState | undefined,
  ): Promise<TenantState> {
    if (known !== undefined) await this.#store(tenantId, known);
    const [remaining, { settings }] = await Promise.all([
      this.stores.usage.remaining(tenantId),
      this.stores.tenants.get(tenantId),
    ]);
    const { requests_per_minute: perMinute, burst } = settings.rate ?? {};
    const rate =
      perMinute === undefined ? undefined : { perMinute, ...(burst !== undefined && { burst }) };
    // Requests that came while this was read.
    const pending = known?.day === day ? known.pending : 0;
    const fresh = { day, readAt: this.clock.monotonic(), remaining, rate, pending };
    this.#states.delete(tenantId);
    this.#states.set(tenantId, fresh);
    if (this.#states.size > maxTenants) await this.#forgetOldest();
    return fresh;
  }

  async #store(tenantId: string, state: TenantState): Promise<void> {
    const requests = state.pending;
    if (requests === 0) return;
    state.pending = 0;
    try {
      await this.stores.usage.add(tenantId, { requests });
    } catch (thrown) {
      state.pending += requests;
      throw thrown;
    }
  }

  async #forgetOldest(): Promise<void> {
    const oldest = this.#states.entries().next();
    if (oldest.done) return;
    const [tenantId, state] = oldest.value;
    this.#states.delete(tenantId);
    await this.#store(tenantId, state);
  }
}

function secondsToMidnight(now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.max(1, Math.ceil((midnight - now.getTime()) / 1000));
}

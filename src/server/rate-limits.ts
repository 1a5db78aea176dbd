import type { Clock } from "../clock.ts";
import { HttpProblem } from "./problems.ts";

export interface RateLimit {
  /** Requests per minute in the long run. */
  readonly perMinute: number;
  /** Requests that may come at once. Default: those of a minute. */
  readonly burst?: number;
}

/** The state of one bucket after a request. */
export interface RateState {
  readonly isAllowed: boolean;
  /** Requests that may come at once. */
  readonly capacity: number;
  readonly remaining: number;
  /** Seconds until another request is allowed, or until the bucket is full again. */
  readonly resetSeconds: number;
}

/** The most buckets that are remembered. A full bucket carries no information; the longest unused goes first. */
const maxBuckets = 50_000;

/** Token buckets in this process, one for each name. */
export class TokenBuckets {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(
    private readonly limit: RateLimit,
    private readonly clock: Pick<Clock, "monotonic">,
  ) {}

  /** Takes a token, if there is one. `limit`: of this bucket, instead of that of all. */
  take(name: string, limit: RateLimit = this.limit): RateState {
    const capacity = limit.burst ?? limit.perMinute;
    const perMs = limit.perMinute / 60_000;
    const now = this.clock.monotonic();
    const bucket = this.#buckets.get(name) ?? { tokens: capacity, at: now };
    const tokens = Math.min(capacity, bucket.tokens + (now - bucket.at) * perMs);
    const isAllowed = tokens >= 1;
    const left = isAllowed ? tokens - 1 : tokens;
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens: left, at: now });
    if (this.#buckets.size > maxBuckets) {
      const oldest = this.#buckets.keys().next();
      if (!oldest.done) this.#buckets.delete(oldest.value);
    }
    const missing = isAllowed ? capacity - left : 1 - left;
    return {
      isAllowed,
      capacity,
      remaining: Math.floor(left),
      resetSeconds: Math.max(1, Math.ceil(missing / perMs / 1000)),
    };
  }

  /** Whether there is a token, without taking it. */
  has(name: string): boolean {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return true;
    const perMs = this.limit.perMinute / 60_000;
    return bucket.tokens + (this.clock.monotonic() - bucket.at) * perMs >= 1;
  }
}

/** Rate limits of requests. `null` switches one off. */
export interface RateLimits {
  /** Of one key. Default 600 a minute, 100 at once. */
  readonly perKey?: RateLimit | null;
  /** Of all keys of a tenant. Default 3,000 a minute, 500 at once. */
  readonly perTenant?: RateLimit | null;
  /** Refused keys of one client address. Default 60 a minute, 20 at once. */
  readonly refusedKeys?: RateLimit | null;
}

/** Applies the rate limits of a process. Several processes each have their own. */
export class RateLimiter {
  readonly #key: TokenBuckets | null;
  readonly #tenant: TokenBuckets | null;
  readonly #refused: TokenBuckets | null;

  constructor(limits: RateLimits, clock: Pick<Clock, "monotonic">) {
    const buckets = (limit: RateLimit | null | undefined, usual: RateLimit) =>
      limit === null ? null : new TokenBuckets(limit ?? usual, clock);
    this.#key = buckets(limits.perKey, { perMinute: 600, burst: 100 });
    this.#tenant = buckets(limits.perTenant, { perMinute: 3000, burst: 500 });
    this.#refused = buckets(limits.refusedKeys, { perMinute: 60, burst: 20 });
  }

  /**
   * Counts a request of a caller, and adds the RateLimit headers of the tighter limit.
   *
   * @param of.ofTenant the limit in the settings of the tenant
   * @throws HttpProblem `rate_limited`
   */
  take(
    caller: { readonly keyId: string; readonly tenantId: string },
    { headers, ofTenant }: { readonly headers: Headers; readonly ofTenant?: RateLimit | undefined },
  ): void {
    const states: { readonly name: string; readonly state: RateState }[] = [];
    if (this.#key !== null) states.push({ name: "key", state: this.#key.take(caller.keyId) });
    // A key that is too fast takes nothing from the other keys of its tenant.
    if (this.#tenant !== null && states.every(({ state }) => state.isAllowed))
      states.push({ name: "tenant", state: this.#tenant.take(caller.tenantId, ofTenant) });
    const tightest = states.toSorted((a, b) => a.state.remaining - b.state.remaining)[0];
    if (tightest === undefined) return;
    const { name, state } = states.find((one) => !one.state.isAllowed) ?? tightest;
    headers.set("RateLimit-Policy", `"${name}";q=${state.capacity}`);
    headers.set("RateLimit", `"${name}";r=${state.remaining};t=${state.resetSeconds}`);
    if (!state.isAllowed) throw limited(state, name);
  }

  /**
   * Refuses clients that sent too many wrong keys, before their next key is looked up.
   *
   * @throws HttpProblem `rate_limited`
   */
  checkClient(client: string | undefined): void {
    if (client === undefined || this.#refused === null || this.#refused.has(client)) return;
    throw limited({ resetSeconds: 1 }, "refused-keys");
  }

  /** Counts a refused key of a client. */
  countRefusal(client: string | undefined): void {
    if (client !== undefined) this.#refused?.take(client);
  }
}

function limited({ resetSeconds }: Pick<RateState, "resetSeconds">, limit: string): HttpProblem {
  return new HttpProblem("rate_limited", {
    detail: `The rate limit "${limit}" is used up. Try again in ${resetSeconds} s.`,
    extensions: { limit },
    headers: { "Retry-After": String(resetSeconds) },
  });
}

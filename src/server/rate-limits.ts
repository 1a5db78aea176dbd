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
  readonly remaining: number;
  /** Seconds until another request is allowed, or until the bucket is full again. */
  readonly resetSeconds: number;
}

/** The most buckets that are remembered. A full bucket carries no information; the longest unused goes first. */
const maxBuckets = 50_000;

/** Token buckets in this process, one for each name. */
export class TokenBuckets {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly capacity: number;
  readonly #perMs: number;

  constructor(
    limit: RateLimit,
    private readonly clock: Pick<Clock, "monotonic">,
  ) {
    this.capacity = limit.burst ?? limit.perMinute;
    this.#perMs = limit.perMinute / 60_000;
  }

  /** Takes a token, if there is one. */
  take(name: string): RateState {
    const now = this.clock.monotonic();
    const bucket = this.#buckets.get(name) ?? { tokens: this.capacity, at: now };
    const tokens = Math.min(this.capacity, bucket.tokens + (now - bucket.at) * this.#perMs);
    const isAllowed = tokens >= 1;
    const left = isAllowed ? tokens - 1 : tokens;
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens: left, at: now });
    if (this.#buckets.size > maxBuckets) {
      const oldest = this.#buckets.keys().next();
      if (!oldest.done) this.#buckets.delete(oldest.value);
    }
    const missing = isAllowed ? this.capacity - left : 1 - left;
    return {
      isAllowed,
      remaining: Math.floor(left),
      resetSeconds: Math.max(1, Math.ceil(missing / this.#perMs / 1000)),
    };
  }

  /** Whether there is a token, without taking it. */
  has(name: string): boolean {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return true;
    return bucket.tokens + (this.clock.monotonic() - bucket.at) * this.#perMs >= 1;
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
   * @throws HttpProblem `rate_limited`
   */
  take(caller: { readonly keyId: string; readonly tenantId: string }, headers: Headers): void {
    const states = (
      [
        ["key", this.#key, caller.keyId],
        ["tenant", this.#tenant, caller.tenantId],
      ] as const
    ).flatMap(([name, buckets, of]) =>
      buckets === null ? [] : [{ name, buckets, state: buckets.take(of) }],
    );
    const tightest = states.toSorted((a, b) => a.state.remaining - b.state.remaining)[0];
    if (tightest === undefined) return;
    const { name, buckets, state } = states.find((one) => !one.state.isAllowed) ?? tightest;
    headers.set("RateLimit-Policy", `"${name}";q=${buckets.capacity}`);
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
    throw limited({ isAllowed: false, remaining: 0, resetSeconds: 1 }, "refused-keys");
  }

  /** Counts a refused key of a client. */
  countRefusal(client: string | undefined): void {
    if (client !== undefined) this.#refused?.take(client);
  }
}

function limited({ resetSeconds }: RateState, limit: string): HttpProblem {
  return new HttpProblem("rate_limited", {
    detail: `The rate limit "${limit}" is used up. Try again in ${resetSeconds} s.`,
    extensions: { limit },
    headers: { "Retry-After": String(resetSeconds) },
  });
}

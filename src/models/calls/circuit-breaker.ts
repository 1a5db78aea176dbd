import type { Clock } from "../../clock.ts";
import type { FailureReason } from "../../state/usage.ts";

export interface CircuitOptions {
  /** Failed calls in a row that open the circuit of a provider. Default 5. */
  readonly failures?: number;
  /** Milliseconds for which it stays open. Default 30,000. */
  readonly openMs?: number;
}

/** Failures of a provider. After all others but `bad_reply` it is known to answer. */
const providerFailures: ReadonlySet<FailureReason> = new Set([
  "outage",
  "timeout",
  "rate_limit",
  "quota",
]);

interface Circuit {
  failures: number;
  /** Monotonic; 0 while the circuit is closed. */
  openUntil: number;
}

/**
 * Remembers which providers fail, so that a call asks its fallback at once instead of waiting for another failure. After
 * a while one call is let through: its success closes the circuit, its failure opens it again (Nygard, Release It!).
 */
export class CircuitBreaker {
  readonly #circuits = new Map<string, Circuit>();
  readonly #clock: Clock;
  readonly #failures: number;
  readonly #openMs: number;

  constructor(clock: Clock, { failures = 5, openMs = 30_000 }: CircuitOptions = {}) {
    this.#clock = clock;
    this.#failures = failures;
    this.#openMs = openMs;
  }

  /** Returns whether calls to a provider should be skipped. Lets one call through when the time is over. */
  isOpen(provider: string): boolean {
    const circuit = this.#circuits.get(provider);
    if (circuit === undefined || circuit.openUntil === 0) return false;
    const now = this.#clock.monotonic();
    if (now < circuit.openUntil) return true;
    circuit.openUntil = now + this.#openMs;
    return false;
  }

  succeeded(provider: string): void {
    this.#circuits.delete(provider);
  }

  failed(provider: string, reason: FailureReason): void {
    if (!providerFailures.has(reason)) {
      if (reason !== "bad_reply") this.succeeded(provider);
      return;
    }
    const circuit = this.#circuits.get(provider) ?? { failures: 0, openUntil: 0 };
    circuit.failures += 1;
    if (circuit.failures >= this.#failures) {
      circuit.openUntil = this.#clock.monotonic() + this.#openMs;
    }
    this.#circuits.set(provider, circuit);
  }
}

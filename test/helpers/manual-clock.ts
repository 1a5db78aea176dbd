import type { Clock } from "../../src/clock.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock that stands still until a test advances it. Timers run inside {@link ManualClock.advance}, in order of their
 * time and then of their making, also those that are made by timers on the way.
 */
export class ManualClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  #made = 0;

  /** `start` is the wall-clock time at which `monotonic` is 0. */
  constructor(start = "2026-01-01T00:00:00.000Z") {
    this.#start = Date.parse(start);
  }

  /** Timers that neither ran nor were cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Whether a timer runs within so many milliseconds. */
  isDueWithin(ms: number): boolean {
    return this.#nextDue(this.#elapsed + ms) !== undefined;
  }

  now(): Date {
    return new Date(this.#start + this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#elapsed + Math.max(0, delayMs), order: this.#made++, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves time on by `ms` milliseconds and runs what becomes due. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let timer = this.#nextDue(end); timer !== undefined; timer = this.#nextDue(end)) {
      this.#timers.delete(timer);
      this.#elapsed = timer.at;
      timer.run();
    }
    this.#elapsed = end;
  }

  #nextDue(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      const sooner =
        next === undefined ||
        timer.at < next.at ||
        (timer.at === next.at && timer.order < next.order);
      if (sooner) next = timer;
    }
    return next;
  }
}

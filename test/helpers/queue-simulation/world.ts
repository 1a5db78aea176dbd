import type { Clock } from "../../../src/clock.ts";
import type { Random } from "../random.ts";

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Virtual time, and what happens in it. */
export class World {
  #time = 0;
  #made = 0;
  readonly #events: Event[] = [];

  /** Milliseconds. */
  get time(): number {
    return this.#time;
  }

  at(time: number, run: () => void): () => void {
    const event = { at: Math.max(time, this.#time), order: (this.#made += 1), run };
    this.#push(event);
    return () => {
      const place = this.#events.indexOf(event);
      if (place >= 0) this.#events.splice(place, 1);
    };
  }

  after(ms: number, run: () => void): () => void {
    return this.at(this.#time + ms, run);
  }

  /** Lets time pass until a time, or until `isOver` holds. */
  async run(until: number, isOver: () => boolean): Promise<void> {
    for (;;) {
      // What the last event resolved is done before the next one.
      await new Promise(setImmediate);
      const next = this.#events[0];
      if (isOver() || next === undefined || next.at > until) return;
      this.#events.shift();
      this.#time = next.at;
      next.run();
    }
  }

  #push(event: Event): void {
    let place = this.#events.length;
    while (place > 0 && isAfter(this.#events[place - 1]!, event)) place -= 1;
    this.#events.splice(place, 0, event);
  }
}

function isAfter(one: Event, other: Event): boolean {
  return one.at > other.at || (one.at === other.at && one.order > other.order);
}

/** A process: frozen, it does nothing until it goes on; dead, it does nothing any more. */
export class SimulatedProcess {
  #frozenUntil = 0;
  #cutUntil = 0;
  isDead = false;

  constructor(
    readonly name: string,
    private readonly world: World,
    private readonly random: Random,
    /** Milliseconds by which its wall clock is ahead. */
    private readonly skewMs: number,
    /** Its seconds, in those of the world. */
    private readonly rate: number,
  ) {}

  get isFrozen(): boolean {
    return this.world.time < this.#frozenUntil;
  }

  /** Whether it was frozen so short a time ago that its timers may not have run. */
  get isDazed(): boolean {
    return this.world.time < this.#frozenUntil + 1;
  }

  get isCut(): boolean {
    return this.world.time < this.#cutUntil;
  }

  freeze(ms: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, this.world.time + ms);
  }

  /** Keeps messages from and to the database. */
  cut(ms: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.world.time + ms);
  }

  readonly clock: Clock = {
    now: () => new Date(1_700_000_000_000 + this.skewMs + this.#own(this.world.time)),
    monotonic: () => this.#own(this.world.time),
    after: (delayMs, run) => {
      let isCancelled = false;
      const cancel = this.world.after(delayMs / this.rate, () => {
        this.#resume(() => {
          if (!isCancelled) run();
        });
      });
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.after(ms, resolve));
  }

  /** Runs a statement on the database, which may be late, or lost on the way there or back. */
  ask<Answer>(statement: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (run: () => void) => this.#resume(run);
      const fail = () => settle(() => reject(new Error("the connection is lost")));
      const hasAnswer = this.random() < 0.5;
      const arrive = () => {
        if (this.isDead && this.random() < 0.5) return;
        if (this.isCut) {
          // The statement runs, or not, and the session ends without an answer.
          if (hasAnswer) statement();
          this.world.after(this.random.int(100, 6_000), fail);
          return;
        }
        let answer: Answer;
        try {
          answer = statement();
        } catch (error) {
          this.world.after(this.#latency(), () => settle(() => reject(error)));
          return;
        }
        this.world.after(this.#latency(), () => {
          if (this.isCut && !hasAnswer) this.world.after(this.random.int(100, 6_000), fail);
          else settle(() => resolve(answer));
        });
      };
      this.world.after(this.#latency(), arrive);
    });
  }

  #resume(run: () => void): void {
    if (this.isDead) return;
    if (this.isFrozen) this.world.at(this.#frozenUntil, () => this.#resume(run));
    else run();
  }

  #own(time: number): number {
    return time * this.rate;
  }

  #latency(): number {
    return this.random() < 0.02 ? this.random.int(50, 4_000) : 0.2 + this.random() * 3;
  }
}

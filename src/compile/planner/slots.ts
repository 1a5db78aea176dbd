import type { RunnableConfig } from "@langchain/core/runnables";
import { PrivateConfig } from "../private-config.ts";

/** How many subtasks run at once, of a planner and of the planners within its workers. First come, first served. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  /** Resolves when there is one, which the caller has from then on. */
  take(): Promise<void> {
    return this.#take((wait) => this.#waiting.push(wait));
  }

  /** The same before all that wait: for work that is only to be brought to its end. */
  takeNext(): Promise<void> {
    return this.#take((wait) => this.#waiting.unshift(wait));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  #take(queue: (wait: () => void) => void): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => queue(resolve));
  }
}

/**
 * The slot of a worker. Planners within it lend it to their own subtasks while these run: the first that begins gives it
 * back, and the last that ends takes one again.
 */
export class WorkerSlot {
  readonly #slots: Slots;
  #lenders = 0;
  /** One change after the other: a slot that is still waited for cannot be given back. */
  #last: Promise<void> = Promise.resolve();

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  lend(): Promise<void> {
    return this.#change(async () => {
      this.#lenders += 1;
      if (this.#lenders === 1) this.#slots.give();
    });
  }

  takeBack(): Promise<void> {
    return this.#change(async () => {
      this.#lenders -= 1;
      if (this.#lenders === 0) await this.#slots.takeNext();
    });
  }

  #change(change: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(change);
    return this.#last;
  }
}

/** What planners within a worker share with the one around them. */
export interface Shared {
  readonly slots: Slots;
  readonly own: WorkerSlot;
  /** Plans for gaps that may still be made further in. */
  readonly depthLeft: number;
}

const slotsInUse = new PrivateConfig<Shared>("slots");

export function withShared(config: RunnableConfig, shared: Shared): RunnableConfig {
  return slotsInUse.with(config, shared);
}

/** Null in a planner that is within no other. */
export function sharedOf(config: RunnableConfig): Shared | null {
  return slotsInUse.in(config) ?? null;
}

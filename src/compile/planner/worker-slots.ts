import type { RunnableConfig } from "@langchain/core/runnables";
import { PrivateConfig } from "../run/run-config.ts";

/** Limits the concurrent subtasks of a planner and of its nested planners. First come, first served. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  /** Resolves when the caller holds a slot. */
  acquire(): Promise<void> {
    return this.#take((wait) => this.#waiting.push(wait));
  }

  /** Acquires a slot before all waiting callers, for work that only needs to complete. */
  acquireFirst(): Promise<void> {
    return this.#take((wait) => this.#waiting.unshift(wait));
  }

  release(): void {
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
 * The slot of a worker. Planners within it yield it to their own subtasks while these run: the first to start releases
 * it, and the last to end reacquires it.
 */
export class WorkerSlot {
  readonly #slots: Semaphore;
  #lenders = 0;
  /** Changes are sequential: a slot cannot be released before it is acquired. */
  #last: Promise<void> = Promise.resolve();

  constructor(slots: Semaphore) {
    this.#slots = slots;
  }

  yield(): Promise<void> {
    return this.#change(async () => {
      this.#lenders += 1;
      if (this.#lenders === 1) this.#slots.release();
    });
  }

  reacquire(): Promise<void> {
    return this.#change(async () => {
      this.#lenders -= 1;
      if (this.#lenders === 0) await this.#slots.acquireFirst();
    });
  }

  #change(change: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(change);
    return this.#last;
  }
}

/** The data that nested planners share with the outer one. */
export interface Shared {
  readonly slots: Semaphore;
  readonly own: WorkerSlot;
  /** How many plans for gaps nested planners may still make. */
  readonly depthLeft: number;
}

const slotsInUse = new PrivateConfig<Shared>("slots");

export function withShared(config: RunnableConfig, shared: Shared): RunnableConfig {
  return slotsInUse.with(config, shared);
}

/** Returns null in a planner that is not nested. */
export function sharedOf(config: RunnableConfig): Shared | null {
  return slotsInUse.in(config) ?? null;
}

import type { RunnableConfig } from "@langchain/core/runnables";

/** LangGraph keeps keys with two underscores out of metadata and checkpoints. */
const key = "__stratagraph_slots";

/** How many subtasks run at once, of a planner and of the planners within its workers. First come, first served. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  /** Resolves when there is one, which the caller has from then on. */
  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** What planners within a worker share with the one around them. */
export interface Shared {
  readonly slots: Slots;
  /** Plans for gaps that may still be made further in. */
  readonly depthLeft: number;
}

export function withShared(config: RunnableConfig, shared: Shared): RunnableConfig {
  return { ...config, configurable: { ...config.configurable, [key]: shared } };
}

/** Null in a planner that is within no other. */
export function sharedOf(config: RunnableConfig): Shared | null {
  return (config.configurable?.[key] as Shared | undefined) ?? null;
}

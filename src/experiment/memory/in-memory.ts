import { type ExperimentMemory, MemoryConflictError, type RunMemory } from "./run-memory.ts";

/** A memory that lasts as long as this object, for runtimes without a database. */
export function createInMemoryExperimentMemory(): ExperimentMemory {
  const runs = new Map<string, InMemoryRunMemory>();
  return {
    of(runId) {
      const memory = runs.get(runId) ?? new InMemoryRunMemory(runId);
      runs.set(runId, memory);
      return memory;
    },
  };
}

interface Change {
  readonly number: number;
  readonly key: string;
  /** The value before; undefined where there was none. */
  readonly before: string | undefined;
}

class InMemoryRunMemory implements RunMemory {
  readonly #runId: string;
  readonly #values = new Map<string, string>();
  /** Oldest first. */
  readonly #changes: Change[] = [];

  constructor(runId: string) {
    this.#runId = runId;
  }

  async list(): Promise<readonly string[]> {
    return [...this.#values.keys()].toSorted();
  }

  async read(key: string): Promise<string | null> {
    return this.#values.get(key) ?? null;
  }

  async write(key: string, value: string, change: number): Promise<boolean> {
    return this.#set(key, value, change);
  }

  async delete(key: string, change: number): Promise<boolean> {
    return this.#set(key, undefined, change);
  }

  async lastChange(): Promise<number> {
    return this.#last();
  }

  async rewind(change: number): Promise<void> {
    while (this.#last() > change) {
      const undone = this.#changes.pop();
      if (undone !== undefined) this.#put(undone.key, undone.before);
    }
  }

  async clear(): Promise<void> {
    this.#values.clear();
    this.#changes.length = 0;
  }

  #last(): number {
    return this.#changes.at(-1)?.number ?? 0;
  }

  /** Returns whether there was a value before. */
  #set(key: string, value: string | undefined, number: number): boolean {
    const last = this.#last();
    if (number <= last) throw new MemoryConflictError(this.#runId, number, last);
    const before = this.#values.get(key);
    this.#changes.push({ number, key, before });
    this.#put(key, value);
    return before !== undefined;
  }

  #put(key: string, value: string | undefined): void {
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
  }
}

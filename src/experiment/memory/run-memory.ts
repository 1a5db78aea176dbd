import { StratagraphError } from "../../errors.ts";

/** Port: texts that agents keep from cycle to cycle, by run and key. */
export interface ExperimentMemory {
  /** The memory of one run; no other run sees it. Costs nothing. */
  of(runId: string): RunMemory;
}

/**
 * The memory of one run. Changes are numbered from 1 in the order in which they are made, and can be taken back: a run
 * that goes on from a checkpoint takes back what was changed after it.
 *
 * Calls take effect in the order in which they are made, also when they are not waited for. Keys and values are texts
 * without NUL and lone surrogates, which databases do not take; keys are short (the tools take 200 characters).
 */
export interface RunMemory {
  /** Keys in the order of their UTF-16 code units, which is that of JavaScript's own `sort`. */
  list(): Promise<readonly string[]>;
  /** Null where there is no such key. @throws CorruptMemoryError */
  read(key: string): Promise<string | null>;
  /**
   * Adds or replaces a text; durable, with what taking it back needs, when it resolves.
   * @param change number of the change: one more than the last, or above that where changes in between have failed
   * @returns whether there was a text of that key before
   * @throws MemoryConflictError for a number that is not above the last
   */
  write(key: string, value: string, change: number): Promise<boolean>;
  /**
   * Removes a text. A key that is not there is a change too.
   * @returns whether there was one
   * @throws MemoryConflictError for a number that is not above the last
   */
  delete(key: string, change: number): Promise<boolean>;
  /** Number of the last change that was made and not taken back; 0 for none. */
  lastChange(): Promise<number>;
  /** Takes back all changes after number `change`, the newest first, as one; 0 takes back all. */
  rewind(change: number): Promise<void>;
  /** Forgets everything, the numbers of changes too. */
  clear(): Promise<void>;
}

/**
 * A change of a run's memory came with a number that is not above the last one's: the run went on without taking back
 * the changes after its checkpoint, or two processes run it. Nothing was changed.
 */
export class MemoryConflictError extends StratagraphError {
  readonly code = "memory_conflict";
  override readonly kind = "run";

  constructor(
    readonly runId: string,
    readonly change: number,
    /** Number of the last change that the memory has; 0 for none. */
    readonly last: number,
  ) {
    super(
      `Expected a change of the memory of run ${JSON.stringify(runId)} numbered above ${last}, the last one there, got ${change}. ` +
        `Make sure that no other process runs it, and roll back the changes after its checkpoint before it resumes.`,
    );
  }
}

/**
 * A memory whose failures are kept: a tool that meets one tells its model, but a database that is out of reach is no
 * matter of the agent's.
 */
export function watchedMemory(memory: RunMemory): {
  readonly memory: RunMemory;
  /** @throws what a call has thrown */
  throwIfFailed(): void;
} {
  let failure: { readonly thrown: unknown } | undefined;
  const watched = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (thrown) {
      failure ??= { thrown };
      throw thrown;
    }
  };
  return {
    memory: {
      list: () => watched(() => memory.list()),
      read: (key) => watched(() => memory.read(key)),
      write: (key, value, change) => watched(() => memory.write(key, value, change)),
      delete: (key, change) => watched(() => memory.delete(key, change)),
      lastChange: () => watched(() => memory.lastChange()),
      rewind: (change) => watched(() => memory.rewind(change)),
      clear: () => watched(() => memory.clear()),
    },
    throwIfFailed() {
      if (failure !== undefined) throw failure.thrown;
    },
  };
}

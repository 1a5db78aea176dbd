import type { RunMemory } from "./run-memory.ts";

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

import { ThreadBusyError } from "./errors.ts";
import type { RunServices } from "./run-services.ts";

const threadsOf = new WeakMap<RunServices, Set<string>>();

/**
 * Runs something while nobody else is on the thread. It is given a signal that aborts when that is no longer so.
 * @throws ThreadBusyError when a run of the same services is on it, ThreadLockedError when another process is
 */
export async function holdThread<Result>(
  services: RunServices,
  threadId: string,
  run: (lost: AbortSignal | undefined) => Promise<Result>,
): Promise<Result> {
  const running = threadsOf.get(services) ?? new Set<string>();
  threadsOf.set(services, running);
  if (running.has(threadId)) throw new ThreadBusyError(threadId);
  running.add(threadId);
  try {
    const lock = await services.lockThread?.(threadId);
    try {
      return await run(lock?.signal);
    } finally {
      await lock?.release();
    }
  } finally {
    running.delete(threadId);
  }
}

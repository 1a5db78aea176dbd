import type { CodeWorker } from "../../src/definition/worker.ts";

/**
 * Code workers that end when the test says so. With `most` they end by themselves: as soon as so many run at once, and
 * otherwise when nothing else begins.
 */
export function manualWork(by: { readonly most?: number } = {}) {
  const open = new Map<string, () => void>();
  const waiting = new Set<() => void>();
  const work = {
    /** Ids of what runs, in the order in which it was begun. */
    get running() {
      return [...open.keys()];
    },
    /** How many ran at once, at most. */
    most: 0,
    /** How many were begun. */
    ran: 0,
    run: (({ id }) => {
      const key = open.has(id) ? `${id} ${work.ran}` : id;
      work.ran += 1;
      const ended = new Promise<string>((resolve) => open.set(key, () => resolve(`${id} done`)));
      work.most = Math.max(work.most, open.size);
      for (const look of waiting) look();
      if (by.most !== undefined) endLater(key, by.most);
      return ended;
    }) satisfies CodeWorker["run"],
    /** Resolves when all of these run. */
    begun: (...ids: readonly string[]) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!ids.every((id) => open.has(id))) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    end(id: string) {
      const end = open.get(id);
      if (end === undefined) throw new Error(`${id} does not run.`);
      open.delete(id);
      end();
    },
  };
  const endLater = (key: string, most: number, turns = 50): void => {
    setImmediate(() => {
      if (turns === 0 || open.size >= most) work.end(key);
      else endLater(key, most, turns - 1);
    });
  };
  return work;
}

import { DatabaseUnavailableError } from "../../src/storage/errors.ts";
import type { DatabaseClient, DatabasePool } from "../../src/storage/pool.ts";

/** A pool whose connections are all lost at a statement that is chosen before. */
export interface FaultyPool extends DatabasePool {
  /** Statements since the last {@link arm}. */
  readonly statements: number;
  /**
   * Loses the connections at the n-th statement from now on, before it runs or before its answer arrives; until then,
   * and for 0, all is well. What was lost before is there again.
   */
  arm(at: number, when: "before" | "after"): void;
}

/** Sessions that are lost are not given back, so a server rolls back what they had open. */
export function faultyPool(pool: DatabasePool): FaultyPool {
  let statements = 0;
  let fault = { at: 0, when: "before" as "before" | "after" };
  let isLost = false;
  const open = new Set<() => void>();

  const lost = () => new DatabaseUnavailableError("its connections were cut", null, undefined);
  const lose = (): never => {
    isLost = true;
    for (const release of open) release();
    throw lost();
  };
  const connect = async (): Promise<DatabaseClient> => {
    if (isLost) throw lost();
    const client = await pool.connect();
    const stop = new AbortController();
    let isReleased = false;
    const release = (error?: Error | boolean): void => {
      if (isReleased) return;
      isReleased = true;
      open.delete(cut);
      client.release(error);
    };
    const cut = (): void => {
      release(true);
      stop.abort(lost());
    };
    open.add(cut);
    return {
      ...(client.lost && { lost: AbortSignal.any([client.lost, stop.signal]) }),
      release,
      async query(query, values) {
        if (isReleased) throw lost();
        statements += 1;
        const isFault = statements === fault.at;
        if (isFault && fault.when === "before") return lose();
        const result = await client.query(query, values);
        return isFault ? lose() : (result as never);
      },
    };
  };
  return {
    heldLocks: pool.heldLocks,
    connect,
    async query(query, values) {
      const client = await connect();
      try {
        return await client.query(query, values);
      } finally {
        client.release();
      }
    },
    end: () => pool.end(),
    get statements() {
      return statements;
    },
    arm(at, when) {
      statements = 0;
      isLost = false;
      fault = { at, when };
    },
  };
}

import { createHash } from "node:crypto";
import type { Queryable } from "../../storage/pool.ts";
import { MemoryChangeTakenError } from "./change-taken-error.ts";
import { CorruptMemoryError } from "./corrupt-memory-error.ts";
import type { RunMemory } from "./run-memory.ts";
import type { ChangeRow, MemoryStatements } from "./statements.ts";

/** How the memory of one run gets at the database. */
export interface RunAccess {
  /** Begins when all that was asked for the run before, in this process, has ended. */
  inTurn<T>(work: (database: Queryable) => Promise<T>): Promise<T>;
  /** The same in a transaction that has the run's lock, and is rolled back where `work` rejects. */
  alone<T>(work: (client: Queryable) => Promise<T>): Promise<T>;
}

export class DatabaseRunMemory implements RunMemory {
  readonly #runId: string;
  readonly #statements: MemoryStatements;
  readonly #access: RunAccess;

  constructor(runId: string, statements: MemoryStatements, access: RunAccess) {
    this.#runId = runId;
    this.#statements = statements;
    this.#access = access;
  }

  list(): Promise<readonly string[]> {
    return this.#access.inTurn(async (database) => {
      const { rows } = await database.query<{ key: string }>({
        ...this.#statements.list,
        values: [this.#runId],
      });
      // Here, since databases order by code points at best, which differs from code units beyond U+FFFF.
      return rows.map(({ key }) => key).toSorted();
    });
  }

  read(key: string): Promise<string | null> {
    return this.#access.inTurn(async (database) => {
      const { rows } = await database.query<{ value: string; hash: Buffer | null }>({
        ...this.#statements.read,
        values: [this.#runId, key],
      });
      const [row] = rows;
      if (row === undefined) return null;
      const isSound = row.hash === null || row.hash.equals(this.#hash(key, row.value));
      if (!isSound) throw new CorruptMemoryError(this.#runId, key);
      return row.value;
    });
  }

  write(key: string, value: string, change: number): Promise<boolean> {
    return this.#change(this.#statements.write, change, [key, value, this.#hash(key, value)]);
  }

  delete(key: string, change: number): Promise<boolean> {
    return this.#change(this.#statements.delete, change, [key]);
  }

  lastChange(): Promise<number> {
    return this.#access.inTurn(async (database) => {
      const last = { ...this.#statements.last, values: [this.#runId] };
      const { rows } = await database.query<{ last: number }>(last);
      return rows[0]?.last ?? 0;
    });
  }

  rewind(change: number): Promise<void> {
    return this.#access.alone(async (client) => {
      await client.query({ ...this.#statements.rewind, values: [this.#runId, change] });
    });
  }

  clear(): Promise<void> {
    return this.#access.alone(async (client) => {
      await client.query({ ...this.#statements.clear, values: [this.#runId] });
    });
  }

  #hash(key: string, value: string): Buffer {
    return createHash("sha256")
      .update(JSON.stringify([1, this.#runId, key, value]))
      .digest();
  }

  #change(
    statement: MemoryStatements["write"],
    change: number,
    values: readonly unknown[],
  ): Promise<boolean> {
    return this.#access.alone(async (client) => {
      const { rows } = await client.query<ChangeRow>({
        ...statement,
        values: [this.#runId, change, ...values],
      });
      const { last, made, existed } = rows[0]!;
      if (!made) throw new MemoryChangeTakenError(this.#runId, change, last);
      return existed;
    });
  }
}

import { beforeEach, expect, test } from "vitest";
import {
  DatabaseClosedError,
  DatabaseFullError,
  DatabaseUnavailableError,
} from "../../src/storage/errors.ts";
import { PGliteConnection, type PGliteLike } from "../../src/storage/pglite-pool.ts";

let opened: FakePGlite[];
let failure: Error | undefined;
beforeEach(() => {
  opened = [];
  failure = undefined;
});

/** Answers every statement, or fails with `failure`; then it must be left alone, since PGlite would hang. */
class FakePGlite {
  panicked = false;
  readonly asked: string[] = [];

  exec(text: string): Promise<unknown> {
    return this.#answer(text, [{ rows: [], command: "SELECT" }]);
  }
  execProtocolRaw(): Promise<unknown> {
    return this.#answer("sync", Uint8Array.of("I".charCodeAt(0)));
  }
  close(): Promise<unknown> {
    return this.#answer("close", undefined);
  }

  async #answer(asked: string, answer: unknown): Promise<unknown> {
    if (this.panicked) throw new Error(`A panicked PGlite was asked to ${asked}.`);
    this.asked.push(asked);
    if (failure === undefined) return answer;
    this.panicked = true;
    throw failure;
  }
}

function connect(): PGliteConnection {
  const open = async (): Promise<PGliteLike> => {
    const fake = new FakePGlite();
    opened.push(fake);
    return fake as unknown as PGliteLike;
  };
  return new PGliteConnection(open, async () => {});
}

test("names what PGlite met", async () => {
  const connection = connect();
  await connection.take(0);
  failure = Object.assign(new Error("no space"), { code: "53100", severity: "ERROR" });
  await expect(connection.run("insert")).rejects.toThrow(DatabaseFullError);
});

test("leaves a PGlite alone that panicked, and gives the next client a new one", async () => {
  const connection = connect();
  await connection.take(0);
  await connection.run("begin");
  failure = Object.assign(new Error("no space"), { code: "53100", severity: "PANIC" });
  await expect(connection.run("insert")).rejects.toThrow(DatabaseFullError);
  failure = undefined;
  await expect(connection.run("insert more")).rejects.toThrow(DatabaseUnavailableError);
  await connection.give();

  await connection.take(0);
  await connection.run("select");
  await connection.give();
  await connection.close();
  expect(opened.map((pglite) => pglite.asked)).toEqual([
    ["begin", "insert"],
    ["select", "close"],
  ]);
});

test("closes without touching a PGlite that panicked", async () => {
  const connection = connect();
  await connection.take(0);
  failure = Object.assign(new Error("unreachable"), { name: "RuntimeError" });
  await expect(connection.run("select")).rejects.toThrow(DatabaseUnavailableError);
  await connection.give();
  await connection.close();
  await expect(connection.take(0)).rejects.toThrow(DatabaseClosedError);
});

test("says that PGlite does not open, and tries again", async () => {
  let attempts = 0;
  const connection = new PGliteConnection(
    async () => {
      attempts += 1;
      if (attempts === 1) throw new Error("PGlite failed to initialize properly");
      return new FakePGlite() as unknown as PGliteLike;
    },
    async () => {},
  );
  await expect(connection.take(0)).rejects.toThrow(
    /PGlite does not open: PGlite failed to initialize properly/,
  );
  await connection.take(0);
  expect(attempts).toBe(2);
});

import { describe, expect, it } from "vitest";
import { PutLanes } from "../../../checkpointers/writing/put-lanes.ts";
import { WatchedRun } from "../../../checkpointers/writing/write-tracker.ts";
import { checkpointQueries } from "../../../checkpointers/queries.ts";
import type { QueryConfig } from "../../../src/storage/pool.ts";
import type { ThreadPool } from "../../../src/storage/tenant-pool.ts";

const queries = checkpointQueries("public");
const turn = () => new Promise((resolve) => setImmediate(resolve));

const isSent = (entry: string) => !entry.endsWith(".");

/** Lanes on a database that answers each transaction when the test does, and what was sent and made anew. */
function lanesOn() {
  const log: string[] = [];
  const waiting: { answer(rowCount: number): void; fail(error: unknown): void }[] = [];
  const send = (statements: readonly QueryConfig[]) => {
    log.push(statements.map(({ text }) => (text === queries.allPut ? "all put" : text)).join(", "));
    return new Promise<{ rowCount: number }>((resolve, reject) => {
      waiting.push({ answer: (rowCount) => resolve({ rowCount }), fail: reject });
    });
  };
  const pool = {
    forThread: () => ({
      query: (statement: QueryConfig) => send([statement]),
      queryTogether: async (statements: readonly QueryConfig[]) => [await send(statements)],
    }),
  } as unknown as ThreadPool;
  const lanes = new PutLanes(pool, queries);
  const run = new WatchedRun((error) => log.push(`failed: ${String(error)}`));
  const add = (name: string, { round = lanes.round, redo = async () => {} } = {}) => {
    const statement = { text: name, values: [] };
    const again = async () => {
      log.push(`again ${name}`);
      await redo();
    };
    const put = { namespace: "", checkpointId: name, statement, bytes: 1, round, run, redo: again };
    const { stored } = lanes.add("t", put);
    stored.then(
      () => log.push(`${name}.`),
      () => log.push(`${name}!`),
    );
    return stored;
  };
  const next = async () => {
    await turn();
    return waiting.shift()!;
  };
  return { lanes, run, log, add, next };
}

describe("PutLanes", () => {
  it("stores what comes while a put is on its way in one transaction, with a check that all was put", async () => {
    const { log, add, next } = lanesOn();
    const stored = ["a", "b", "c"].map((name) => add(name));
    (await next()).answer(1);
    (await next()).answer(1);
    await Promise.all(stored);
    expect(log).toEqual(["a", "a.", "b, c, all put", "b.", "c."]);
  });

  it.each([
    ["one that inserted nothing", (put: { answer(rows: number): void }) => put.answer(0)],
    ["one whose place is taken", fails("23505")],
    ["one that met another transaction", fails("40001")],
  ])("makes %s anew, and after it those that build on it", async (_what, end) => {
    const { log, add, next } = lanesOn();
    const stored = ["a", "b"].map((name) => add(name));
    end(await next());
    await Promise.all(stored);
    expect(log.filter(isSent)).toEqual(["a", "again a", "again b"]);
  });

  it("makes all of a transaction anew where not all was put", async () => {
    const { log, add, next } = lanesOn();
    const stored = ["a", "b", "c"].map((name) => add(name));
    (await next()).answer(1);
    fails("22012")(await next());
    await Promise.all(stored);
    expect(log.filter(isSent)).toEqual(["a", "b, c, all put", "again b", "again c"]);
  });

  it("makes anew what was drafted before, or while, others were made anew", async () => {
    const { lanes, log, add, next } = lanesOn();
    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const before = lanes.round;
    const first = add("a", { redo: () => held });
    (await next()).answer(0);
    await turn();
    const during = lanes.round;
    goOn();
    await first;
    await turn();
    await add("b", { round: during });
    await add("c", { round: before });
    const last = add("d");
    (await next()).answer(1);
    await last;
    expect(log.filter(isSent)).toEqual(["a", "again a", "again b", "again c", "d"]);
  });

  it("fails what follows a put that failed, and stores nothing of it", async () => {
    const { log, add, next } = lanesOn();
    const stored = Promise.allSettled(["a", "b"].map((name) => add(name)));
    const broken = new Error("the disk is full");
    (await next()).fail(broken);
    expect(await stored).toEqual(
      [broken, broken].map((reason) => ({ status: "rejected", reason })),
    );
    expect(log).toEqual(["a", "failed: Error: the disk is full", "a!", "b!"]);
  });

  it("fails what follows a put that failed when it was made anew", async () => {
    const { log, add, next } = lanesOn();
    const broken = new Error("the disk is full");
    const redo = () => Promise.reject(broken);
    const stored = Promise.allSettled([add("a", { redo }), add("b")]);
    (await next()).answer(0);
    expect(await stored).toEqual(
      [broken, broken].map((reason) => ({ status: "rejected", reason })),
    );
    expect(log).toEqual(["a", "again a", "failed: Error: the disk is full", "a!", "b!"]);
  });

  it("stores nothing of a run that has failed, also what was drafted before", async () => {
    const { lanes, run, log, add, next } = lanesOn();
    const { round } = lanes;
    const broken = new Error("the disk is full");
    const first = Promise.allSettled([add("a"), add("b")]);
    const put = await next();
    run.fail(broken);
    put.answer(1);
    await first;
    await expect(add("c", { round })).rejects.toBe(broken);
    await expect(add("d")).rejects.toBe(broken);
    expect(log.slice(2)).toEqual(["a.", "b!", "c!", "d!"]);
  });
});

function fails(code: string) {
  return (put: { fail(error: unknown): void }) =>
    put.fail(Object.assign(new Error(code), { code }));
}

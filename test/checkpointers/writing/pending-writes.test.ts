import { expect, it } from "vitest";
import { checkpointQueries } from "../../../checkpointers/queries.ts";
import { WriteQueue, type WriteSetRow } from "../../../checkpointers/writing/pending-writes.ts";
import type { TransactionPool } from "../../../src/storage/tenant-pool.ts";

const row: WriteSetRow = {
  namespace: "",
  checkpointId: "c",
  taskId: "task",
  idx: 0,
  body: Buffer.from("a"),
  hash: Buffer.alloc(32),
};

const turn = () => new Promise((resolve) => setImmediate(resolve));

const immediates = () =>
  process.getActiveResourcesInfo().filter((kind) => kind === "Immediate").length;

/** A queue on a database that answers at once, and how many statements it was sent. */
function emptyQueue() {
  const sent = { statements: 0 };
  const query = async () => {
    sent.statements += 1;
    return { rows: [], rowCount: 1, command: "" };
  };
  const pool = { forThread: () => ({ query }) as unknown as TransactionPool };
  return { queue: new WriteQueue(pool, checkpointQueries("public")), sent };
}

it("leaves no immediate behind for writes that a checkpoint took", async () => {
  const { queue, sent } = emptyQueue();
  const before = immediates();
  for (let put = 0; put < 1000; put += 1) {
    const stored = queue.add("t", [row]);
    expect(queue.claim("t")?.rows).toEqual([row]);
    void stored;
  }
  expect(immediates()).toBeLessThanOrEqual(before);
  await turn();
  expect(sent.statements).toBe(0);
});

it("writes what no checkpoint took, each time that something waits", async () => {
  const { queue, sent } = emptyQueue();
  const taken = queue.add("t", [row]);
  queue.claim("t")?.written();
  await taken;
  await Promise.all([queue.add("t", [row]), queue.add("t", [row])]);
  expect(sent.statements).toBe(1);
  await queue.add("t", [row]);
  expect(sent.statements).toBe(2);
});

it("keeps writes that arrive during a put for the next put of the thread", async () => {
  const { queue, sent } = emptyQueue();
  const endPut = queue.beginPut("t");
  const stored = [queue.add("t", [row]), queue.add("t", [row])];
  await turn();
  expect(sent.statements).toBe(0);
  const endNext = queue.beginPut("t");
  endPut();
  await turn();
  const claimed = queue.claim("t");
  expect(claimed?.rows).toEqual([row, row]);
  claimed?.written();
  await Promise.all(stored);
  endNext();
  await turn();
  expect(sent.statements).toBe(0);
});

it("writes by themselves what arrived during a put that no other follows", async () => {
  const { queue, sent } = emptyQueue();
  const endPuts = [queue.beginPut("t"), queue.beginPut("t")];
  const stored = queue.add("t", [row]);
  endPuts[0]!();
  await turn();
  expect(sent.statements).toBe(0);
  // Those of another thread wait for no put of this one.
  await queue.add("other", [row]);
  expect(sent.statements).toBe(1);
  endPuts[1]!();
  await stored;
  await turn();
  expect(sent.statements).toBe(2);
  await queue.add("t", [row]);
  expect(sent.statements).toBe(3);
});

import { canonicalHash } from "../../../src/values/json.ts";
import { MemorySaver, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { expect, it } from "vitest";
import type { CheckpointReader } from "../../../checkpointers/checkpoint-reader.ts";
import { CheckpointWriter } from "../../../checkpointers/writing/checkpoint-writer.ts";
import { CheckpointCache } from "../../../checkpointers/checkpoint-cache.ts";
import { LogIds, LogPositions } from "../../../checkpointers/writing/log-positions.ts";
import { checkpointQueries } from "../../../checkpointers/queries.ts";
import { createValueCipher } from "../../../src/storage/encryption/value-cipher.ts";
import type { QueryConfig } from "../../../src/storage/pool.ts";
import type { ThreadPool } from "../../../src/storage/tenant-pool.ts";

const queries = checkpointQueries("public");
const kinds = new Map([
  [queries.put, "checkpoint"],
  [queries.addWrites, "writes"],
  [queries.putDefinition, "definition"],
]);
const full = new Error("disk full");
const hash = canonicalHash({ name: "agent" });

/** A writer on a database that answers each kind of statement as `answer` does, and what it was sent. */
function writerOn(answer: (kind: string | undefined) => Promise<void> | void) {
  const sent: { kind: string | undefined; values: readonly unknown[] }[] = [];
  const pool: ThreadPool = {
    query: async (query: string | QueryConfig, given: readonly unknown[] = []) => {
      const { text, values = given } = typeof query === "string" ? { text: query } : query;
      const kind = kinds.get(text);
      sent.push({ kind, values });
      await answer(kind);
      return { rows: [], rowCount: 1, command: "" };
    },
    forThread: () => pool,
  } as unknown as ThreadPool;
  const writer = new CheckpointWriter({
    pool,
    queries,
    serde: new MemorySaver().serde,
    known: new CheckpointCache(1_000_000),
    tails: new LogPositions(),
    logIds: new LogIds(pool, "public"),
    // A checkpoint without a parent reads nothing.
    reader: {} as CheckpointReader,
    freeze: () => true,
    encrypts: false,
    cipher: createValueCipher([]),
    seals: false,
  });
  const put = (stamped = hash) =>
    writer.put(place, checkpoint, {
      metadata: { definition_hash: stamped },
      newVersions: { text: 1 },
    });
  return { writer, put, sent, kindsSent: () => sent.map(({ kind }) => kind) };
}

const place = { threadId: "t", namespace: "", parentId: null };
const checkpoint: Checkpoint = {
  v: 4,
  id: "1ef00000-0000-6000-8000-000000000001",
  ts: "2026-01-01T00:00:00.000Z",
  channel_values: { text: "a" },
  channel_versions: { text: 1 },
  versions_seen: {},
};

it("stores pending writes by themselves when the checkpoint they went with cannot be put", async () => {
  const { writer, put, sent, kindsSent } = writerOn((kind) => {
    if (kind === "checkpoint") throw full;
  });
  const at = { threadId: "t", namespace: "", checkpointId: "c0", taskId: "task", taskPath: "" };
  const stored = writer.putWrites(at, [["text", "b"]]);
  await expect(put()).rejects.toThrow(full);

  expect(kindsSent()).toEqual(["checkpoint", "writes"]);
  const [failed, retried] = sent;
  expect(retried?.values.slice(1)).toEqual(failed?.values.slice(-8));
  await expect(stored).resolves.toBeUndefined();
});

it("puts a checkpoint after its definition is stored, and the definition once", async () => {
  let store = () => {};
  const stored = new Promise<void>((resolve) => (store = resolve));
  const { writer, put, kindsSent } = writerOn((kind) => {
    return kind === "definition" ? stored : undefined;
  });
  writer.rememberDefinition(hash, { name: "agent" });
  const first = put();
  await new Promise(setImmediate);
  expect(kindsSent()).toEqual(["definition"]);
  store();
  await first;
  await put();
  expect(kindsSent()).toEqual(["definition", "checkpoint", "checkpoint"]);
});

it.each([
  ["another definition than the hash is of", hash, { name: "other" }],
  [
    "a definition that a JSON column cannot hold exactly",
    canonicalHash({ name: "agent\0" }),
    { name: "agent\0" },
  ],
])("stores nothing for %s", async (_what, stamped, definition) => {
  const { writer, put, kindsSent } = writerOn(() => undefined);
  writer.rememberDefinition(stamped, definition);
  await put(stamped);
  expect(kindsSent()).toEqual(["checkpoint"]);
});

it("puts no checkpoint whose definition cannot be stored, and stores it with the next", async () => {
  let isFull = true;
  const { writer, put, kindsSent } = writerOn((kind) => {
    if (isFull && kind === "definition") throw full;
  });
  writer.rememberDefinition(hash, { name: "agent" });
  await expect(put()).rejects.toThrow(full);
  expect(kindsSent()).toEqual(["definition"]);
  isFull = false;
  await put();
  expect(kindsSent()).toEqual(["definition", "definition", "checkpoint"]);
});

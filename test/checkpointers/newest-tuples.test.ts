import { type CheckpointTuple, emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { expect, it } from "vitest";
import { NewestTuples } from "../../checkpointers/checkpoint-cache.ts";
import { gate } from "../helpers/run-server.ts";

const of = { threadId: "t", namespace: "", id: null };

function tupleOf(id: string): CheckpointTuple {
  const checkpoint = {
    ...emptyCheckpoint(),
    id,
    channel_values: { a: 1 },
    channel_versions: { a: 1 },
    versions_seen: { node: { a: 1 } },
  };
  return { config: {}, checkpoint, pendingWrites: [["task", "a", 1]] };
}

/** Newest checkpoints of a thread under a claim, of a database that counts reads. */
function setUp() {
  const state = { claim: {} as object | undefined, stored: "1", reads: 0 };
  const tracker = { write: (_threadId: string, work: () => Promise<void>) => work() };
  const newest = new NewestTuples({ claimOf: () => state.claim }, tracker);
  const read = (at = of, until?: () => Promise<void>) =>
    newest.read(at, async () => {
      state.reads += 1;
      const tuple = tupleOf(state.stored);
      await until?.();
      return tuple;
    });
  const write = (id: string, until?: () => Promise<void>) =>
    newest.write("t", async () => {
      await until?.();
      state.stored = id;
    });
  const idOf = async (tuple: Promise<CheckpointTuple | undefined>) => (await tuple)?.checkpoint.id;
  return { newest, state, read, write, idOf };
}

it("reads the newest checkpoint of a claimed thread once between two writes, for each namespace", async () => {
  const { state, read, write, idOf } = setUp();
  const held = gate();
  const first = read(of, held.wait);
  const second = read();
  held.open();
  expect([await idOf(first), await idOf(second), await idOf(read())]).toEqual(["1", "1", "1"]);
  expect(state.reads).toBe(1);
  await read({ ...of, namespace: "inner" });
  expect(state.reads).toBe(2);
  await write("2");
  expect([await idOf(read()), await idOf(read())]).toEqual(["2", "2"]);
  expect(state.reads).toBe(3);
});

it("reads each time without a claim, and again under the next one", async () => {
  const { state, read, idOf } = setUp();
  await read();
  state.claim = undefined;
  state.stored = "2";
  expect([await idOf(read()), await idOf(read())]).toEqual(["2", "2"]);
  state.claim = {};
  state.stored = "3";
  expect([await idOf(read()), await idOf(read())]).toEqual(["3", "3"]);
  expect(state.reads).toBe(4);
});

it("keeps no read that overlaps a write, whichever began first", async () => {
  const { state, read, write, idOf } = setUp();
  const [early, writing, late] = [gate(), gate(), gate()];
  const before = read(of, early.wait);
  const written = write("2", writing.wait);
  const during = read(of, late.wait);
  writing.open();
  await written;
  expect(await idOf(read())).toBe("2");
  early.open();
  late.open();
  expect([await idOf(before), await idOf(during)]).toEqual(["1", "1"]);
  expect(await idOf(read())).toBe("2");
  expect(state.reads).toBe(3);
});

it("keeps nothing until the last of several writes has ended", async () => {
  const { state, read, write, idOf } = setUp();
  const [first, second] = [gate(), gate()];
  const writes = [write("2", first.wait), write("3", second.wait)];
  first.open();
  await writes[0];
  expect(await idOf(read())).toBe("2");
  second.open();
  await writes[1];
  expect([await idOf(read()), await idOf(read())]).toEqual(["3", "3"]);
  expect(state.reads).toBe(2);
});

it("reads again after a read or a write that failed", async () => {
  const { newest, state, read, idOf } = setUp();
  const failing = () => Promise.reject(new RangeError("down"));
  await expect(newest.read(of, failing)).rejects.toThrow(RangeError);
  expect(await idOf(read())).toBe("1");
  state.stored = "2";
  await expect(newest.write("t", failing)).rejects.toThrow(RangeError);
  expect([await idOf(read()), await idOf(read())]).toEqual(["2", "2"]);
  expect(state.reads).toBe(2);
});

it("returns tuples of their own, so that a changed one changes no other", async () => {
  const { state, read } = setUp();
  for (let at = 0; at < 2; at += 1) {
    const tuple = (await read())!;
    expect(tuple).toMatchObject({
      checkpoint: {
        channel_values: { a: 1 },
        channel_versions: { a: 1 },
        versions_seen: { node: { a: 1 } },
      },
      pendingWrites: [["task", "a", 1]],
    });
    tuple.checkpoint.channel_values["a"] = 2;
    tuple.checkpoint.channel_versions["a"] = 2;
    tuple.checkpoint.versions_seen["node"]!["a"] = 2;
    tuple.checkpoint.versions_seen["other"] = {};
    tuple.checkpoint.id = "changed";
    tuple.pendingWrites!.pop();
    delete tuple.metadata;
  }
  expect((await read())!.checkpoint.id).toBe("1");
  expect(state.reads).toBe(1);
});

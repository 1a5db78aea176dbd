// oxlint-disable vitest/no-standalone-expect -- steps of a history check what they do, run by the one test below
import type { ThreadListOptions } from "../../src/durable-saver.ts";
import { uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { removableCheckpoints, type HistoryEntry } from "../../checkpointers/threads/removable.ts";
import { CheckpointRows } from "../helpers/checkpoint-rows.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { listAllThreads, scanThreads } from "../helpers/thread-scan.ts";
import { threadTuples } from "../helpers/thread-tuples.ts";
import { transferOf } from "../helpers/thread-transfer.ts";

/** What a step does to the list and the object that a thread holds, both large enough to be stored in pieces. */
interface Values {
  readonly list: readonly { readonly text: string }[];
  readonly object: Readonly<Record<string, string>>;
  readonly status: string | null;
}

const position = fc.nat(40);
const item = fc.nat(1_000).map((number) => ({ text: `${number} `.repeat(60) }));

const edit = fc.oneof(
  fc.array(item, { minLength: 1, maxLength: 8 }).map((items) => (values: Values): Values => ({
    ...values,
    list: [...values.list, ...items],
  })),
  fc.tuple(position, item).map(([at, one]) => (values: Values): Values => ({
    ...values,
    list: values.list.map((old, index) => (index === at % values.list.length ? one : old)),
  })),
  fc
    .tuple(position, position, fc.array(item, { maxLength: 2 }))
    .map(([at, count, items]) => (values: Values): Values => ({
      ...values,
      list: values.list.toSpliced(at % (values.list.length + 1), count % 5, ...items),
    })),
  fc.tuple(fc.nat(12), fc.nat(9)).map(([key, digit]) => (values: Values): Values => ({
    ...values,
    object: { ...values.object, [`key ${key}`]: `${digit}`.repeat(150) },
  })),
  fc.nat(12).map((key) => (values: Values): Values => {
    const { [`key ${key}`]: _, ...object } = values.object;
    return { ...values, object };
  }),
  fc.constantFrom("EXECUTING", "COMPLETED", null).map((status) => (values: Values): Values => ({
    ...values,
    status,
  })),
);

const thread = fc.nat(7);
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      thread,
      parent: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: position },
      ),
      namespace: fc.constantFrom("", "", "", "sub:a", "memory"),
      source: fc.constantFrom("loop", "loop", "input", "update"),
      process: fc.nat(1),
      edit,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("write" as const), thread, process: fc.nat(1) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("fork" as const),
      thread,
      at: position,
      process: fc.nat(1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("delete" as const), thread, process: fc.nat(1) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("prune" as const),
      thread,
      keep: fc.constantFrom("latest", "turn_ends", "all"),
      process: fc.nat(1),
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer One> ? One : never;

/** Threads of a database, used by two processes. */
class Threads {
  readonly savers: readonly PostgresCheckpointer[];
  ids = ["thread 0"];
  #made = 1;

  constructor(
    readonly rows: CheckpointRows,
    /** One that remembers nothing. */
    readonly reader: PostgresCheckpointer,
  ) {
    this.savers = [new PostgresCheckpointer(rows.pool), new PostgresCheckpointer(rows.pool)];
  }

  read(id: string) {
    return threadTuples(this.reader, id);
  }

  async run(one: Command): Promise<void> {
    await this.#apply(one);
    await this.expectListed();
  }

  /** The list of threads says what their checkpoints say. */
  async expectListed(options: ThreadListOptions = {}): Promise<void> {
    const listed = await listAllThreads(this.reader, options);
    expect(listed).toEqual(await scanThreads(this.rows.pool));
  }

  async #apply(one: Command): Promise<void> {
    const id = this.ids[one.thread % this.ids.length]!;
    const saver = this.savers[one.process]!;
    switch (one.kind) {
      case "put":
        return this.#put(id, saver, one);
      case "write": {
        const [newest] = await this.read(id);
        if (newest === undefined) return;
        const config = {
          configurable: {
            thread_id: id,
            checkpoint_ns: newest.namespace,
            checkpoint_id: newest.id,
          },
        };
        return saver.putWrites(config, [["list", { text: "pending" }]], uuid6(0));
      }
      case "fork": {
        const roots = (await this.read(id)).filter(({ namespace }) => namespace === "");
        const root = roots[one.at % roots.length];
        if (root === undefined) return;
        const newThreadId = `thread ${this.#made}`;
        await saver.forkThread({ threadId: id, checkpointId: root.id, newThreadId });
        this.ids.push(newThreadId);
        this.#made += 1;
        const [copy] = (await this.read(newThreadId)).filter(({ namespace }) => namespace === "");
        expect(copy?.checkpoint).toEqual(root.checkpoint);
        return;
      }
      case "delete": {
        await saver.deleteThread(id);
        expect(await this.read(id)).toEqual([]);
        expect(await this.rows.counts(id)).toEqual({});
        return this.#expectNothingUnneeded();
      }
      case "prune": {
        const before = await this.read(id);
        const gone =
          one.keep === "all"
            ? []
            : removableCheckpoints(before.map(toEntry).toReversed(), { keep: one.keep });
        const pruned = await saver.prune({ threadId: id, keep: one.keep });
        expect(pruned.checkpoints).toBe(gone.length);
        const ids = new Set(gone.map((entry) => entry.id));
        expect(await this.read(id)).toEqual(before.filter((tuple) => !ids.has(tuple.id)));
        return this.#expectNothingUnneeded();
      }
    }
  }

  async #put(
    id: string,
    saver: PostgresCheckpointer,
    of: Extract<Command, { kind: "put" }>,
  ): Promise<void> {
    const { namespace, source } = of;
    const all = await this.read(id);
    const parents = all.filter((tuple) => tuple.namespace === namespace);
    const root = all.find((tuple) => tuple.namespace === "");
    if (namespace !== "" && root === undefined) return;
    const parentId = parents[of.parent % Math.max(1, parents.length)]?.id;
    const place = { thread_id: id, checkpoint_ns: namespace };
    const parent =
      parentId === undefined
        ? undefined
        : await saver.getTuple({ configurable: { ...place, checkpoint_id: parentId } });
    const before = (parent?.checkpoint.channel_values ?? {
      list: [],
      object: {},
      status: null,
    }) as unknown as Values;
    const values = of.edit(before);
    const old = parent?.checkpoint.channel_versions ?? {};
    const newVersions = Object.fromEntries(
      (["list", "object", "status"] as const)
        .filter((channel) => parent === undefined || values[channel] !== before[channel])
        .map((channel) => [channel, saver.getNextVersion(old[channel] as number | undefined)]),
    );
    const checkpoint = {
      v: 4,
      id: uuid6(0),
      ts: new Date().toISOString(),
      channel_values: values as unknown as Record<string, unknown>,
      channel_versions: { ...old, ...newVersions },
      versions_seen: {},
    };
    const metadata = {
      source,
      step: 0,
      parents: namespace === "" ? {} : { "": root!.id },
    } as CheckpointMetadata;
    const config = { configurable: { ...place, ...(parentId && { checkpoint_id: parentId }) } };
    await saver.put(config, checkpoint, metadata, newVersions);
    const stored = (await this.read(id)).find((tuple) => tuple.id === checkpoint.id);
    expect(stored?.checkpoint.channel_values).toEqual(values);
  }

  /** Every element is one that a checkpoint refers to, and every element that a checkpoint refers to is there. */
  async #expectNothingUnneeded(): Promise<void> {
    const { rows } = await this.rows.pool.query<{ segments: string[] }>(
      "select segments from checkpoints",
    );
    const needed = new Map<string, Set<number>>();
    for (const { segments } of rows) {
      for (let at = 0; at < segments.length; at += 3) {
        const [log, from, to] = segments.slice(at, at + 3) as [string, string, string];
        const idxs = needed.get(log) ?? new Set();
        needed.set(log, idxs);
        for (let idx = Number(from); idx < Number(to); idx += 1) idxs.add(idx);
      }
    }
    const expected = [...needed].map(([log, idxs]) => [log, [...idxs].toSorted((a, b) => a - b)]);
    expect(await this.rows.elements()).toEqual(Object.fromEntries(expected));
  }
}

function toEntry(tuple: Awaited<ReturnType<typeof threadTuples>>[number]): HistoryEntry {
  const { namespace, id, parentId, metadata, checkpoint } = tuple;
  const status = checkpoint.channel_values["status"];
  return {
    namespace,
    id,
    parentId,
    createdAt: null,
    rootId: namespace === "" ? null : (metadata?.parents[""] ?? null),
    source: metadata?.source ?? null,
    status: typeof status === "string" ? status : null,
    deltaChannels: [],
  };
}

/** Whatever happens to threads before: what is kept reads as it did, and what nothing needs is gone. */
export function retentionProperties(database: TestDatabase): void {
  describe.skipIf(!database.available)(`random histories on ${database.kind}`, () => {
    let reader: PostgresCheckpointer;
    beforeAll(async () => {
      reader = new PostgresCheckpointer(database.shared.pool, { cacheBytes: 0 });
      await reader.setup();
    });

    it("keep whatever is kept as it was, free the rest, are listed as they are, and can be exported and imported", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 3, maxLength: 24 }), async (commands) => {
          const threads = new Threads(new CheckpointRows(database.shared.pool), reader);
          await threads.rows.clear();
          for (const one of commands) await threads.run(one);
          const transfer = transferOf(database.shared.pool);
          for (const id of threads.ids.slice(0, 2)) {
            const before = await threads.read(id);
            if (before.length === 0) continue;
            await transfer.import(transfer.stream(id), { threadId: "copy" });
            expect(await threads.read("copy")).toEqual(before);
            await threads.expectListed({ limit: 2 });
            expect((await reader.verifyThread("copy")).damaged).toEqual([]);
            await reader.deleteThread("copy");
          }
          for (const id of threads.ids)
            await threads.run({ kind: "delete", thread: threads.ids.indexOf(id), process: 0 });
          expect(await threads.rows.elements()).toEqual({});
          expect(
            (await database.shared.pool.query("select from checkpoint_threads")).rowCount,
          ).toBe(0);
        }),
        { numRuns: 15 },
      );
    }, 180_000);
  });
}

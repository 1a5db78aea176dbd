import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { uuid6, type Checkpoint, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { anyEdit, anyValue, applyEdit } from "../helpers/arbitrary-edits.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { encryptingSerde } from "../helpers/encrypting-serde.ts";
import { contentDifference, roundTrip } from "../helpers/same-value.ts";

const channels = ["messages", "state", "other"] as const;

const anyStep = fc.record({
  channel: fc.constantFrom(...channels),
  edit: anyEdit,
  /** Which checkpoint so far it is made from; mostly the last. */
  from: fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  ),
  by: fc.constantFrom("same process", "same process", "another process", "after a restart"),
  read: fc.boolean(),
});

const anyThread = fc.record({
  first: fc.tuple(anyValue, anyValue, anyValue),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 8 }),
});

interface Stored {
  readonly id: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly expected: Readonly<Record<string, unknown>>;
}

// LangChain notes that some messages have calls in an old form.
vi.spyOn(console, "warn").mockImplementation(() => {});

/** What is put is what is read, for any values and whoever puts and reads. */
export function saverRoundTrip(database: TestDatabase): void {
  let made = 0;
  const at = (thread: string, id?: string) => ({
    configurable: { thread_id: thread, checkpoint_ns: "", ...(id && { checkpoint_id: id }) },
  });
  const checkpointOf = (
    values: Record<string, unknown>,
    versions: Record<string, string>,
  ): Checkpoint => ({
    v: 4,
    id: uuid6((made += 1) % 1000),
    ts: new Date(0).toISOString(),
    channel_values: values,
    channel_versions: versions,
    versions_seen: {},
  });

  describe.skipIf(!database.available)(`Values of checkpoints on ${database.kind}`, () => {
    const open = (options: { elements?: "freeze" | "compare"; serde?: SerializerProtocol }) =>
      new PostgresCheckpointer(database.shared.pool, options);

    for (const [kept, options] of [
      ["frozen", { elements: "freeze" }],
      ["compared", { elements: "compare" }],
      ["encrypted", { serde: encryptingSerde() }],
    ] as const) {
      test(`read as LangGraph's serializer would read them, at every time, when they are ${kept}`, async () => {
        const savers = [open(options), open(options)];
        await fc.assert(
          fc.asyncProperty(anyThread, async ({ first, steps }) => {
            const thread = randomUUID();
            const stored: Stored[] = [];

            const put = async (
              saver: PostgresCheckpointer,
              parent: Stored | undefined,
              changed: Record<string, unknown>,
            ) => {
              const expected: Record<string, unknown> = { ...parent?.expected };
              const news: Record<string, unknown> = {};
              for (const [channel, value] of Object.entries(changed)) {
                try {
                  expected[channel] = await roundTrip(value);
                  news[channel] = value;
                } catch {
                  // The serializer cannot read all that it writes.
                }
              }
              const fresh = Object.fromEntries(
                Object.keys(news).map((channel) => [
                  channel,
                  saver.getNextVersion(undefined) as unknown as string,
                ]),
              );
              const values = { ...parent?.values, ...news };
              const versions = { ...parent?.versions, ...fresh };
              const checkpoint = checkpointOf(values, versions);
              await saver.put(
                at(thread, parent?.id),
                checkpoint,
                { source: "loop", step: 0, parents: {} },
                fresh,
              );
              stored.push({ id: checkpoint.id, values, versions, expected });
            };

            await put(
              savers[0]!,
              undefined,
              Object.fromEntries(channels.map((name, of) => [name, first[of]])),
            );
            for (const { channel, edit, from, by, read } of steps) {
              const saver = {
                "same process": savers[0]!,
                "another process": savers[1]!,
                "after a restart": open(options),
              }[by];
              let parent = stored[Math.round(from * (stored.length - 1))]!;
              if (read) {
                const tuple = await saver.getTuple(at(thread, parent.id));
                parent = { ...parent, values: tuple!.checkpoint.channel_values };
              }
              await put(saver, parent, { [channel]: applyEdit(parent.values[channel], edit) });
            }

            const last = open(options);
            const listed = await collect(last.list(at(thread)));
            expect(listed.map(({ checkpoint }) => checkpoint.id).toSorted()).toEqual(
              stored.map(({ id }) => id).toSorted(),
            );
            for (const { id, expected } of stored) {
              const readings = [
                listed.find(({ checkpoint }) => checkpoint.id === id),
                await savers[0]!.getTuple(at(thread, id)),
              ];
              for (const tuple of readings) {
                // Channels stand in the order of their versions.
                for (const channel of Object.keys(expected)) {
                  expect(
                    contentDifference(tuple!.checkpoint.channel_values[channel], expected[channel]),
                  ).toBeNull();
                }
              }
            }
          }),
          { numRuns: 12 },
        );
      });
    }

    test("have channels, nodes, tasks and threads of any name", async () => {
      const names = [
        "__proto__",
        "lc",
        "lg_name",
        "toJSON",
        "constructor",
        "",
        "10",
        "9",
        'a "b" {c} $1',
        "\\",
        "naïve ☃",
      ];
      // Names that a database cannot hold as text, which stand in bytes.
      const inner = [...names, "\0", "\ud800"];
      const saver = open({});
      for (const name of names) {
        const thread = `${randomUUID()} ${name}`;
        const of = Object.fromEntries(inner.map((key) => [key, `${key} ${"x".repeat(200)}`]));
        const versions = Object.fromEntries(inner.map((key, nth) => [key, `${nth}`]));
        const seen = Object.fromEntries(inner.map((key) => [key, versions]));
        const first = { ...checkpointOf(of, versions), versions_seen: seen };
        const metadata = { source: "loop" as const, step: 1, parents: {} };
        await saver.put(at(thread), first, metadata, versions);
        const second = { ...first, id: checkpointOf({}, {}).id };
        const stored = await saver.put(at(thread, first.id), second, metadata, {});
        await saver.putWrites(
          stored,
          inner.map((key) => [key, key]),
          name,
        );

        for (const tuple of await collect(open({}).list(at(thread)))) {
          const { id } = tuple.checkpoint;
          expect(contentDifference(tuple.checkpoint, { ...first, id })).toBeNull();
        }
        const { pendingWrites } = (await saver.getTuple(stored))!;
        expect(pendingWrites).toEqual(inner.map((key) => [name, key, key]));
        expect(await saver.verifyThread(thread)).toEqual({ checked: 2, damaged: [] });
        expect((await saver.listSummaries({ threadId: thread })).items).toHaveLength(2);
      }
    });

    test("hold what was changed in place, of what was put and of what was read", async () => {
      const saver = open({ elements: "compare" });
      const thread = randomUUID();
      type State = {
        list: { text: string; of: number[] }[];
        map: Map<string, number>;
        bytes: Buffer;
      };
      let values: State = {
        list: Array.from({ length: 30 }, (_, n) => ({ text: `${n} ${"x".repeat(99)}`, of: [n] })),
        map: new Map(),
        bytes: Buffer.alloc(10),
      };
      let parent: string | undefined;
      const expected = new Map<string, unknown>();
      for (let step = 0; step < 24; step += 1) {
        values.list[(step * 7) % 30]!.of.push(step);
        values.map.set(`${step}`, step);
        values.bytes[step % 10] = step;
        const versions = Object.fromEntries(Object.keys(values).map((key) => [key, `${step}`]));
        const checkpoint = checkpointOf({ ...values }, versions);
        expected.set(checkpoint.id, await Promise.all(Object.values(values).map(roundTrip)));
        await saver.put(
          at(thread, parent),
          checkpoint,
          { source: "loop", step, parents: {} },
          versions,
        );
        parent = checkpoint.id;
        if (step % 3 === 0)
          values = (await saver.getTuple(at(thread)))!.checkpoint
            .channel_values as unknown as State;
      }
      for (const reader of [saver, open({})]) {
        for await (const { checkpoint } of reader.list(at(thread))) {
          const { list, map, bytes } = checkpoint.channel_values;
          expect([list, map, bytes]).toEqual(expected.get(checkpoint.id));
        }
      }
    });

    test("are held, or refuse, when they are changed in place and frozen", async () => {
      const saver = open({});
      const thread = randomUUID();
      const messages = Array.from(
        { length: 20 },
        (_, n) => new HumanMessage({ id: `${n}`, content: "x".repeat(200) }),
      );
      const small = { seen: [1] };
      const put = async (step: number, parent?: string) => {
        const versions = { messages: `${step}`, small: `${step}` };
        const checkpoint = checkpointOf({ messages, small }, versions);
        await saver.put(
          at(thread, parent),
          checkpoint,
          { source: "loop", step, parents: {} },
          versions,
        );
        return checkpoint.id;
      };
      const id = await put(1);
      expect(() => (messages[3]!.content = "changed")).toThrow(TypeError);
      messages[4] = new HumanMessage({ id: "4", content: "changed" });
      small.seen.push(2);
      await put(2, id);

      const { channel_values: values } = (await open({}).getTuple(at(thread)))!.checkpoint;
      expect(values["messages"]).toEqual(messages);
      expect(values["small"]).toEqual({ seen: [1, 2] });
      expect((await open({}).getTuple(at(thread, id)))!.checkpoint.channel_values["small"]).toEqual(
        { seen: [1] },
      );
    });

    test("cannot be read in the database when they are encrypted", async () => {
      const saver = open({ serde: encryptingSerde() });
      const secret = "swordfish";
      const thread = randomUUID();
      const values = {
        text: secret,
        long: secret.repeat(99),
        messages: Array.from(
          { length: 30 },
          (_, n) => new HumanMessage({ id: `${n}`, content: `${secret} ${n}` }),
        ),
        object: Object.fromEntries(
          Array.from({ length: 99 }, (_, n) => [`${secret} ${n}`, { text: secret.repeat(9) }]),
        ),
        bytes: Buffer.from(secret),
      };
      const versions = Object.fromEntries(Object.keys(values).map((key) => [key, "1"]));
      const stored = await saver.put(
        at(thread),
        checkpointOf(values, versions),
        { source: "loop", step: 1, parents: {} },
        versions,
      );
      await saver.putWrites(
        stored,
        [
          ["text", secret],
          ["__error__", { message: secret }],
        ],
        "task",
      );

      const { pool } = database.shared;
      const { rows: columns } = await pool.query<{ table: string; name: string; type: string }>(
        `select table_name as table, column_name as name, data_type as type from information_schema.columns
        where table_schema = 'public' and table_name like 'checkpoint%'`,
      );
      expect(columns.length).toBeGreaterThan(30);
      for (const { table, name, type } of columns) {
        const where =
          type === "bytea"
            ? `position('${secret}'::bytea in ${name}) > 0`
            : `${name}::text like '%${secret}%'`;
        const { rowCount } = await pool.query(`select from ${table} where ${where}`);
        expect([table, name, rowCount]).toEqual([table, name, 0]);
      }
      const read = (await saver.getTuple(stored))!;
      expect(contentDifference(read.checkpoint.channel_values["object"], values.object)).toBeNull();
      expect(read.pendingWrites).toEqual([
        ["task", "__error__", { message: secret }],
        ["task", "text", secret],
      ]);
    });
  });
}

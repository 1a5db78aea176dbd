import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { loadMigrations, migrate } from "../../src/storage/migrate.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import type { CallEntry, RecordedEnd } from "../../src/tools/journal.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import type { TestDatabase } from "../helpers/databases.ts";

let threads = 0;

function entryOf(over: Partial<CallEntry> = {}): CallEntry {
  return {
    threadId: `thread-${threads}`,
    run: "run-1",
    step: 0,
    callId: "call-1",
    tool: "send",
    input: { to: "a@example.com", lines: [1, 2] },
    idempotent: false,
    ...over,
  };
}

function endOf(over: Partial<RecordedEnd> = {}): RecordedEnd {
  return { outcome: "success", result: "sent", error: null, execution_time_ms: 1.234, ...over };
}

/** What a tool journal does, whichever database keeps it. */
export function toolJournalContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a tool journal on ${database.kind}`, () => {
    let journal: DatabaseToolJournal;
    beforeEach(() => {
      threads += 1;
      journal = new DatabaseToolJournal(database.shared.pool);
    });

    test("knows nothing of a call that begins for the first time", async () => {
      expect(await journal.begin(entryOf())).toEqual({ state: "new" });
    });

    test("knows a call that had begun, and when", async () => {
      const before = Date.now();
      await journal.begin(entryOf());
      const other = new DatabaseToolJournal(database.shared.pool);
      const known = await other.begin(entryOf());
      expect(known).toEqual({ state: "started", at: expect.any(String) });
      const at = Date.parse((known as { at: string }).at);
      expect(Math.abs(at - before)).toBeLessThan(60_000);
      expect(await journal.begin(entryOf())).toEqual(known);
    });

    test("gives back how a call ended", async () => {
      const end = endOf({ outcome: "failure", result: null, error: "no such address" });
      await journal.begin(entryOf());
      await journal.end(entryOf(), end);
      expect(await journal.begin(entryOf())).toEqual({ state: "finished", end });
      expect(await journal.begin(entryOf())).toEqual({ state: "finished", end });
    });

    test("gives back results exactly as they were, whatever JSON they are", async () => {
      const strings = fc.oneof(
        fc.string({ unit: anyCharacter }),
        fc.constantFrom("\0", "\ud800", "a\udc00b", "\\u0000", '"', "__proto__", "lc", "type"),
      );
      const lookalike = fc.constantFrom(
        { lc: 2, type: "undefined" },
        { lc: 1, type: "constructor", id: ["x"], kwargs: {} },
        JSON.parse('{"__proto__": {"a": 1}}') as object,
        [[[null]]],
        1e21,
        -1.5e-7,
      );
      const json = fc.jsonValue({ stringUnit: anyCharacter });
      let step = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(json, strings, lookalike, fc.dictionary(strings, fc.oneof(json, lookalike))),
          async (value) => {
            // JSON has no -0, and neither has a result.
            const result: unknown = JSON.parse(JSON.stringify(value));
            const entry = entryOf({ step: (step += 1) });
            await journal.begin(entry);
            await journal.end(entry, endOf({ result }));
            const known = await journal.begin(entry);
            expect(known).toEqual({ state: "finished", end: endOf({ result }) });
            expect(JSON.stringify((known as { end: RecordedEnd }).end.result)).toBe(
              JSON.stringify(result),
            );
          },
        ),
        { numRuns: 40 },
      );
    });

    test("gives back what a call did to the state as a checkpoint would", async () => {
      const tiers = {
        execution: { __tier_patch__: { set: { n: 1, tags: new Set(["a"]) }, remove: ["old"] } },
        attempt: [1, undefined, { none: undefined }],
      };
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf({ tiers }));
      expect(await journal.begin(entryOf())).toEqual({ state: "finished", end: endOf({ tiers }) });
    });

    test("takes any part of the key for another call", async () => {
      await journal.begin(entryOf());
      for (const other of [{ run: "run-2" }, { step: 1 }, { callId: "call-2" }]) {
        expect(await journal.begin(entryOf(other))).toEqual({ state: "new" });
      }
      expect(await journal.begin(entryOf({ threadId: `${entryOf().threadId}-b` }))).toEqual({
        state: "new",
      });
    });

    test("takes other arguments, and another tool, for another call, which takes the place of the first", async () => {
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf());
      expect(await journal.begin(entryOf({ input: { to: "b@example.com" } }))).toEqual({
        state: "new",
      });
      expect(await journal.begin(entryOf({ input: { to: "b@example.com" } }))).toMatchObject({
        state: "started",
      });
      expect(await journal.begin(entryOf())).toEqual({ state: "new" });
      expect(await journal.begin(entryOf({ tool: "post" }))).toEqual({ state: "new" });
      expect(await journal.entriesOf(entryOf().threadId)).toHaveLength(1);
    });

    test("does not mind the order of the arguments", async () => {
      await journal.begin(entryOf({ input: { a: 1, b: { c: 2, d: 3 } } }));
      expect(await journal.begin(entryOf({ input: { b: { d: 3, c: 2 }, a: 1 } }))).toMatchObject({
        state: "started",
      });
    });

    test("lets one of many that begin the same call at once begin it", async () => {
      const known = await Promise.all(
        Array.from({ length: 20 }, () => journal.begin(entryOf({ step: 7 }))),
      );
      const states = known.map(({ state }) => state).toSorted();
      expect(states).toEqual(["new", ...Array.from({ length: 19 }, () => "started")]);
    });

    test("keeps the first end of a call", async () => {
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf({ result: "first" }));
      await journal.end(entryOf(), endOf({ result: "second" }));
      expect(await journal.begin(entryOf())).toMatchObject({ end: { result: "first" } });
    });

    test("forgets a call that was not made after all, but not one that has ended", async () => {
      await journal.begin(entryOf());
      await journal.withdraw(entryOf());
      expect(await journal.begin(entryOf())).toEqual({ state: "new" });
      await journal.end(entryOf(), endOf());
      await journal.withdraw(entryOf());
      expect(await journal.begin(entryOf())).toMatchObject({ state: "finished" });
    });

    test("takes any text for the id of a call", async () => {
      const ids = ["", "\0", "\ud800", "\ud801", "😀".repeat(2_000), "x".repeat(100_000), "'; --"];
      for (const callId of ids) {
        expect(await journal.begin(entryOf({ callId }))).toEqual({ state: "new" });
      }
      for (const callId of ids) {
        expect(await journal.begin(entryOf({ callId }))).toMatchObject({ state: "started" });
      }
    });

    test("lists what it has of a thread, and of one run of it", async () => {
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf({ outcome: "timeout" }));
      await journal.begin(entryOf({ run: "run-2", step: 3, callId: "call-9", tool: "post" }));
      const { threadId } = entryOf();
      const [first, second] = await journal.entriesOf(threadId);
      expect(first).toEqual({
        run: "run-1",
        step: 0,
        callId: "call-1",
        tool: "send",
        state: "finished",
        startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        endedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        outcome: "timeout",
      });
      expect(await journal.entriesOf(threadId, "run-2")).toEqual([second]);
      expect(second).toMatchObject({ step: 3, state: "started", endedAt: null, outcome: null });
      expect(await journal.entriesOf("another")).toEqual([]);
    });

    const change = (set: string, entry: CallEntry = entryOf()) =>
      database.shared.pool.query(
        `update tool_journal set ${set} where thread_id = $1 and step = $2`,
        [entry.threadId, entry.step],
      );

    test.each([
      [
        "a changed result",
        "end_body = convert_to(replace(convert_from(end_body, 'UTF8'), 'sent', 'lost'), 'UTF8')",
      ],
      ["a truncated result", "end_body = substr(end_body, 1, length(end_body) / 2)"],
      ["an emptied result", "end_body = ''"],
      ["another serializer's result", "end_type = 'bytes'"],
      ["a lost result", "end_body = null"],
      [
        "a lost end of which the time is there",
        "end_type = null, end_body = null, end_hash = null",
      ],
      ["a result without its hash", "end_hash = null"],
      ["another tool", "tool = 'post'"],
      ["other arguments", "input_hash = sha256('other')"],
    ])("does not believe %s", async (_, set) => {
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf());
      await change(set);
      const damaged = { state: "damaged", at: expect.any(String), reason: expect.any(String) };
      expect(await journal.begin(entryOf())).toEqual(damaged);
      expect(await journal.begin(entryOf())).toEqual(damaged);
      const [entry] = await journal.entriesOf(entryOf().threadId);
      expect(entry).toMatchObject({ state: "damaged", outcome: null });
    });

    test("does not believe the result of another call", async () => {
      const other = entryOf({ step: 1 });
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf());
      await journal.begin(other);
      await journal.end(other, endOf({ result: "other" }));
      await change(
        `(end_type, end_body, end_hash) = (select end_type, end_body, end_hash
          from tool_journal where thread_id = '${other.threadId}' and step = 0)`,
        other,
      );
      expect(await journal.begin(other)).toMatchObject({ state: "damaged" });
    });

    test("begins a damaged call anew that may be made twice", async () => {
      const often = entryOf({ idempotent: true });
      await journal.begin(often);
      await journal.end(often, endOf());
      await change("end_body = ''", often);
      expect(await journal.begin(often)).toMatchObject({ state: "damaged" });
      await journal.end(often, endOf({ result: "again" }));
      expect(await journal.begin(often)).toEqual({
        state: "finished",
        end: endOf({ result: "again" }),
      });
    });

    test("reads rows from before they had hashes, and names what is wrong with a truncated one", async () => {
      await journal.begin(entryOf());
      await journal.end(entryOf(), endOf());
      await change("begin_hash = null, end_hash = null");
      expect(await journal.begin(entryOf())).toEqual({ state: "finished", end: endOf() });
      await change("end_body = substr(end_body, 1, 9)");
      expect(await journal.begin(entryOf())).toMatchObject({ state: "damaged" });
      const edited = entryOf({ step: 1 });
      await journal.begin(edited);
      await change("begin_hash = null", edited);
      expect(await journal.begin(edited)).toMatchObject({ state: "started" });
      expect(await journal.begin({ ...edited, input: {} })).toEqual({ state: "new" });
      await journal.end(edited, endOf());
      expect(await journal.begin({ ...edited, input: {} })).toMatchObject({ state: "finished" });
    });

    test("upgrades a table of the first migration", async () => {
      const schema = `first_${threads}`;
      const { pool } = database.shared;
      const all = await loadMigrations(new URL("../../src/storage/migrations", import.meta.url));
      await migrate(pool, { schema, name: "tool_journal", migrations: all.slice(0, 1) });
      await pool.query(`insert into ${schema}.tool_journal
        (thread_id, run, step, call_id, tool, input_hash, beginning)
        values ('${entryOf().threadId}', 'run-1', 0, 'call-1', 'send', '', gen_random_uuid())`);
      const upgraded = new DatabaseToolJournal(pool, { schema });
      expect(await upgraded.entriesOf(entryOf().threadId)).toMatchObject([{ state: "started" }]);
    });

    test("forgets a thread, and no other", async () => {
      const other = entryOf({ threadId: `other-${threads}` });
      await journal.begin(entryOf());
      await journal.begin(other);
      await journal.forget(entryOf().threadId);
      expect(await journal.entriesOf(entryOf().threadId)).toEqual([]);
      expect(await journal.entriesOf(other.threadId)).toHaveLength(1);
    });

    test("waits until the thread is durable, for calls that must not be made twice alone", async () => {
      const waited: string[] = [];
      const careful = new DatabaseToolJournal(database.shared.pool, {
        flush: async (threadId) => void waited.push(threadId),
      });
      const { threadId } = entryOf();
      await careful.begin(entryOf({ idempotent: true }));
      expect(waited).toEqual([]);
      await careful.begin(entryOf({ step: 1 }));
      expect(waited).toEqual([threadId]);
    });

    test("keeps calls that may be made twice as it keeps others", async () => {
      const often = entryOf({ idempotent: true });
      const known = await Promise.all(Array.from({ length: 5 }, () => journal.begin(often)));
      expect(known.map(({ state }) => state).toSorted()).toEqual([
        "new",
        ...Array.from({ length: 4 }, () => "started"),
      ]);
      await journal.end(often, endOf({ result: "first" }));
      await journal.end(often, endOf({ result: "second" }));
      expect(await journal.begin(often)).toEqual({
        state: "finished",
        end: endOf({ result: "first" }),
      });
      expect(await journal.begin({ ...often, input: {} })).toEqual({ state: "new" });
      expect(await journal.entriesOf(often.threadId)).toMatchObject([{ state: "started" }]);
    });

    test("waits for the disk, but on a server not for rows of calls that may be made twice", async () => {
      const schema = `waits_${threads}`;
      const { pool } = database.shared;
      const watched = new DatabaseToolJournal(pool, { schema });
      await watched.setup();
      await pool.query(`create table ${schema}.seen (at serial, call text, setting text)`);
      await pool.query(`create function ${schema}.see() returns trigger language plpgsql as $$ begin
        insert into ${schema}.seen (call, setting)
        values (tg_op || ' ' || new.call_id, current_setting('synchronous_commit'));
        return new; end $$ security definer`);
      await pool.query(`create trigger see after insert or update on ${schema}.tool_journal
        for each row execute function ${schema}.see()`);
      for (const [callId, idempotent] of [
        ["often", true],
        ["once", false],
      ] as const) {
        await watched.begin(entryOf({ callId, idempotent }));
        await watched.begin(entryOf({ callId, idempotent }));
        await watched.end(entryOf({ callId, idempotent }), endOf());
      }
      const { rows } = await pool.query(`select call, setting from ${schema}.seen order by at`);
      // An embedded database loses what it has not written when its process is killed.
      const setting = database.kind === "postgres" ? "off" : "on";
      expect(rows).toEqual([
        { call: "INSERT often", setting },
        { call: "UPDATE often", setting },
        { call: "UPDATE often", setting },
        { call: "INSERT once", setting: "on" },
        { call: "UPDATE once", setting: "on" },
        { call: "UPDATE once", setting: "on" },
      ]);
    });

    test("begins no call of a thread whose state could not be kept", async () => {
      const broken = new DatabaseToolJournal(database.shared.pool, {
        flush: () => Promise.reject(new Error("disk full")),
      });
      await expect(broken.begin(entryOf())).rejects.toThrow("disk full");
      expect(await journal.entriesOf(entryOf().threadId)).toEqual([]);
    });

    test("makes its table in any schema, once for all who begin at the same time", async () => {
      const schema = `Jour"nal ${threads}`;
      const journals = Array.from(
        { length: 4 },
        () => new DatabaseToolJournal(database.shared.pool, { schema }),
      );
      const known = await Promise.all(journals.map((one) => one.begin(entryOf())));
      expect(known.filter(({ state }) => state === "new")).toHaveLength(1);
      expect(await journal.entriesOf(entryOf().threadId)).toEqual([]);
    });

    test("tries again to make its table when that has failed", async () => {
      let fails = true;
      const { pool } = database.shared;
      const flaky: DatabasePool = {
        query: (query, values) => pool.query(query, values),
        connect: () => (fails ? Promise.reject(new Error("no connection")) : pool.connect()),
        end: () => pool.end(),
      };
      const late = new DatabaseToolJournal(flaky, { schema: `late_${threads}` });
      await expect(late.begin(entryOf())).rejects.toThrow("no connection");
      fails = false;
      expect(await late.begin(entryOf())).toEqual({ state: "new" });
    });

    test("stores ends through the serializer it is given", async () => {
      const stock = new MemorySaver().serde;
      const reversing: SerializerProtocol = {
        async dumpsTyped(value) {
          const [type, bytes] = await stock.dumpsTyped(value);
          return [`${type}+reversed`, bytes.toReversed()];
        },
        async loadsTyped(type, data) {
          return stock.loadsTyped(
            type.split("+")[0]!,
            Uint8Array.from(data as Uint8Array).toReversed(),
          );
        },
      };
      const hidden = new DatabaseToolJournal(database.shared.pool, { serde: reversing });
      const entry = entryOf({ input: { secret: "s3cret" } });
      await hidden.begin(entry);
      await hidden.end(entry, endOf({ result: "s3cret" }));
      const { rows } = await database.shared.pool.query(
        "select * from tool_journal where thread_id = $1",
        [entry.threadId],
      );
      expect(rows).toHaveLength(1);
      expect(JSON.stringify(Object.values(rows[0]!).map(String))).not.toContain("s3cret");
      expect(await hidden.begin(entry)).toEqual({
        state: "finished",
        end: endOf({ result: "s3cret" }),
      });
    });
  });
}

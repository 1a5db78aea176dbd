import { beforeAll, describe, expect, it } from "vitest";
import { createMemory } from "../../src/memory/create-memory.ts";
import { MemoryBusyError } from "../../src/memory/errors.ts";
import type { ConsolidateOptions, Memory } from "../../src/memory/memory.ts";
import { defaultTenant, type MemoryStore } from "../../src/memory/store.ts";
import { DatabaseUnavailableError } from "../../src/storage/errors.ts";
import { openDatabaseMemory } from "../../src/storage/memory/database-memory.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { type FaultyPool, faultyPool } from "../helpers/faulty-pool.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { seededRandom } from "../helpers/random.ts";
import {
  lostOrDoubled,
  outcomeOf,
  rememberedThread,
  type RememberedThread,
  topicEmbeddings,
} from "../helpers/remembered-thread.ts";

/** Statements at which connections are lost, chosen at random; all of them where `CRASH_TRIALS` is set. */
const trials = process.env["CRASH_TRIALS"] === undefined ? 3 : Infinity;
/** Entries of a trial, two of them long-term ones. */
const count = 18;

/** Cuts connections at statements of a consolidation, and consolidates at the same time as others. */
export function consolidationCrashContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`consolidation on ${database.kind}`, () => {
    const clock = new ManualClock("2026-01-03T00:00:00.000Z");
    let pool: FaultyPool;
    let store: MemoryStore;
    let memory: Memory;
    let round = 0;

    const open = async (): Promise<Memory> => {
      const { pool: other } = await database.open();
      const memories = openDatabaseMemory({ pool: other }, { clock });
      return createMemory({
        store: memories.forTenant(defaultTenant),
        embeddings: topicEmbeddings(),
        clock,
      });
    };
    beforeAll(async () => {
      pool = faultyPool(database.shared.pool);
      const memories = openDatabaseMemory({ pool }, { clock });
      await memories.setup();
      store = memories.forTenant(defaultTenant);
      memory = createMemory({ store, embeddings: topicEmbeddings(), clock });
    });

    /** The same entries in a namespace of their own. */
    const newThread = async (): Promise<RememberedThread> => {
      round += 1;
      const first = rememberedThread(0, count);
      const idOf = (id: string) => id.replace(/^.{8}/, round.toString(16).padStart(8, "0"));
      const namespace = ["agents", `trial-${round}`];
      const thread = {
        ...first,
        namespace,
        entries: first.entries.map((entry) => ({ ...entry, namespace, id: idOf(entry.id) })),
        uses: first.uses.map((use) => ({ ...use, id: idOf(use.id) })),
      };
      pool.arm(0, "before");
      await memory.add(thread.entries);
      await memory.recordUses(thread.uses);
      return thread;
    };
    const optionsOf = ({ namespace, threadId }: RememberedThread): ConsolidateOptions => ({
      namespace,
      threadId,
      importanceThreshold: 0.4,
      maxEntryTokens: 40,
    });

    it("moves, merges, summarises and archives entries, each once", async () => {
      const thread = await newThread();
      const counts = await memory.consolidate(optionsOf(thread));
      expect(await lostOrDoubled(store, thread)).toEqual([]);
      const { consolidated, merged, evicted } = counts;
      expect(consolidated + merged + evicted).toBe(count - 2);
      expect(Math.min(consolidated, merged, evicted)).toBeGreaterThan(1);
      const moved = await store.list({ namespace: thread.namespace, types: ["episodic"] });
      expect(moved.filter(({ summary }) => summary !== null).length).toBeGreaterThan(1);
      expect(await store.count({ namespace: thread.namespace, types: ["short_term"] })).toBe(0);
    });

    it(
      "loses and doubles nothing when the connections are lost at a statement, before or after it",
      { timeout: 120_000 },
      async () => {
        const undisturbed = await newThread();
        pool.arm(0, "before");
        await memory.consolidate(optionsOf(undisturbed));
        const { statements } = pool;
        const expected = await outcomeOf(store, undisturbed);
        const random = seededRandom("consolidation crash");
        const faults = Array.from({ length: 2 * statements }, (_, at) => ({
          at: (at >> 1) + 1,
          when: at % 2 === 0 ? ("before" as const) : ("after" as const),
          order: random(),
        }));
        for (const { at, when } of faults.toSorted((a, b) => a.order - b.order).slice(0, trials)) {
          const name = `${when} statement ${at} of ${statements}`;
          const thread = await newThread();
          pool.arm(at, when);
          const crashed = memory.consolidate(optionsOf(thread)).then(
            () => "ended",
            (error: unknown) => error,
          );
          // The last statements give the lock back: what they return is not waited for.
          expect([name, await crashed]).toEqual([
            name,
            expect.toSatisfy(
              (end) =>
                end instanceof DatabaseUnavailableError || (end === "ended" && at > statements - 3),
            ),
          ]);
          pool.arm(0, "before");
          expect([name, await lostOrDoubled(store, thread)]).toEqual([name, []]);
          await memory.consolidate(optionsOf(thread));
          expect([name, await lostOrDoubled(store, thread)]).toEqual([name, []]);
          expect([name, await outcomeOf(store, thread)]).toEqual([name, expected]);
        }
      },
    );

    it("refuses a thread that another process consolidates, and takes other threads meanwhile", async () => {
      const thread = await newThread();
      const other = await newThread();
      const elsewhere = await open();
      let refused: unknown;
      const summarise = async () => {
        refused ??= await elsewhere.consolidate(optionsOf(thread)).catch((error: unknown) => error);
        await elsewhere.consolidate(optionsOf(other));
        return "Short.";
      };
      await memory.consolidate({ ...optionsOf(thread), summarise });
      expect(refused).toBeInstanceOf(MemoryBusyError);
      for (const one of [thread, other]) expect(await lostOrDoubled(store, one)).toEqual([]);
    });

    it("doubles nothing when two processes consolidate one thread at once", async () => {
      const thread = await newThread();
      const elsewhere = await open();
      const ends = await Promise.allSettled(
        [memory, elsewhere].map((one) => one.consolidate(optionsOf(thread))),
      );
      const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
      expect(refused.every((error) => error instanceof MemoryBusyError)).toBe(true);
      expect(refused.length).toBeLessThan(2);
      expect(await lostOrDoubled(store, thread)).toEqual([]);
    });

    it("keeps entries and uses that are written meanwhile", async () => {
      const thread = await newThread();
      const { namespace, threadId, entries } = thread;
      const writer = await open();
      const changed = entries.find(({ content }) => content.length > 200)?.id ?? "";
      let id = "";
      const uses = entries.map((entry) => ({ id: entry.id, run: "later", threadId, score: 1 }));
      const summarise = async () => {
        if (id !== "") return "Short.";
        const entry = { namespace, thread_id: threadId, content: "Written meanwhile." };
        const [added] = await writer.add([{ ...entry, memory_type: "short_term" }]);
        id = added?.id ?? "";
        clock.advance(1);
        await writer.store.update(changed, { content: "Changed meanwhile." });
        await writer.recordUses(uses);
        return "Short.";
      };
      const { left } = await memory.consolidate({ ...optionsOf(thread), summarise });
      expect(left).toBeGreaterThan(0);
      const [added] = await store.get([id]);
      expect(added).toMatchObject({ memory_type: "short_term", access_count: 0 });
      expect(await store.get([changed])).toMatchObject([
        { memory_type: "short_term", content: "Changed meanwhile." },
      ]);
      const all = {
        ...thread,
        entries: [...entries, { id, namespace, content: "" }],
        uses: [...thread.uses, ...uses],
      };
      expect(await lostOrDoubled(store, all)).toEqual([]);
    });
  });
}

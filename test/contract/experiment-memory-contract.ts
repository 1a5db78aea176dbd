import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ExperimentMemory, RunMemory } from "../../src/experiment/memory/run-memory.ts";
import { anyCharacter } from "../helpers/any-character.ts";

/** Texts as the tools take them. */
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }).map((one) => one.replaceAll("\0", "0")),
  fc.constantFrom("", "'", '"', "\\", "$1", "\\u0000", "a\nb", "\uffff", "😀", "__proto__"),
);

/** Few, so that histories come back to them; with characters whose units and code points differ in order. */
const key = fc.constantFrom("a", "b", "A", "\u{1f600}", "\uffee", "\u{10000}b", "'", "__proto__");

type Change = { readonly key: string; readonly value: string | null };

const change: fc.Arbitrary<Change> = fc.record({ key, value: fc.option(text, { freq: 3 }) });

interface Step {
  readonly changes: readonly Change[];
  /** How many of all changes stay after them. */
  readonly keep: number;
}

const history = fc.array(
  fc.record({ changes: fc.array(change, { maxLength: 8 }), keep: fc.nat(30) }),
  { minLength: 1, maxLength: 5 },
);

/** What a memory does, wherever it keeps things. */
export function experimentMemoryContract(
  name: string,
  options: {
    readonly available?: boolean;
    readonly create: () => ExperimentMemory;
    /** Makes so many changes, the n-th of which writes "value n" as "key n"; where writing one by one takes long. */
    readonly fill?: typeof fill;
  },
): void {
  describe.skipIf(options.available === false)(`the memory of experiments ${name}`, () => {
    let runs = 0;
    let all: ExperimentMemory;
    let runId: string;
    let memory: RunMemory;
    beforeAll(() => {
      all = options.create();
    });
    beforeEach(() => {
      runId = `run-${(runs += 1)}`;
      memory = all.of(runId);
    });

    test("has nothing at first", async () => {
      expect(await memory.list()).toEqual([]);
      expect(await memory.read("a")).toBeNull();
    });

    test("keeps texts, replaces and deletes them", async () => {
      expect(await memory.write("a", "one", 1)).toBe(false);
      expect(await memory.write("a", "two", 2)).toBe(true);
      expect(await memory.write("b", "", 3)).toBe(false);
      expect(await contentOf(memory)).toEqual({ a: "two", b: "" });
      expect(await memory.delete("a", 4)).toBe(true);
      expect(await memory.delete("a", 5)).toBe(false);
      expect(await contentOf(memory)).toEqual({ b: "" });
      expect(await memory.write("a", "three", 6)).toBe(false);
      expect(await contentOf(memory)).toEqual({ a: "three", b: "" });
    });

    test("tells whether an empty text was there", async () => {
      await memory.write("a", "", 1);
      expect(await memory.write("a", "x", 2)).toBe(true);
      await memory.rewind(1);
      expect(await memory.read("a")).toBe("");
      expect(await memory.delete("a", 2)).toBe(true);
    });

    test("keeps runs apart, their numbers of changes too", async () => {
      const other = all.of(`${runId}-other`);
      await memory.write("a", "mine", 1);
      await other.write("a", "theirs", 1);
      await other.write("b", "theirs", 2);
      expect(await contentOf(memory)).toEqual({ a: "mine" });
      await memory.rewind(0);
      expect(await contentOf(memory)).toEqual({});
      expect(await contentOf(other)).toEqual({ a: "theirs", b: "theirs" });
      await other.clear();
      await memory.write("a", "again", 1);
      expect(await contentOf(memory)).toEqual({ a: "again" });
    });

    test("gives the same memory to all who ask for a run", async () => {
      await memory.write("a", "one", 1);
      expect(await all.of(runId).read("a")).toBe("one");
      await all.of(runId).write("a", "two", 2);
      expect(await memory.read("a")).toBe("two");
    });

    test("takes calls in the order in which they are made, though nobody waits for them", async () => {
      const writes = Array.from({ length: 12 }, (_, i) =>
        all.of(runId).write("a", `value ${i + 1}`, i + 1),
      );
      const read = all.of(runId).read("a");
      const removed = memory.delete("a", 13);
      const listed = memory.list();
      expect(await read).toBe("value 12");
      expect(await Promise.all(writes)).toEqual([false, ...Array(11).fill(true)]);
      expect([await removed, await listed]).toEqual([true, []]);
      await memory.rewind(5);
      expect(await memory.read("a")).toBe("value 5");
    });

    test("takes changes back to any point, the last first", async () => {
      await memory.write("a", "one", 1);
      await memory.write("b", "two", 2);
      await memory.write("a", "three", 3);
      await memory.delete("b", 4);
      await memory.delete("none", 5);
      await memory.write("b", "four", 6);
      await memory.rewind(6);
      expect(await contentOf(memory)).toEqual({ a: "three", b: "four" });
      await memory.rewind(5);
      expect(await contentOf(memory)).toEqual({ a: "three" });
      await memory.rewind(3);
      expect(await contentOf(memory)).toEqual({ a: "three", b: "two" });
      await memory.rewind(1);
      expect(await contentOf(memory)).toEqual({ a: "one" });
      await memory.rewind(0);
      expect(await contentOf(memory)).toEqual({});
    });

    test("takes numbers again that were taken back, and no others", async () => {
      await memory.write("a", "one", 1);
      await memory.write("a", "two", 2);
      await memory.rewind(1);
      await memory.write("a", "other two", 2);
      await memory.rewind(1);
      expect(await memory.read("a")).toBe("one");
      await expect(memory.write("a", "again", 1)).rejects.toMatchObject({
        code: "memory_conflict",
        kind: "run",
        runId,
        change: 1,
        last: 1,
      });
    });

    test("refuses a change whose number is not above the last, and changes nothing", async () => {
      await memory.write("a", "one", 1);
      await memory.write("b", "two", 4);
      for (const taken of [0, 1, 3, 4]) {
        const refused = { name: "MemoryConflictError", change: taken, last: 4 };
        await expect(memory.write("a", "other", taken)).rejects.toMatchObject(refused);
        await expect(memory.delete("a", taken)).rejects.toMatchObject(refused);
      }
      expect(await contentOf(memory)).toEqual({ a: "one", b: "two" });
      await memory.write("a", "five", 5);
      await memory.rewind(3);
      expect(await contentOf(memory)).toEqual({ a: "one" });
    });

    test("forgets a run with its numbers", async () => {
      await memory.write("a", "one", 1);
      await memory.write("b", "two", 2);
      await memory.clear();
      expect(await contentOf(memory)).toEqual({});
      await memory.rewind(0);
      expect(await contentOf(memory)).toEqual({});
      expect(await memory.write("a", "new", 1)).toBe(false);
    });

    test("orders keys by code units", async () => {
      const keys = ["\uffee", "\u{1f600}", "b", "B", "a\u{10ffff}", "aé", "é", "10", "9", "\ue000"];
      for (const [i, one] of keys.entries()) await memory.write(one, "", i + 1);
      expect(await memory.list()).toEqual([
        "10",
        "9",
        "B",
        "aé",
        "a\u{10ffff}",
        "b",
        "é",
        "\u{1f600}",
        "\ue000",
        "\uffee",
      ]);
    });

    test("gives back any text as it was, as a key and as a value", async () => {
      let number = 0;
      const expected = new Map<string, string>();
      await fc.assert(
        fc.asyncProperty(text, text, async (one, value) => {
          expect(await memory.write(one, value, (number += 1))).toBe(expected.has(one));
          expected.set(one, value);
          expect(await memory.read(one)).toBe(value);
          expect(await memory.list()).toEqual([...expected.keys()].toSorted());
        }),
        { numRuns: 50 },
      );
    });

    test("keeps texts that are long", async () => {
      const value = "\"\\'😀é\n".repeat(30_000);
      const longKey = "😀".repeat(100);
      await memory.write(longKey, value, 1);
      await memory.write(longKey, "short", 2);
      await memory.rewind(1);
      expect(await memory.read(longKey)).toBe(value);
      expect(await memory.list()).toEqual([longKey]);
    });

    test("rewinds to what the first changes had made, whatever was changed and taken back", async () => {
      await fc.assert(
        fc.asyncProperty(history, async (steps: readonly Step[]) => {
          await memory.clear();
          let made: readonly Change[] = [];
          for (const { changes, keep } of steps) {
            for (const one of changes) {
              const before = replayed(made).has(one.key);
              made = [...made, one];
              expect(await apply(memory, one, made.length)).toBe(before);
            }
            await memory.rewind(keep);
            made = made.slice(0, keep);
            const expected = replayed(made);
            expect(await memory.list()).toEqual([...expected.keys()].toSorted());
            expect(await contentOf(memory)).toEqual(Object.fromEntries(expected));
          }
        }),
        { numRuns: 25 },
      );
    });

    test("keeps thousands of keys, and takes all of them back", async () => {
      const keys = Array.from({ length: 5_000 }, (_, i) => `key ${i + 1}`);
      await (options.fill ?? fill)(memory, runId, keys.length);
      expect(await memory.list()).toEqual(keys.toSorted());
      await Promise.all(keys.slice(0, 50).map((one, i) => memory.write(one, "other", 5_001 + i)));
      await memory.rewind(5_025);
      expect(await memory.read("key 25")).toBe("other");
      expect(await memory.read("key 26")).toBe("value 26");
      await memory.rewind(2);
      expect(await contentOf(memory)).toEqual({ "key 1": "value 1", "key 2": "value 2" });
    });
  });
}

export async function contentOf(memory: RunMemory): Promise<Record<string, string | null>> {
  const keys = await memory.list();
  const values = await Promise.all(keys.map((one) => memory.read(one)));
  return Object.fromEntries(keys.map((one, i) => [one, values[i] ?? null]));
}

async function fill(memory: RunMemory, _runId: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await memory.write(`key ${n}`, `value ${n}`, n);
}

function apply(memory: RunMemory, { key: one, value }: Change, number: number): Promise<boolean> {
  return value === null ? memory.delete(one, number) : memory.write(one, value, number);
}

function replayed(changes: readonly Change[]): ReadonlyMap<string, string> {
  const content = new Map<string, string>();
  for (const { key: one, value } of changes) {
    if (value === null) content.delete(one);
    else content.set(one, value);
  }
  return content;
}

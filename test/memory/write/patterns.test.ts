import { describe, expect, it } from "vitest";
import { createMemory } from "../../../src/memory/create-memory.ts";
import type { MemoryEntry } from "../../../src/memory/entry.ts";
import { createInMemoryMemory } from "../../../src/memory/in-memory-store.ts";
import type { Memory } from "../../../src/memory/memory.ts";
import { defaultTenant } from "../../../src/memory/store.ts";
import { patternKey, patternSteps, recordPattern } from "../../../src/memory/write/patterns.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

const namespace = ["agents", "support"];
const call = (tool: string, ...keys: string[]) => ({ tool, arguments: keys });
const steps = patternSteps([call("search_orders", "customer", "year"), call("refund", "id")]) ?? [];

function patterns() {
  const clock = new ManualClock("2026-11-23T12:00:00.000Z");
  let made = 0;
  const ids = () => `0198c000-0000-7000-8000-${String((made += 1)).padStart(12, "0")}`;
  const store = createInMemoryMemory({ clock, ids }).forTenant(defaultTenant);
  const memory = createMemory({ store, embeddings: null, clock });
  const record = (run: string, request = "Refund the last order.", over: Partial<Memory> = {}) => {
    // Updates differ by their time.
    clock.advance(1);
    const at = { memory: { ...memory, ...over }, namespace, minFrequency: 3 };
    return recordPattern({ run, request, steps }, at);
  };
  const entries = () => memory.list({ namespace, types: ["procedural"] });
  return { memory, clock, record, entries };
}

function dataOf(entry: MemoryEntry | undefined) {
  return entry?.metadata.data?.["pattern"] as {
    readonly name: string;
    readonly frequency: number;
    readonly runs: readonly string[];
    readonly requests: readonly string[];
  };
}

describe("patternSteps", () => {
  it("sorts the arguments of each step", () => {
    expect(patternSteps([call("b", "y", "x"), call("a")])).toEqual([
      { tool: "b", arguments: ["x", "y"] },
      { tool: "a", arguments: [] },
    ]);
  });

  it("returns null for fewer than 2 calls, for too many, and for names that are too long", () => {
    const many = Array.from({ length: 51 }, () => call("a"));
    expect(patternSteps([call("a")])).toBeNull();
    expect(patternSteps(many)).toBeNull();
    expect(patternSteps(many.slice(1))).toHaveLength(50);
    expect(patternSteps([call("a"), call("b", "x".repeat(201))])).toBeNull();
    expect(patternSteps([call("a"), call("b", ...Array.from({ length: 51 }, String))])).toBeNull();
  });
});

describe("patternKey", () => {
  const keyOf = (...calls: ReturnType<typeof call>[]) => patternKey(patternSteps(calls) ?? []);
  const key = keyOf(call("a", "x", "y"), call("b"));

  it("is the same for the same tools in the same order with the same arguments", () => {
    expect(keyOf(call("a", "y", "x"), call("b"))).toBe(key);
  });

  it.each([
    ["another order", [call("b"), call("a", "x", "y")]],
    ["another argument", [call("a", "x", "z"), call("b")]],
    ["one argument less", [call("a", "x"), call("b")]],
    ["a repeated call", [call("a", "x", "y"), call("b"), call("b")]],
    ["arguments of another step", [call("a", "x"), call("b", "y")]],
  ])("differs for %s", (_, calls) => {
    expect(keyOf(...calls)).not.toBe(key);
  });
});

describe("recordPattern", () => {
  it("makes a candidate a pattern after enough runs", async () => {
    const { record, entries } = patterns();
    await record("r1");
    await record("r2", "Refund Ann's order.");
    const [candidate] = await entries();
    expect(candidate?.metadata.tags).toEqual(["candidate"]);
    await record("r3");
    expect(await entries()).toMatchObject([
      {
        key: patternKey(steps),
        memory_type: "procedural",
        thread_id: null,
        importance: 0.8,
        content:
          'How requests like these were done: "Refund Ann\'s order.", "Refund the last order."\nSteps: search_orders(customer, year) → refund(id)',
        metadata: {
          source: "agent",
          tags: ["pattern"],
          data: {
            pattern: {
              name: "search_orders → refund",
              steps: [
                { tool: "search_orders", arguments: ["customer", "year"] },
                { tool: "refund", arguments: ["id"] },
              ],
              frequency: 3,
              runs: ["r1", "r2", "r3"],
              requests: ["Refund Ann's order.", "Refund the last order."],
            },
          },
        },
      },
    ]);
  });

  it("counts a run once", async () => {
    const { record, entries } = patterns();
    await record("r1");
    expect(await record("r1")).toBe(true);
    await record("r2");
    await record("r1");
    expect(dataOf((await entries())[0])).toMatchObject({ frequency: 2, runs: ["r1", "r2"] });
  });

  it("counts runs that end at the same time, each once", async () => {
    const { record, entries, memory, clock } = patterns();
    const update: Memory["store"]["update"] = (...of) => {
      clock.advance(1);
      return memory.store.update(...of);
    };
    const store = { ...memory.store, update };
    const runs = Array.from({ length: 12 }, (_, at) => `r${at}`);
    await Promise.all(runs.map((run) => record(run, `Refund ${run}.`, { store })));
    const [entry] = await entries();
    expect(dataOf(entry).frequency).toBe(12);
    expect(dataOf(entry).runs.toSorted()).toEqual(runs.toSorted());
  });

  it("returns false if others are always faster", async () => {
    const { record, memory } = patterns();
    await record("r1");
    const store = { ...memory.store, update: async () => false };
    expect(await record("r2", "Refund.", { store })).toBe(false);
  });

  it("keeps the last 50 runs and 3 requests, shortened", async () => {
    const { record, entries } = patterns();
    for (let at = 0; at < 55; at += 1) await record(`r${at}`, `Refund ${at} ${"x ".repeat(500)}`);
    const { frequency, runs, requests } = dataOf((await entries())[0]);
    expect([frequency, runs.length, runs[0], runs.at(-1)]).toEqual([55, 50, "r5", "r54"]);
    expect(requests.map((request) => [request.slice(0, 9), request.length])).toEqual([
      ["Refund 52", 160],
      ["Refund 53", 160],
      ["Refund 54", 160],
    ]);
  });

  it("counts anew where an entry holds no pattern", async () => {
    const { record, entries, memory } = patterns();
    const data = { pattern: { frequency: "many", runs: 3 } };
    const key = patternKey(steps);
    await memory.add([
      { namespace, key, content: "x", memory_type: "procedural", metadata: { data } },
    ]);
    await record("r1");
    expect(dataOf((await entries())[0]).frequency).toBe(1);
  });
});

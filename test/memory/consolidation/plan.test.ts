import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  hasCandidates,
  importanceOf,
  memoryTokens,
  planConsolidation,
  type ShortTermRecord,
} from "../../../src/memory/consolidation/plan.ts";
import {
  consolidationRules,
  type ConsolidationRules,
} from "../../../src/memory/consolidation/rules.ts";

const now = new Date("2026-03-02T00:00:00.000Z");
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000).toISOString();
const defaults = consolidationRules({ namespace: ["a"] });

const record = (
  id: string,
  hours: number,
  more: Partial<ShortTermRecord> = {},
): ShortTermRecord => ({
  id,
  created_at: hoursAgo(hours),
  last_accessed: null,
  access_count: 0,
  tokens: 10,
  relevance: 0,
  ...more,
});

const planned = (entries: readonly ShortTermRecord[], rules: Partial<ConsolidationRules> = {}) =>
  planConsolidation(entries, { ...defaults, ...rules }, now).map(({ id }) => id);

describe("memoryTokens", () => {
  test.each([
    ["", 0],
    ["a", 1],
    ["four", 1],
    ["fiver", 2],
    ["記憶", 2],
    ["🦀", 1],
  ])("counts %j as %i", (text, tokens) => {
    expect(memoryTokens(text)).toBe(tokens);
  });
});

describe("importanceOf", () => {
  it("weighs recency 0.3, frequency 0.3 and relevance 0.4", () => {
    const fresh = record("a", 0);
    expect(importanceOf(fresh, defaults, now)).toBeCloseTo(0.3, 10);
    expect(importanceOf({ ...fresh, access_count: 20 }, defaults, now)).toBeCloseTo(0.6, 10);
    expect(importanceOf({ ...fresh, relevance: 1 }, defaults, now)).toBeCloseTo(0.7, 10);
  });

  it("lets recency fall to 1/e after the half life, from the last access or else the creation", () => {
    const rules = { ...defaults, weights: { recency: 1, frequency: 0, relevance: 0 } };
    expect(importanceOf(record("a", 168), rules, now)).toBeCloseTo(Math.exp(-1), 10);
    expect(importanceOf(record("a", 500, { last_accessed: hoursAgo(84) }), rules, now)).toBeCloseTo(
      Math.exp(-0.5),
      10,
    );
  });

  it("counts a time to come as now", () => {
    const rules = { ...defaults, weights: { recency: 1, frequency: 0, relevance: 0 } };
    expect(importanceOf(record("a", -5), rules, now)).toBe(1);
  });

  test.each([
    [0, 0],
    [1, Math.log(2) / Math.log(21)],
    [20, 1],
    [1_000, 1],
  ])("scales %i accesses to frequency %d", (accesses, frequency) => {
    const rules = { ...defaults, weights: { recency: 0, frequency: 1, relevance: 0 } };
    expect(importanceOf(record("a", 0, { access_count: accesses }), rules, now)).toBeCloseTo(
      frequency,
      10,
    );
  });

  it("stays within 0 and 1 for any weights, and grows with each part", () => {
    fc.assert(
      fc.property(
        fc.record({
          hours: fc.double({ min: -100, max: 100_000, noNaN: true }),
          accesses: fc.nat(),
          relevance: fc.double({ min: 0, max: 1, noNaN: true }),
          recencyWeight: fc.double({ min: 0, max: 10, noNaN: true }),
          frequencyWeight: fc.double({ min: 0, max: 10, noNaN: true }),
          relevanceWeight: fc.double({ min: 0, max: 10, noNaN: true }),
        }),
        ({ hours, accesses, relevance, ...given }) => {
          const rules = {
            ...defaults,
            weights: {
              recency: given.recencyWeight,
              frequency: given.frequencyWeight,
              relevance: given.relevanceWeight,
            },
          };
          const of = (h: number, a: number, r: number) =>
            importanceOf(record("a", h, { access_count: a, relevance: r }), rules, now);
          const importance = of(hours, accesses, relevance);
          expect(importance).toBeGreaterThanOrEqual(0);
          expect(importance).toBeLessThanOrEqual(1);
          expect(of(hours + 1, accesses, relevance)).toBeLessThanOrEqual(importance);
          expect(of(hours, accesses + 1, relevance)).toBeGreaterThanOrEqual(importance);
          expect(of(hours, accesses, relevance / 2)).toBeLessThanOrEqual(importance);
        },
      ),
    );
  });
});

describe("planConsolidation", () => {
  it("takes entries that are older than the age, not those that are as old", () => {
    expect(planned([record("old", 24.01), record("even", 24), record("new", 1)])).toEqual(["old"]);
  });

  it("takes the oldest that make up the overflow, whatever their age", () => {
    const entries = [record("c", 1), record("a", 3), record("b", 2), record("d", 0)];
    expect(planned(entries, { maxTokens: 40 })).toEqual([]);
    expect(planned(entries, { maxTokens: 39 })).toEqual(["a"]);
    expect(planned(entries, { maxTokens: 30 })).toEqual(["a"]);
    expect(planned(entries, { maxTokens: 29 })).toEqual(["a", "b"]);
  });

  it("takes an entry once that is both old and overflow", () => {
    expect(planned([record("a", 30), record("b", 2)], { maxTokens: 15 })).toEqual(["a"]);
  });

  it("orders by age, by importance, or by the mean of both ranks", () => {
    const entries = [
      record("a", 50, { relevance: 0.1 }),
      record("b", 40, { relevance: 0.9 }),
      record("c", 30, { relevance: 1 }),
      record("d", 26, { relevance: 0.5 }),
    ];
    expect(planned(entries, { strategy: "age" })).toEqual(["a", "b", "c", "d"]);
    expect(planned(entries, { strategy: "importance" })).toEqual(["c", "b", "d", "a"]);
    // Ranks: a 0 + 3, b 1 + 1, c 2 + 0, d 3 + 2.
    expect(planned(entries, { strategy: "hybrid" })).toEqual(["b", "c", "a", "d"]);
  });

  it("breaks ties by time of creation, then by id", () => {
    const rules = { weights: { recency: 0, frequency: 0, relevance: 1 } } as const;
    const entries = [record("c", 30), record("a", 30), record("b", 40)];
    for (const strategy of ["age", "importance", "hybrid"] as const) {
      expect(planned(entries, { ...rules, strategy })).toEqual(["b", "a", "c"]);
    }
  });

  it("bounds the candidates after they are in order", () => {
    const entries = [record("a", 50), record("b", 40, { relevance: 1 }), record("c", 30)];
    expect(planned(entries, { maxEntries: 1, strategy: "age" })).toEqual(["a"]);
    expect(planned(entries, { maxEntries: 1, strategy: "importance" })).toEqual(["b"]);
  });

  const records = fc.uniqueArray(
    fc.record({
      id: fc.uuid(),
      hours: fc.integer({ min: 0, max: 60 }),
      access_count: fc.nat(30),
      relevance: fc.constantFrom(0, 0.5, 1),
      tokens: fc.integer({ min: 1, max: 100 }),
    }),
    { selector: ({ id }) => id, maxLength: 30 },
  );
  const someRules = fc.record({
    strategy: fc.constantFrom("age", "importance", "hybrid"),
    maxEntries: fc.integer({ min: 1, max: 20 }),
    maxTokens: fc.integer({ min: 1, max: 1_000 }),
    minAgeHours: fc.integer({ min: 0, max: 48 }),
  });

  it("chooses each entry at most once, in an order that does not depend on the order given", () => {
    fc.assert(
      fc.property(records, someRules, (given, rules) => {
        const entries = given.map(({ hours, ...more }) => record(more.id, hours, more));
        const chosen = planned(entries, rules);
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(chosen.length).toBeLessThanOrEqual(rules.maxEntries);
        expect(planned(entries.toReversed(), rules)).toEqual(chosen);
      }),
    );
  });

  it("brings the tokens of the rest down to the limit, with no entry more than that takes", () => {
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 1_000 }), (given, maxTokens) => {
        const entries = given.map(({ hours, ...more }) => record(more.id, hours, more));
        const rules = { maxTokens, minAgeHours: 1_000, strategy: "age" } as const;
        const chosen = planned(entries, rules);
        const tokensWithout = (ids: readonly string[]) =>
          entries.reduce((sum, { id, tokens }) => sum + (ids.includes(id) ? 0 : tokens), 0);
        expect(tokensWithout(chosen)).toBeLessThanOrEqual(maxTokens);
        const fewer = tokensWithout(chosen.slice(0, -1));
        expect(chosen.length === 0 || fewer > maxTokens).toBe(true);
      }),
    );
  });

  it("chooses something exactly where hasCandidates says so", () => {
    fc.assert(
      fc.property(records, someRules, (given, rules) => {
        fc.pre(given.length > 0);
        const entries = given.map(({ hours, ...more }) => record(more.id, hours, more));
        const thread = {
          oldest: entries.map((entry) => entry.created_at).toSorted()[0] ?? "",
          tokens: entries.reduce((sum, { tokens }) => sum + tokens, 0),
        };
        expect(hasCandidates(thread, { ...defaults, ...rules }, now)).toBe(
          planned(entries, rules).length > 0,
        );
      }),
    );
  });
});

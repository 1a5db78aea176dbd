import { expect, it, test } from "vitest";
import { consolidationRules } from "../../../src/memory/consolidation/rules.ts";
import { InvalidMemoryError } from "../../../src/memory/errors.ts";
import type { ConsolidateOptions } from "../../../src/memory/memory.ts";

it("fills in the defaults", () => {
  expect(consolidationRules({ namespace: ["agents"] })).toMatchObject({
    strategy: "hybrid",
    maxEntries: 1_000,
    minAgeHours: 24,
    maxTokens: 8_000,
    importanceThreshold: 0.5,
    maxEntryTokens: 400,
    halfLifeHours: 168,
    archiveEvicted: true,
    weights: { recency: 0.3, frequency: 0.3, relevance: 0.4 },
  });
});

it("keeps what is given, and the defaults of weights that are left out", () => {
  const rules = consolidationRules({
    namespace: ["agents"],
    threadId: "t",
    strategy: "age",
    minAgeHours: 0,
    weights: { relevance: 0 },
    goal: undefined,
    signal: new AbortController().signal,
  });
  expect(rules).toMatchObject({
    strategy: "age",
    minAgeHours: 0,
    weights: { recency: 0.3, frequency: 0.3, relevance: 0 },
  });
});

test.each<[string, Record<string, unknown>]>([
  ["namespace", { namespace: [] }],
  ["threadId", { threadId: "" }],
  ["strategy", { strategy: "newest" }],
  ["maxEntries", { maxEntries: 0 }],
  ["maxEntries", { maxEntries: 1.5 }],
  ["minAgeHours", { minAgeHours: -1 }],
  ["minAgeHours", { minAgeHours: Number.NaN }],
  ["maxTokens", { maxTokens: Number.POSITIVE_INFINITY }],
  ["importanceThreshold", { importanceThreshold: 1.1 }],
  ["maxEntryTokens", { maxEntryTokens: 0 }],
  ["halfLifeHours", { halfLifeHours: 0 }],
  ["archiveEvicted", { archiveEvicted: "yes" }],
  ["weights.recency", { weights: { recency: -0.1 } }],
  ["weights.relevance", { weights: { relevance: Number.POSITIVE_INFINITY } }],
  ["summarise", { summarise: "short" }],
  ["signal", { signal: {} }],
])("refuses a bad %s and names it: %j", (name, given) => {
  const options = { namespace: ["agents"], ...given } as ConsolidateOptions;
  expect(() => consolidationRules(options)).toThrow(InvalidMemoryError);
  expect(() => consolidationRules(options)).toThrow(name);
});

it("refuses an option that does not exist", () => {
  const options = { namespace: ["agents"], maxAge: 3 } as ConsolidateOptions;
  expect(() => consolidationRules(options)).toThrow("maxAge");
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calculator } from "../../src/tools/builtins/calculator.ts";
import {
  applyTiers,
  isJournalled,
  resolveJournalEntry,
  tierChanges,
  type RecordedEnd,
} from "../../src/tools/journal.ts";
import { statelessTool } from "../helpers/probe-tools.ts";

const careful = statelessTool(() => null);
const repeatable = statelessTool(() => null, { idempotent: true });
const end: RecordedEnd = { outcome: "success", result: 1, error: null, execution_time_ms: 2 };
const at = "2026-01-01T00:00:00.000Z";

describe("a call that the journal", () => {
  it("does not know is made", () => {
    for (const tool of [careful, repeatable]) {
      expect(resolveJournalEntry({ state: "new" }, tool)).toEqual({ do: "run", again: false });
    }
  });

  it("has the end of is not made again", () => {
    for (const tool of [careful, repeatable]) {
      expect(resolveJournalEntry({ state: "finished", end }, tool)).toEqual({ do: "use", end });
    }
  });

  it("has the beginning of is made again where that does no harm", () => {
    expect(resolveJournalEntry({ state: "started", at }, repeatable)).toEqual({
      do: "run",
      again: true,
    });
    expect(resolveJournalEntry({ state: "started", at }, careful)).toEqual({
      do: "unknown",
      at,
      damage: null,
    });
  });

  it("has a damaged record of is made again where that does no harm", () => {
    const known = { state: "damaged", at, reason: "it was changed" } as const;
    expect(resolveJournalEntry(known, repeatable)).toEqual({ do: "run", again: true });
    expect(resolveJournalEntry(known, careful)).toEqual({
      do: "unknown",
      at,
      damage: "it was changed",
    });
  });
});

describe("the journal", () => {
  it("has every tool but the builtins, which change nothing", () => {
    expect(isJournalled(calculator)).toBe(false);
    expect(isJournalled(careful)).toBe(true);
    expect(isJournalled(repeatable)).toBe(true);
  });
});

describe("changes of the tiers", () => {
  it("turn the state before a call into the one after it", () => {
    const record = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }), {
      noNullPrototype: true,
    });
    const tier = fc.oneof(record, fc.constantFrom(null, [1, 2], "text"));
    const state = fc.record({ execution: tier, attempt: tier });
    fc.assert(
      fc.property(state, state, (before, after) => {
        expect(applyTiers(before, tierChanges(before, after))).toEqual(after);
      }),
    );
  });

  it("name only what has changed", () => {
    const before = { execution: { n: 1, long: "x".repeat(10_000) }, attempt: {} };
    const changes = tierChanges(before, { ...before, execution: { ...before.execution, n: 2 } });
    expect(Object.keys(changes ?? {})).toEqual(["execution"]);
    expect(JSON.stringify(changes).length).toBeLessThan(100);
    expect(tierChanges(before, before)).toEqual({});
  });
});

import { describe, expect, it } from "vitest";
import {
  createResultSummaryCache,
  type SummaryOutcome,
} from "../../../src/context/summarise/result-summary.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

const failed: SummaryOutcome = { outcome: "failed", model: "test:model" };
const made = (text: string): SummaryOutcome => ({ outcome: "made", text, model: "test:model" });

describe("a cache of summaries", () => {
  it("forgets what was used longest ago", () => {
    const cache = createResultSummaryCache({ maxEntries: 2 });
    cache.set("a", made("1"));
    cache.set("b", made("2"));
    expect(cache.get("a")).toEqual(made("1"));
    cache.set("c", made("3"));
    expect(["a", "b", "c"].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
  });

  it("forgets a failure when it expires, and keeps a summary", () => {
    const clock = new ManualClock();
    const cache = createResultSummaryCache({ failureTtlMs: 1000, clock });
    cache.set("a", made("1"));
    cache.set("b", failed);
    clock.advance(999);
    expect(cache.get("b")).toEqual(failed);
    clock.advance(1);
    expect([cache.get("a"), cache.get("b")]).toEqual([made("1"), undefined]);
    cache.set("b", failed);
    cache.set("b", made("2"));
    clock.advance(1000);
    expect(cache.get("b")).toEqual(made("2"));
  });

  it("is bounded in characters", () => {
    const cache = createResultSummaryCache({ maxCharacters: 10 });
    cache.set("a", made("12345"));
    cache.set("b", made("12345"));
    cache.set("a", made("1234"));
    cache.set("c", made("1"));
    expect(["a", "b", "c"].map((key) => cache.get(key) !== undefined)).toEqual([true, true, true]);
    cache.set("d", made("12"));
    expect(["a", "b", "c", "d"].map((key) => cache.get(key) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    cache.set("e", made("longer than all of it"));
    expect(cache.get("e")).toBeUndefined();
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addUsage, noUsage, type Usage, usageSchema, usageSince } from "../../src/state/usage.ts";

const priced: Usage = { ...noUsage, tokens_in: 10, llm_calls: 1, cost_usd: 0.25 };
const unpriced: Usage = { ...noUsage, llm_calls: 1, cost_usd: null };

describe("the sum of usages", () => {
  it("adds up every count and the cost", () => {
    const more = { ...priced, cached_tokens: 4, tokens_out: 3, reasoning_tokens: 2, tool_calls: 1 };
    expect(addUsage(priced, more)).toEqual({
      tokens_in: 20,
      cached_tokens: 4,
      tokens_out: 3,
      reasoning_tokens: 2,
      llm_calls: 2,
      tool_calls: 1,
      cost_usd: 0.5,
    });
  });

  it.each([
    [priced, unpriced],
    [unpriced, priced],
    [unpriced, unpriced],
  ])("has an unknown cost if one of them has", (a, b) => {
    expect(addUsage(a, b).cost_usd).toBeNull();
  });

  it("reads usage of earlier versions, without the counts of cached and reasoning tokens", () => {
    const old = { tokens_in: 5, tokens_out: 1, llm_calls: 1, tool_calls: 0, cost_usd: 0.5 };
    expect(usageSchema.parse(old)).toEqual(old);
    expect(addUsage(old, old)).toEqual({
      ...noUsage,
      tokens_in: 10,
      tokens_out: 2,
      llm_calls: 2,
      cost_usd: 1,
    });
    expect(usageSince(old, addUsage(old, priced))).toEqual(priced);
  });

  it("is valid as it is stored", () => {
    const sum = addUsage(priced, unpriced);
    expect(usageSchema.parse(JSON.parse(JSON.stringify(sum)))).toEqual(sum);
  });
});

describe("the usage since a reading", () => {
  it("has a known cost after a call without a price", () => {
    const before = addUsage(priced, unpriced);
    expect(usageSince(before, addUsage(before, priced))).toEqual(priced);
  });

  it("has an unknown cost with another call without a price", () => {
    const before = addUsage(priced, unpriced);
    expect(usageSince(before, addUsage(before, unpriced)).cost_usd).toBeNull();
  });

  it("is what was added", () => {
    const count = fc.nat(1_000);
    const usage = fc.record({
      tokens_in: count,
      cached_tokens: count,
      tokens_out: count,
      reasoning_tokens: count,
      llm_calls: fc.integer({ min: 1, max: 9 }),
      tool_calls: count,
      // Sums of quarters are exact.
      cost_usd: fc.option(count.map((quarters) => quarters / 4)),
    });
    fc.assert(
      fc.property(fc.array(usage), usage, (before, added) => {
        const sum = before.reduce<Usage>(addUsage, noUsage);
        const { unpriced: _, ...since } = usageSince(sum, addUsage(sum, added));
        expect(since).toEqual(added);
      }),
    );
  });
});

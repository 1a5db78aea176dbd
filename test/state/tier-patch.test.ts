import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceTier, tierPatch } from "../../src/state/tier-patch.ts";

describe("tierPatch", () => {
  it("is nothing when no key changed", () => {
    const list = [1];
    expect(tierPatch({ list }, { list })).toBeNull();
  });

  it("lets two branches change different keys of what both read", () => {
    const before = { kept: 1, left: 1, gone: 1 };
    const left = tierPatch(before, { kept: 1, left: 2, gone: 1 });
    const right = tierPatch(before, { kept: 1, left: 1, right: 3 });
    const both = reduceTier(reduceTier(before, left), right);
    expect(both).toEqual({ kept: 1, left: 2, right: 3 });
    expect(Object.isFrozen(both)).toBe(true);
  });

  it("keeps the identity of what did not change", () => {
    const kept = { deep: [1, 2] };
    const patched = reduceTier(
      { kept, other: 1 },
      tierPatch({ kept, other: 1 }, { kept, other: 2 }),
    );
    expect((patched as { kept: unknown }).kept).toBe(kept);
  });

  it("turns any state into any other, also through JSON", () => {
    const tier = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(tier, tier, (before, after) => {
        const patch = tierPatch(before, after);
        if (patch === null) return;
        const stored: unknown = JSON.parse(JSON.stringify(patch));
        expect(JSON.parse(JSON.stringify(reduceTier(before, stored)))).toEqual(
          JSON.parse(JSON.stringify(after)),
        );
      }),
    );
  });

  it("is no patch when somebody else writes the tier whole", () => {
    expect(reduceTier({ old: 1 }, { whole: 1 })).toEqual({ whole: 1 });
  });
});

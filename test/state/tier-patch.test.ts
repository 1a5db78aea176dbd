import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepData } from "../../checkpointers/elements/revive.ts";
import { checkJson } from "../../src/state/tiers.ts";
import { reduceTier, tierPatch } from "../../src/state/tier-patch.ts";

const { serde } = new MemorySaver();

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

  it("turns any state into any other, also after it was stored", async () => {
    const tier = fc.dictionary(fc.string(), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(tier, tier, async (before, after) => {
        fc.pre(checkJson([before, after], "tiers").ok);
        const patch = tierPatch(before, after);
        if (patch === null) return;
        for (const serializer of [keepData(serde), serde]) {
          const [type, bytes] = await serializer.dumpsTyped(patch);
          const stored: unknown = await serializer.loadsTyped(type, bytes);
          expect(JSON.parse(JSON.stringify(reduceTier(before, stored)))).toEqual(
            JSON.parse(JSON.stringify(after)),
          );
        }
      }),
    );
  });

  it.each<[string, unknown]>([
    ["the key of a patch", { __tier_patch__: { set: { n: 1 }, remove: [] } }],
    ["all keys of a patch", { __tier_patch__: {}, set: { n: 1 }, remove: ["old"] }],
  ])("is not seen in a state that has %s, also after it was stored", async (_, state) => {
    const [type, bytes] = await serde.dumpsTyped(state);
    expect(reduceTier({ old: 1 }, state)).toBe(state);
    expect(reduceTier({ old: 1 }, await serde.loadsTyped(type, bytes))).toEqual(state);
  });

  it("is no patch when somebody else writes the tier whole", () => {
    expect(reduceTier({ old: 1 }, { whole: 1 })).toEqual({ whole: 1 });
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffStates, maxChanges } from "../../../src/runtime/threads/checkpoint-view.ts";

const state = fc.dictionary(
  fc.constantFrom("input", "messages", "steps", "execution", "nodes"),
  fc.jsonValue({ maxDepth: 3 }),
);
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

describe("the difference of two states", () => {
  it("tells a list that is new by its elements", () => {
    expect(diffStates({}, { steps: ["a", "b"], nodes: [] })).toMatchObject([
      { channel: "steps", kind: "added", changes: [{ text: '+2 elements at 0: "a", "b"' }] },
      { channel: "nodes", kind: "added", changes: [{ text: "added []" }] },
    ]);
    expect(diffStates({ steps: ["a"] }, {})).toMatchObject([
      { kind: "removed", changes: [{ text: '−1 element at 0: "a"' }] },
    ]);
  });

  it("names every channel that differs and no other, with a bounded number of changes", () => {
    fc.assert(
      fc.property(state, state, (before, after) => {
        const differences = diffStates(before, after);
        const named = new Set(differences.map(({ channel }) => channel));
        expect(named.size).toBe(differences.length);
        const all = [...new Set([...Object.keys(before), ...Object.keys(after)])];
        const unchanged = all.filter((channel) => same(before[channel], after[channel]));
        expect(unchanged.filter((channel) => named.has(channel))).toEqual([]);
        const comeOrGone = all.filter((channel) => !(channel in before && channel in after));
        expect(comeOrGone.filter((channel) => !named.has(channel))).toEqual([]);
        for (const { changes, omitted } of differences) {
          expect(changes.length).toBeGreaterThan(0);
          expect(changes.length).toBeLessThanOrEqual(maxChanges);
          expect(omitted === 0 || changes.length === maxChanges).toBe(true);
        }
      }),
    );
  });

  it("is none for equal states", () => {
    fc.assert(
      fc.property(state, (one) => {
        expect(diffStates(one, JSON.parse(JSON.stringify(one)) as typeof one)).toEqual([]);
      }),
    );
  });
});

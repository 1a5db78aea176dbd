import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ShortTermPolicy } from "../../../src/context/reasoning-context.ts";
import { turnsToSummarise } from "../../../src/context/summarise/turns.ts";

const hybrid: ShortTermPolicy = { strategy: "hybrid", maxTokens: 100 };

const sum = (sizes: readonly number[]) => sizes.reduce((all, size) => all + size, 0);
const history = fc
  .record({
    sizes: fc.array(fc.nat(200), { maxLength: 30 }),
    maxTokens: fc.integer({ min: 1, max: 1000 }),
    strategy: fc.constantFrom("hybrid", "summarize"),
  })
  .chain(({ sizes, ...policy }) =>
    fc.record({
      sizes: fc.constant(sizes),
      covered: fc.nat(Math.max(0, sizes.length - 1)),
      policy: fc.constant<ShortTermPolicy>(policy as ShortTermPolicy),
    }),
  );

describe("the turns that a summary has to cover", () => {
  it.each([
    { sizes: [], covered: 0, turns: null },
    { sizes: [50, 50], covered: 0, turns: null },
    { sizes: [50, 51], covered: 0, turns: 1 },
    { sizes: [20, 20, 20, 20, 21], covered: 0, turns: 3 },
    // What is covered is not told again.
    { sizes: [500, 20, 20, 20], covered: 1, turns: null },
    { sizes: [500, 40, 40, 21], covered: 1, turns: 3 },
    // The turn before is told, however long it is.
    { sizes: [101], covered: 0, turns: null },
    { sizes: [1, 300], covered: 0, turns: 1 },
    { sizes: [1, 300], covered: 1, turns: null },
  ])("of $sizes, $covered covered, are $turns", ({ sizes, covered, turns }) => {
    expect(turnsToSummarise({ sizes, covered, policy: hybrid })).toBe(turns);
  });

  it("are none under fifo", () => {
    fc.assert(
      fc.property(history, ({ sizes, covered, policy }) => {
        const fifo: ShortTermPolicy = { ...policy, strategy: "fifo" };
        expect(turnsToSummarise({ sizes, covered, policy: fifo })).toBeNull();
      }),
    );
  });

  it("are none while there is room; else more than before, and all but the last one at most", () => {
    fc.assert(
      fc.property(history, ({ sizes, covered, policy }) => {
        const { maxTokens } = policy;
        const low = 0.6 * maxTokens;
        const turns = turnsToSummarise({ sizes, covered, policy });
        const isOver = sum(sizes.slice(covered)) > maxTokens;
        expect(turns !== null).toBe(isOver && covered < sizes.length - 1);
        const told = sizes.slice(turns ?? sizes.length);
        expect(told.length === 1 || sum(told) <= low).toBe(true);
        // No more than that takes, and another call has nothing to do.
        const to = turns ?? covered;
        expect(turns === null || (to > covered && sum(sizes.slice(to - 1)) > low)).toBe(true);
        expect(turnsToSummarise({ sizes, covered: to, policy })).toBeNull();
      }),
    );
  });

  it("are never fewer as the thread grows", () => {
    fc.assert(
      fc.property(history, ({ sizes, policy }) => {
        let covered = 0;
        for (let length = 0; length <= sizes.length; length += 1) {
          const turns = turnsToSummarise({ sizes: sizes.slice(0, length), covered, policy });
          expect(turns ?? covered).toBeGreaterThanOrEqual(covered);
          covered = turns ?? covered;
        }
      }),
    );
  });
});

import { expect, it } from "vitest";
import { applyChange } from "../../src/state/tier-patch.ts";

const append = (items: readonly unknown[], later: number) =>
  ({ merge: "append", items, later }) as never;

it("appends lists of any length", () => {
  const items = Array.from({ length: 300_000 }, () => 0);
  expect(applyChange([1], append(items, 0))).toHaveLength(300_001);
});

it("appends before what later branches appended, and never after the beginning of a shorter list", () => {
  expect(applyChange([1, 2, 3], append(["a", "b"], 1))).toEqual([1, 2, "a", "b", 3]);
  expect(applyChange([1, 2], append([9], 5))).toEqual([9, 1, 2]);
  expect(applyChange([1, 2, 3, 4], append([9], 5))).toEqual([9, 1, 2, 3, 4]);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendFold } from "../../src/state/turn.ts";

interface Item {
  readonly n: number;
}

function countingSum() {
  let added = 0;
  const sum = appendFold<Item, { total: number }>(
    () => ({ total: 0 }),
    (value, { n }) => {
      added += 1;
      value.total += n;
    },
  );
  return { sum, added: () => added };
}

describe("appendFold", () => {
  it("folds only what was added", () => {
    const { sum, added } = countingSum();
    const list = Array.from({ length: 100 }, (_, n) => ({ n }));
    expect(sum(list).total).toBe(4950);
    expect(sum([...list, { n: 1 }, { n: 2 }]).total).toBe(4953);
    expect(added()).toBe(102);
  });

  it("gives the value of an empty list", () => {
    expect(countingSum().sum([])).toEqual({ total: 0 });
  });

  it("notices an element that was replaced in the middle", () => {
    const { sum } = countingSum();
    const [a, b, c] = [{ n: 1 }, { n: 2 }, { n: 3 }];
    expect(sum([a, b, c]).total).toBe(6);
    expect(sum([a, { n: 20 }, c]).total).toBe(24);
  });

  it("is what a fold of the whole list is, for lists that grow, fork and change", () => {
    const change = fc.oneof(
      { weight: 5, arbitrary: fc.record({ push: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.record({ cut: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ replace: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ back: fc.nat(20) }) },
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const { sum } = countingSum();
        const versions: (readonly Item[])[] = [[]];
        for (const one of changes) {
          const list = versions.at(-1) ?? [];
          if ("push" in one) versions.push([...list, { n: one.push }]);
          else if ("cut" in one) versions.push(list.slice(0, one.cut));
          else if ("replace" in one) {
            versions.push(list.map((item, at) => (at === one.replace ? { n: 100 } : item)));
          } else versions.push(versions[one.back % versions.length] ?? []);
          const now = versions.at(-1) ?? [];
          expect(sum(now).total).toBe(now.reduce((total, { n }) => total + n, 0));
        }
      }),
    );
  });
});

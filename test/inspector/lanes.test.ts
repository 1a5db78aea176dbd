import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { laneCount, lanesOf } from "../../web/views/checkpoints/lanes.ts";

/** Checkpoints, newest first, from pairs such as `c<b`. */
function checkpoints(text: string) {
  return text.split(" ").map((pair) => {
    const [id = "", parent = ""] = pair.split("<");
    return { id, parent_id: parent === "" ? null : parent };
  });
}

describe("lanes of checkpoints", () => {
  it("keep a thread without branches in one lane", () => {
    expect(lanesOf(checkpoints("c<b b<a a"))).toEqual([
      { lane: 0, into: [], through: [], hasParent: true, isCurrent: true },
      { lane: 0, into: [0], through: [], hasParent: true, isCurrent: true },
      { lane: 0, into: [0], through: [], hasParent: false, isCurrent: true },
    ]);
  });

  it("put an abandoned branch beside the current one until their common parent", () => {
    const rows = lanesOf(checkpoints("e<d d<a c<b b<a a"));
    expect(rows.map(({ lane, into, through }) => ({ lane, into, through }))).toEqual([
      { lane: 0, into: [], through: [] },
      { lane: 0, into: [0], through: [] },
      { lane: 1, into: [], through: [0] },
      { lane: 1, into: [1], through: [0] },
      { lane: 0, into: [0, 1], through: [] },
    ]);
    expect(rows.map(({ isCurrent }) => isCurrent)).toEqual([true, true, false, false, true]);
    expect(laneCount(rows)).toBe(2);
  });

  it("use the lane of a branch again after its end", () => {
    const rows = lanesOf(checkpoints("f<e e<c d<c c<a b<a a"));
    expect(rows.map(({ lane }) => lane)).toEqual([0, 0, 1, 0, 1, 0]);
    expect(laneCount(rows)).toBe(2);
  });

  it("leave a lane open to a parent that is not in the list", () => {
    expect(lanesOf(checkpoints("c<b")).at(-1)).toMatchObject({ hasParent: true, lane: 0 });
  });

  it("do not take the root of another branch for the current one", () => {
    const rows = lanesOf(checkpoints("b a"));
    expect(rows.map(({ lane, isCurrent }) => [lane, isCurrent])).toEqual([
      [0, true],
      [0, false],
    ]);
  });

  it("connect each checkpoint to each of its children, whatever the branches", () => {
    const trees = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(trees, (choices) => {
        const oldestFirst = choices.map((choice, index) => ({
          id: String(index),
          parent_id: index === 0 || choice % 17 === 0 ? null : String(choice % index),
        }));
        const list = oldestFirst.toReversed();
        const rows = lanesOf(list);
        const open = new Map<number, string>();
        for (const [index, { lane, into, through, hasParent, isCurrent }] of rows.entries()) {
          const { id, parent_id: parent } = list[index]!;
          const children = list.filter((one) => one.parent_id === id);
          expect(into.map((one) => open.get(one))).toEqual(children.map(() => id));
          for (const one of into) open.delete(one);
          expect(through).toEqual([...open.keys()].toSorted((a, b) => a - b));
          expect(open.has(lane)).toBe(false);
          if (parent !== null) open.set(lane, parent);
          expect(hasParent).toBe(parent !== null);
          expect(isCurrent).toBe(currentBranch(list).has(id));
        }
        expect(open.size).toBe(0);
      }),
    );
  });
});

/** Ids of the newest checkpoint and its ancestors. */
function currentBranch(list: readonly { id: string; parent_id: string | null }[]): Set<string> {
  const branch = new Set<string>();
  for (let at: string | null = list[0]?.id ?? null; at !== null;) {
    branch.add(at);
    at = list.find(({ id }) => id === at)?.parent_id ?? null;
  }
  return branch;
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinBranches, reduceBranches, type Branch } from "../../src/state/branch.ts";

function branch(id: string, over: Partial<Branch> = {}): Branch {
  const empty = { from: "", since: "2026-01-01T00:00:00.000Z", last: null, open: [], visits: {} };
  return { id, at: "a", steps: [], ...empty, ...over };
}

describe("reduceBranches", () => {
  it("gives the same branches in whatever order the nodes of a superstep write", () => {
    const before = ["1", "2", "3"].map((id) => branch(id));
    const updates = before.map(({ id }) => {
      return { leave: [id], enter: [branch(`${id}a`), branch(`${id}b`)] };
    });
    fc.assert(
      fc.property(fc.shuffledSubarray(updates, { minLength: 3 }), (shuffled) => {
        const after = shuffled.reduce<readonly Branch[]>(reduceBranches, before);
        expect(after.map(({ id }) => id).toSorted()).toEqual(["1a", "1b", "2a", "2b", "3a", "3b"]);
      }),
    );
  });

  it("keeps branches that are waiting as they are", () => {
    const waiting = branch("w");
    const after = reduceBranches([branch("1"), waiting], { leave: ["1"], enter: [] });
    expect(after).toEqual([waiting]);
    expect(after[0]).toBe(waiting);
  });

  it("begins anew with `only`", () => {
    expect(reduceBranches([branch("1")], { only: [branch("2")] })).toEqual([branch("2")]);
  });
});

describe("joinBranches", () => {
  it("puts together what the branches have behind them", () => {
    const joined = joinBranches([
      branch("1", { steps: [0, 2], visits: { a: 1, b: 3 }, since: "2026-01-01T00:00:01.000Z" }),
      branch("2", { steps: [0, 1], visits: { a: 2 }, last: "ask" }),
    ]);
    expect(joined).toEqual({
      steps: [0, 1, 2],
      visits: { a: 2, b: 3 },
      last: "ask",
      open: [],
      since: "2026-01-01T00:00:01.000Z",
    });
  });
});

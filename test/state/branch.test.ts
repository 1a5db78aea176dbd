import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { conflictOf, joinBranches, reduceBranches, type Branch } from "../../src/state/branch.ts";

function branch(id: string, over: Partial<Branch> = {}): Branch {
  const empty = {
    from: "",
    since: "2026-01-01T00:00:00.000Z",
    last: null,
    open: [],
    visits: {},
    wrote: [],
    superstep: 0,
  };
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

  it("takes the list that somebody wrote by hand, and nothing else", () => {
    expect(reduceBranches([branch("1")], [branch("2")])).toEqual([branch("2")]);
    expect(() => reduceBranches([], null as never)).toThrow(
      "The channel branches takes a list of branches. Write that with updateState, or leave it out.",
    );
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

it("joins what was rejected before branches parted once", () => {
  const rejected = (node: string, after: number) => ({ node, reason: "", after });
  const joined = joinBranches([
    branch("1", { rejections: [rejected("ask", 1), rejected("ask", 4)] }),
    branch("2", { rejections: [rejected("ask", 1), rejected("see", 2)] }),
  ]);
  expect(joined.rejections).toEqual([rejected("ask", 1), rejected("see", 2), rejected("ask", 4)]);
});

describe("conflictOf", () => {
  const sum = { wrote: ["execution.sum"], superstep: 4 };

  it("names the key that two nodes of one superstep have changed, and the nodes", () => {
    const branches = [branch("1", { from: "a", ...sum }), branch("2", { from: "b", ...sum })];
    expect(conflictOf(branches)).toEqual({ key: "execution.sum", nodes: ["a", "b"] });
  });

  it("is nothing where one saw the other's change, or one node sent out several", () => {
    const a = branch("1", { from: "a", ...sum });
    expect(conflictOf([a, branch("2", { from: "b", ...sum, superstep: 5 })])).toBeNull();
    expect(conflictOf([a, branch("2", { from: "a", ...sum })])).toBeNull();
  });
});

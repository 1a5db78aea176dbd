import { describe, expect, it } from "vitest";
import { betterOf, draftFromBest, type Candidate } from "../../../src/compile/planner/planning.ts";

const result = (answer: string, gaps: readonly string[], judged = true): Candidate => ({
  answer,
  message_id: null,
  gaps,
  judged,
});

describe("the better of two results", () => {
  it.each<[string, Candidate, Candidate, string]>([
    ["fewer gaps, the older", result("a", ["x"]), result("b", ["x", "y"]), "a"],
    ["fewer gaps, the newer", result("a", ["x", "y"]), result("b", ["x"]), "b"],
    ["as many", result("a", ["x"]), result("b", ["y"]), "b"],
    ["not judged beside gaps", result("a", ["x"]), result("b", [], false), "b"],
    ["not judged beside none", result("a", []), result("b", [], false), "a"],
    ["judged after one that was not", result("a", [], false), result("b", []), "b"],
    ["neither judged", result("a", [], false), result("b", [], false), "b"],
  ])("has %s", (_what, best, next, better) => {
    expect(betterOf(best, next).answer).toBe(better);
  });

  it("meets the criteria, does not, or nobody knows", () => {
    const met = (best: Candidate) => draftFromBest({ best })?.update.criteria_met;
    expect([
      met(result("a", [])),
      met(result("a", ["x"])),
      met(result("a", ["x"], false)),
      met(result("a", [], false)),
    ]).toEqual([true, false, false, null]);
  });
});

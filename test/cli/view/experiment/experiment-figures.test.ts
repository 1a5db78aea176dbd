import { describe, expect, it } from "vitest";
import {
  spentText,
  cyclesText,
  leftText,
  shortCount,
  tokensText,
} from "../../../../src/cli/view/experiment/experiment-lines.ts";
import { runNames, shortRunName } from "../../../../src/cli/view/experiment/experiment-block.ts";
import { runOf, usageOf } from "../experiment-runs.ts";

describe("figures of experiments", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1000, "1.0k"],
    [14_249, "14.2k"],
    [99_940, "99.9k"],
    [99_960, "100k"],
    [999_499, "999k"],
    [999_500, "1.0M"],
    [3_140_000_000, "3.1G"],
    [9e15, "9000T"],
  ])("shows %d as %s", (number, text) => {
    expect(shortCount(number)).toBe(text);
  });

  it("counts tokens of both ways, and money where there is a price", () => {
    expect(tokensText(usageOf(14_200))).toBe("14.2k tokens");
    expect(tokensText(usageOf(1))).toBe("1 token");
    expect(spentText(usageOf(1, 0.5))).toBe("$0.50");
    expect(spentText(usageOf(1))).toBe("");
    expect(spentText(usageOf(1, null))).toBe("cost unknown");
    expect(cyclesText(runOf({ cycles_done: 1200, cycle_count: 10_000 }))).toBe("1,200/10,000");
  });

  it.each([
    [null, ""],
    [0, "0 s left"],
    [1, "1 s left"],
    [59_000, "59 s left"],
    [59_001, "1 min left"],
    [3_569_000, "59 min left"],
    [3_570_000, "1 h left"],
    [7_500_000, "2 h 5 min left"],
    [86_400_000, "1 d left"],
    [273_600_000, "3 d 4 h left"],
  ])("says of %s ms what is left", (milliseconds, text) => {
    expect(leftText(milliseconds)).toBe(text);
  });
});

describe("runNames", () => {
  it("leaves out what all runs begin and end with", () => {
    expect(runNames(["a.b.x.c", "a.b.y.z.c"])).toEqual(["x", "y.z"]);
    expect(runNames(["a.b", "a.b.b"])).toEqual(["b", "b.b"]);
    expect(runNames(["a.b"])).toEqual(["a.b"]);
    expect(runNames(["a", "b"])).toEqual(["a", "b"]);
  });

  it("cuts names in the middle", () => {
    expect(shortRunName("llama3.seed-1", 13)).toBe("llama3.seed-1");
    expect(shortRunName("llama3.seed-1", 12)).toBe("llama3…eed-1");
    expect(shortRunName("llama3.seed-1", 4)).toBe("lla…");
  });
});

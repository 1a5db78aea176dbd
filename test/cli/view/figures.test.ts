import { describe, expect, it } from "vitest";
import { byteSize, dayOf, minuteOf, secondOf, timeAgo } from "../../../src/cli/view/figures.ts";

const now = new Date("2026-03-04T05:06:07.890Z");

describe("times", () => {
  it.each([
    [-5000, "0 s ago"],
    [1999, "1 s ago"],
    [59_999, "59 s ago"],
    [60_000, "1 min ago"],
    [3_599_999, "59 min ago"],
    [3_600_000, "1 h ago"],
    [86_399_999, "23 h ago"],
    [86_400_000, "1 day ago"],
    [172_800_000, "2 days ago"],
    [86_400_000 * 1234, "1,234 days ago"],
  ])("says that %i ms before now is %s", (before, said) => {
    expect(timeAgo(new Date(now.getTime() - before).toISOString(), now)).toBe(said);
  });

  it("writes days, minutes and seconds of UTC", () => {
    const at = now.toISOString();
    expect([dayOf(at), minuteOf(at), secondOf(at)]).toEqual([
      "2026-03-04",
      "2026-03-04 05:06 UTC",
      "05:06:07",
    ]);
  });
});

describe("sizes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [9_949, "9.9 kB"],
    [9_950, "10 kB"],
    [999_499, "999 kB"],
    [999_500, "1.0 MB"],
    [34_000_000, "34 MB"],
    [5_000_000_000_000_000, "5000 TB"],
  ])("writes %i bytes as %s", (bytes, text) => {
    expect(byteSize(bytes)).toBe(text);
  });
});

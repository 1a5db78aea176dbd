import { describe, expect, it } from "vitest";
import { findComparedTexts } from "../../src/expression/references.ts";

describe("comparedTexts", () => {
  it.each([
    ['a.b == "x"', [{ path: ["a", "b"], text: "x", offset: 7 }]],
    ['"x" != a["b"].c', [{ path: ["a", "b", "c"], text: "x", offset: 0 }]],
    [
      'a in ["x", 1, "y"]',
      [
        { path: ["a"], text: "x", offset: 6 },
        { path: ["a"], text: "y", offset: 14 },
      ],
    ],
    ['[1].all(i, !(a.b == "x") ? true : i > 0)', [{ path: ["a", "b"], text: "x", offset: 20 }]],
    ['has(a.b) && size(a.b == "x" ? "1" : "2") > 0', [{ path: ["a", "b"], text: "x", offset: 24 }]],
    ['a[0] == "x" || "a" == "x" || a.b() == "x" || a < "x"', []],
    ['a == "x', []],
  ])("finds in %s what is compared with a text", (source, found) => {
    expect(findComparedTexts(source)).toEqual(found);
  });
});

import { describe, expect, it } from "vitest";
import { StratagraphError } from "../../../src/errors.ts";
import {
  describeProblem,
  formatPath,
  InvalidDefinitionError,
  showFound,
} from "../../../src/definition/check/problems.ts";

describe("InvalidDefinitionError", () => {
  it("lists its problems, one a line", () => {
    const error = new InvalidDefinitionError([
      {
        path: ["name"],
        message: "expected a text",
        found: "7",
        file: "a.yaml",
        line: 2,
        column: 7,
      },
      { path: ["edges", 2, "to"], message: "no node has this name", suggestion: "answer" },
    ]);
    expect(error).toBeInstanceOf(StratagraphError);
    expect([error.name, error.code, error.kind]).toEqual([
      "InvalidDefinitionError",
      "invalid_definition",
      "usage",
    ]);
    expect(error.message).toBe(
      [
        "The agent definition has 2 problems:",
        "  a.yaml:2:7 name: expected a text (found 7)",
        '  edges[2].to: no node has this name (did you mean "answer"?)',
      ].join("\n"),
    );
  });

  it("counts one problem as one", () => {
    expect(new InvalidDefinitionError([{ path: [], message: "wrong" }]).message).toBe(
      "The agent definition has 1 problem:\n  (top level): wrong",
    );
  });

  it("lists 50 problems, counts the others, and has all as data", () => {
    const problems = Array.from({ length: 150 }, (_, index) => ({ path: [index], message: "no" }));
    const error = new InvalidDefinitionError(problems);
    expect(error.message.split("\n").slice(-2)).toEqual(["  [49]: no", "  … and 100 more"]);
    expect(error.problems).toHaveLength(150);
  });
});

describe("describeProblem", () => {
  it("gives what concerns a whole file no path", () => {
    const problem = { path: [], message: "empty", file: "a.yaml", line: 1, column: 1 };
    expect(describeProblem(problem)).toBe("a.yaml:1:1 empty");
  });

  it("shows 32 allowed values and counts the others", () => {
    const allowed = Array.from({ length: 35 }, (_, index) => `n${index}`);
    expect(describeProblem({ path: ["to"], message: "no", allowed })).toBe(
      `to: no (allowed: ${allowed.slice(0, 32).join(", ")} and 3 more)`,
    );
  });
});

describe("formatPath", () => {
  it("writes keys and indexes as code does, and quotes what is no word", () => {
    expect(formatPath(["a", "b-c", 2, "to"])).toBe("a.b-c[2].to");
    expect(formatPath(["a b", "x\u001b[31m\u202e", ""])).toBe(
      String.raw`["a b"]["x\u001b[31m\u{202e}"][""]`,
    );
  });
});

describe("showFound", () => {
  it.each([
    [undefined, "nothing"],
    [null, "null"],
    ["a\nb", String.raw`"a\nb"`],
    ["\u202eabc", String.raw`"\u{202e}abc"`],
    ["x".repeat(100), `"${"x".repeat(57)}…"`],
    [true, "true"],
    [-0.5, "-0.5"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [10n, "10"],
    [[], "an empty list"],
    [[1], "a list"],
    [{}, "an empty map"],
    [{ a: 1 }, "a map"],
  ])("shows %o as %s", (value, shown) => {
    expect(showFound(value)).toBe(shown);
  });
});

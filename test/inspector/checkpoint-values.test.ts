import { describe, expect, it } from "vitest";
import { joinPath, valueAt } from "../../web/views/checkpoints/json-path.ts";
import { searchJson } from "../../web/views/checkpoints/search-json.ts";
import { diffTexts } from "../../web/views/checkpoints/text-diff.ts";

describe("paths of differences", () => {
  const value = {
    notes: [{ title: "One" }, { title: "Two" }],
    "a b": { c: 1 },
    tools: [
      { name: "search", calls: 2 },
      { name: "0", calls: 3 },
    ],
  };

  it("lead to keys, elements and elements by name", () => {
    expect(valueAt(value, "notes[1].title")).toBe("Two");
    expect(valueAt(value, '["a b"].c')).toBe(1);
    expect(valueAt(value, "tools[search].calls")).toBe(2);
    expect(valueAt(value, "")).toBe(value);
    expect(joinPath(joinPath("notes", 1), "title")).toBe("notes[1].title");
    expect(joinPath("", "a b")).toBe('["a b"]');
  });

  it("lead nowhere if they were cut, are unknown, may mean two elements, or name what objects inherit", () => {
    for (const path of [
      "…title",
      "notes[7]",
      "notes[x",
      "tools[0].calls",
      "constructor",
      "notes.0",
    ])
      expect([path, valueAt(value, path)]).toEqual([path, undefined]);
  });
});

describe("a search in a state", () => {
  it("finds keys and values without regard to case, in order, with what is around", () => {
    const text = `${"x".repeat(60)}Peanut${"y".repeat(60)}`;
    expect(searchJson({ peanuts: 1, list: [{ note: text }], none: null }, "PEANUT")).toEqual([
      { path: "peanuts", part: "key", snippet: ["", "peanut", "s"] },
      {
        path: "list[0].note",
        part: "value",
        snippet: [`…${"x".repeat(40)}`, "Peanut", `${"y".repeat(40)}…`],
      },
    ]);
  });

  it("stops at its limit, and finds nothing for no text", () => {
    const many = Array.from({ length: 1_000 }, () => "same");
    expect(searchJson(many, "same", { limit: 3 }).map(({ path }) => path)).toEqual([
      "[0]",
      "[1]",
      "[2]",
    ]);
    expect(searchJson(many, "")).toEqual([]);
  });
});

describe("differences of texts", () => {
  it("are words of a line, with what is around them", () => {
    const parts = diffTexts(`${"a ".repeat(100)}red end`, `${"a ".repeat(100)}green end`);
    expect(parts?.map(({ kind }) => kind)).toEqual(["omitted", "same", "removed", "added", "same"]);
    expect(parts?.filter(({ kind }) => kind !== "same" && kind !== "omitted")).toEqual([
      { kind: "removed", text: "red" },
      { kind: "added", text: "green" },
    ]);
  });

  it("are lines of a text, and say how many equal ones are left out", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    const parts = diffTexts(lines.join("\n"), lines.with(15, "other").join("\n"));
    expect(parts).toEqual([
      { kind: "omitted", text: "… 12 equal lines\n" },
      { kind: "same", text: "line 12\nline 13\nline 14\n" },
      { kind: "removed", text: "line 15\n" },
      { kind: "added", text: "other\n" },
      { kind: "same", text: "line 16\nline 17\nline 18\n" },
      { kind: "omitted", text: "… 11 equal lines\n" },
    ]);
  });
});

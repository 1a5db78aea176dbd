import { describe, expect, it } from "vitest";
import { itemText } from "../../src/memory/item-text.ts";

const value = {
  title: "Boats",
  pages: 12,
  authors: [{ name: "Ada" }, { name: "Bo" }],
  meta: { city: "Bern", tags: ["old", "rare"], none: null },
};

describe("the text of an item", () => {
  it.each<[readonly string[], string]>([
    [["title"], "Boats"],
    [["pages"], "12"],
    [["authors[*].name"], "Ada\nBo"],
    [["authors[0].name"], "Ada"],
    [["authors[-1].name"], "Bo"],
    [["authors[7].name"], "…"],
    [["authors[x]"], "…"],
    [["meta.city"], "Bern"],
    [["meta.{city,tags[0]}"], "Bern\nold"],
    [["meta"], "city: Bern\ntags: old\ntags: rare"],
    [["authors.*.name"], "Ada\nBo"],
    [["*.city"], "Bern"],
    [["meta.none"], "…"],
    [
      ["", "unknown"],
      "title: Boats\npages: 12\nname: Ada\nname: Bo\ncity: Bern\ntags: old\ntags: rare",
    ],
    [["title", "meta.tags"], "Boats\nold\nrare"],
    [["unknown", "title.length", "constructor.name", "__proto__"], "…"],
    [[], "…"],
    [["$.title"], "Boats"],
    [[".", "[", "{", "]", "{}", "[]"], "…"],
  ])("of %j is %j", (paths, text) => {
    expect(itemText(value, paths)).toBe(text);
  });

  it("is all of it by default, without the key of a single one", () => {
    expect(itemText({ a: 1, b: { c: true } }, undefined)).toBe("a: 1\nc: true");
    expect(itemText({ text: "Eats no fish" }, null)).toBe("Eats no fish");
    expect(itemText({}, undefined)).toBe("…");
  });

  it("is a text without words where there is no index", () => {
    expect(itemText(value, false)).toBe("…");
  });

  it("is bounded, and can be stored", () => {
    expect(itemText({ text: "x".repeat(100_000) }, ["text", "text"])).toHaveLength(32_768);
    expect(itemText({ text: "a\0b\uD800c" }, undefined)).toBe("a\uFFFDb\uFFFDc");
    let deep: unknown = "end";
    for (let at = 0; at < 5_000; at += 1) deep = { deep };
    expect(itemText({ deep }, undefined)).toBe("…");
  });
});

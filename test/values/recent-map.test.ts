import { describe, expect, it } from "vitest";
import { RecentMap } from "../../src/values/recent-map.ts";

/** The keys of a map that it holds. Reads none of them through `get`, which would make it the last one used. */
const held = (map: RecentMap<string, string>, keys: string) =>
  keys
    .split("")
    .filter((key) => map.get(key) !== undefined)
    .join("");

describe("a map of the values that were used last", () => {
  it("holds as many as it may, and forgets the one that was used longest ago", () => {
    const map = new RecentMap<string, string>(2);
    map.set("a", "1");
    map.set("b", "2");
    expect(map.get("a")).toBe("1");
    map.set("c", "3");
    expect(held(map, "abc")).toBe("ac");
  });

  it("holds values up to a weight, and one that is heavier by itself", () => {
    const map = new RecentMap<string, string>(10, 100);
    map.set("a", "1", 40);
    map.set("b", "2", 40);
    map.set("c", "3", 40);
    expect(held(map, "abc")).toBe("bc");
    map.set("d", "4", 500);
    expect(held(map, "abcd")).toBe("d");
    map.set("e", "5", 60);
    expect(held(map, "abcde")).toBe("e");
  });

  it("counts the weight of a value that is replaced or deleted no more", () => {
    const map = new RecentMap<string, string>(10, 100);
    map.set("a", "1", 90);
    map.set("a", "2", 10);
    map.set("b", "3", 80);
    map.delete("b");
    map.set("c", "4", 90);
    expect(held(map, "abc")).toBe("ac");
  });
});

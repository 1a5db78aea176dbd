import { describe, expect, it } from "vitest";
import { nearestName } from "../src/nearest-name.ts";

describe("nearestName", () => {
  it.each([
    ["calculater", ["calculator", "calendar"], "calculator"],
    ["Read_File", ["read_file", "read_files"], "read_file"],
    ["sqr", ["sin", "sqrt"], "sqrt"],
    ["weather", ["calculator", "read_file"], undefined],
    ["x", ["y"], undefined],
    ["", ["a"], undefined],
    ["anything", [], undefined],
  ])("takes %s, of %j, for %s", (name, known, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it("compares long names by their beginning", () => {
    expect(nearestName("a".repeat(100_000), ["a".repeat(100_000)])).toBe("a".repeat(100_000));
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocateCharacters } from "../../../src/context/summarise/running-summary.ts";

describe("texts that share a room", () => {
  it("stay as they are where they fit", () => {
    const texts = ["a".repeat(300), "b"];
    expect(allocateCharacters(texts, 400)).toEqual(texts);
  });

  it("lose the end of the longest ones first", () => {
    const [long, short] = allocateCharacters(["a".repeat(5000), "b".repeat(300)], 1000);
    expect(short).toBe("b".repeat(300));
    expect(long).toBe(`${"a".repeat(620)}… [cut: 4,380 more characters]`);
  });

  it("are left out from the front where there would be too little of each", () => {
    const texts = ["one", "two", "three", "four"];
    expect(allocateCharacters(texts, 330)).toEqual(["three", "four"]);
    expect(allocateCharacters(texts, 100)).toEqual([]);
  });

  it("never have more than the room", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(3000).map((length) => "x".repeat(length))),
        fc.nat(10_000),
        (texts, characters) => {
          const told = allocateCharacters(texts, characters);
          expect(told.join("").length).toBeLessThanOrEqual(characters);
          expect(told.length).toBe(Math.min(texts.length, Math.floor(characters / 160)));
        },
      ),
    );
  });
});

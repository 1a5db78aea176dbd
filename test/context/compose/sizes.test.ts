import { expect, it } from "vitest";
import { lineTokens } from "../../../src/context/compose/sizes.ts";

/** Two fill the bound on what is remembered of lines; a third is too much. */
const long = (letter: string): string => letter.repeat(2_000_000);

it("counts a line once, and again when longer lines than are remembered came between", () => {
  const counted: string[] = [];
  const count = (text: string): number => {
    counted.push(text.slice(0, 1));
    return text.length;
  };
  for (const letter of ["a", "b", "a", "c", "a"]) lineTokens(long(letter), count);
  expect(counted).toEqual(["a", "b", "c", "a"]);
});

import { expect, it } from "vitest";
import { quoteExpression } from "../../src/expression/problem.ts";

it.each<[string, number, string]>([
  ['nodes.clasify.choice == "x"', 6, `'nodes.clasify.choice == "x"' at character 7`],
  ["", 0, "'' at character 1"],
  ["abc", 99, "'abc' at character 4"],
  ["abc", -1, "'abc' at character 1"],
  ["a\nb\tc\u001b[31m\u202e", 2, String.raw`'a\nb\tc\u{1b}[31m\u{202e}' at character 3`],
  ["x".repeat(200), 0, `'${"x".repeat(60)}…' at character 1`],
  ["x".repeat(200), 100, `'…${"x".repeat(120)}…' at character 101`],
  ["x".repeat(200), 200, `'…${"x".repeat(60)}' at character 201`],
  [
    `${"😀".repeat(30)}x${"😀".repeat(31)}`,
    60,
    `'${"😀".repeat(30)}x${"😀".repeat(29)}…' at character 61`,
  ],
])("quotes %j at %i", (source, offset, quoted) => {
  expect(quoteExpression(source, offset)).toBe(quoted);
});

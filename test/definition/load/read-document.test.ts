import { expect, it } from "vitest";
import { parseDefinition } from "../../../src/definition/load/parse-definition.ts";
import { describeProblem, InvalidDefinitionError } from "../../../src/definition/check/problems.ts";

it.each([
  ['{"name": "a",}', "a.json:1:14 JSON syntax: Expected double-quoted property name"],
  ['{\n "name": a}', "a.json:2:10 JSON syntax: Unexpected token 'a'"],
  ["name: a", "a.json:1:2 JSON syntax: Unexpected token 'a'"],
  ['{"name": "a"', "a.json:1:13 JSON syntax: "],
])("refuses %j in a .json file, with its place", async (text, problem) => {
  const error = await parseDefinition(text, "a.json").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidDefinitionError);
  const [first, ...others] = (error as InvalidDefinitionError).problems.map(describeProblem);
  expect(others).toEqual([]);
  expect(first?.slice(0, problem.length)).toBe(problem);
});

it("reads JSON with tabs, escapes and a byte order mark", async () => {
  const text = '\uFEFF{\n\t"name": "a",\n\t"description": "\\ud83d\\ude00 a\\/b"\n}';
  const { spec } = await parseDefinition(text, "a.json");
  expect(spec.description).toBe("😀 a/b");
});

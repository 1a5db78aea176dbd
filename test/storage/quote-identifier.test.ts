import fc from "fast-check";
import { expect, test } from "vitest";
import { InvalidIdentifierError, quoteIdentifier } from "../../src/storage/pool.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("pglite");

test.each([
  ["public", '"public"'],
  ["Tenant 1", '"Tenant 1"'],
  ['a"; drop table t; --', '"a""; drop table t; --"'],
])("quotes %j as %s", (name, quoted) => {
  expect(quoteIdentifier(name)).toBe(quoted);
});

test("refuses a name that Postgres would refuse, or cut off", () => {
  for (const name of ["", "a\0b", "x".repeat(64), "é".repeat(32)])
    expect(() => quoteIdentifier(name)).toThrow(InvalidIdentifierError);
  expect(quoteIdentifier("é".repeat(31))).toBe(`"${"é".repeat(31)}"`);
});

test("names a column by any other text", async () => {
  const name = fc
    .string({ unit: anyCharacter, minLength: 1, maxLength: 15 })
    .filter((text) => !text.includes("\0"));
  await fc.assert(
    fc.asyncProperty(name, async (text) => {
      const { rows } = await database.shared.pool.query(`select 1 as ${quoteIdentifier(text)}`);
      expect(Object.keys(rows[0]!)).toEqual([text]);
    }),
    { numRuns: 50 },
  );
});

import { NotationWriter } from "./notation-writer.ts";

/** Shorter JSON than this is given as it is. */
const smallJson = 80;

/** Below this share of the JSON's characters the notation is worth its being less usual. */
const worthwhile = 0.9;

/**
 * A JSON value in fewer tokens than JSON has, and without loss: `readNotation` reads it back. Keys and strings are bare
 * where that is unambiguous; alike objects are a table, whose columns come first, those that are the same in all rows
 * with their value:
 *
 *     {id:R1, flights:[number,date,seats{economy,business},status=open; HAT1,2024-05-17,3,9; HAT2,2024-05-18,,1]}
 *
 * The rows of a long table are on lines of their own. `{*,name; a1,Ann; b2,Bob}` is an object of alike objects, `*` its
 * keys; `[a,b;; 1,2; 3,4;; 5,6]` is a list of lists. An empty cell is a missing key. After Token-Oriented Object Notation
 * (TOON). A string is returned as it is; small values, and those that would hardly be shorter, are plain JSON. Tables make
 * it 79 % of JSON's tokens for the results of a customer service's tools.
 * @throws TypeError where `JSON.stringify` does: for cycles and big integers.
 */
export function compactNotation(value: unknown): string {
  if (typeof value === "string") return value;
  const json = JSON.stringify(value) ?? "null";
  if (json.length < smallJson) return json;
  const writer = new NotationWriter();
  const text = writer.write(JSON.parse(json));
  return writer.isTooDeep || text.length > worthwhile * json.length ? json : text;
}

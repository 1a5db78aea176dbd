import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanText } from "../../../src/context/clean-text.ts";
import { compactNotation } from "../../../src/context/notation.ts";
import { canonicalJson } from "../../../src/values/json.ts";
import { outcome, readNotation } from "../../../src/models/offline/notation.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const awkward = [
  ...'true|null|007|7|-1.5e3|0x1F| a|a | |a, b|a: b|a:b|a=b|a;b|a; b|*|{|}|[x]|"|\\|__proto__|constructor'.split(
    "|",
  ),
  ..."12:30:00|2024-05-17|… 47 more items|https://x.org/?a=b&c=d|ünï 😀|'|#|-|a|b|id".split("|"),
  "",
  "a\nb",
  "\n",
  "\t",
  "\r\n",
  "\u0000",
  "\u0085",
  "\u2028",
  "\ud83d",
  "|",
  "a\u00a0",
];
const anyText = fc.oneof(
  fc.constantFrom(...awkward),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
);
const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("id", "name", "price", "seats") },
  { weight: 1, arbitrary: anyText },
);

/** Values as tools give them: lists and dictionaries of objects that are more or less alike. */
const alike = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.oneof(anyText, fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4 }),
    rows(tie("value")),
    fc.tuple(rows(tie("value")), anyText).map(([some, rest]) => [...some, rest]),
    fc.array(rows(tie("value")), { maxLength: 3 }),
    fc.tuple(rows(tie("value")), rows(tie("value")), anyText),
    fc.dictionary(key, fc.record({ id: anyText, n: fc.nat(2) }, { requiredKeys: ["n"] })),
    fc.record({ id: anyText, inner: rows(tie("value")) }),
  ),
})).value;

function rows(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>[]> {
  return fc.uniqueArray(key, { minLength: 1, maxLength: 4 }).chain((keys) =>
    fc
      .record(
        { same: anyText, cells: fc.array(fc.array(fc.option(value, { freq: 4, nil: undefined }))) },
        { requiredKeys: ["cells"] },
      )
      .map(({ same, cells }) =>
        cells.map((row) => {
          const entries = keys.map((name, i) => [name, row[i]] as const);
          const kept = entries.filter(([, own]) => own !== undefined);
          return Object.fromEntries(same === undefined ? kept : [...kept, ["same", same]]);
        }),
      ),
  );
}

/** Beyond the size under which JSON is kept, and with enough to save. */
function padded(value: unknown): unknown {
  return { alike: Array.from({ length: 12 }, (_, id) => ({ id, same: "a b" })), value };
}

describe("readNotation", () => {
  it("reads what compactNotation wrote, whatever it was", () => {
    fc.assert(
      fc.property(fc.oneof(alike, fc.jsonValue()), (value) => {
        for (const one of [padded(value), [padded(value), padded(value)], { value }]) {
          const whole = canonicalJson(JSON.parse(JSON.stringify(one)));
          const written = compactNotation(one);
          expect(canonicalJson(readNotation(written))).toBe(whole);
          expect(canonicalJson(readNotation(cleanText(written)))).toBe(whole);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("reads tables with columns that are the same in all rows, groups and empty cells", () => {
    const text = '[id,seats{economy,business},tags,status=open; A1,3,9,[x,"7"]; B2,0,1,]';
    expect(readNotation(text)).toEqual([
      { id: "A1", seats: { economy: 3, business: 9 }, tags: ["x", "7"], status: "open" },
      { id: "B2", seats: { economy: 0, business: 1 }, status: "open" },
    ]);
  });

  it("reads dictionaries, lists of lists and what stands for further rows", () => {
    const text =
      "{a:{*,n,s; x,1,no; y,2,yes; …,7 more keys}, b:[p,q;; 1,2;; 3,4; 5,6], c:[p,q\n1,2\n… 9 more items]}";
    expect(readNotation(text)).toEqual({
      a: { x: { n: 1, s: "no" }, y: { n: 2, s: "yes" }, "…": "7 more keys" },
      b: [
        [{ p: 1, q: 2 }],
        [
          { p: 3, q: 4 },
          { p: 5, q: 6 },
        ],
      ],
      c: [{ p: 1, q: 2 }, "… 9 more items"],
    });
  });

  it("reads JSON, with space or without", () => {
    expect(readNotation(' { "a": [1, "b; c"] }\n')).toEqual({ a: [1, "b; c"] });
    expect(readNotation("4.50")).toBe(4.5);
  });

  it.each([
    "Error: not found",
    "[truncated]",
    "[base64, 48,200 chars]",
    "[INFO] started",
    "{not closed:1",
    "[a,b; 1]}",
    "[a,b; 1,2,3]",
    "{a:1; b:2}",
    '{"a": 1, "b": ',
    "",
    "a:1, b:2",
  ])("leaves %j as it is", (text) => {
    expect(readNotation(text)).toBe(text);
  });

  it("never throws, whatever the text", () => {
    const part = fc.constantFrom(...'[]{};,:=*"\\ \n…a1'.split(""), "; ", ", ", ";; ", "{*,");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        expect(() => readNotation(`[${parts.join("")}`)).not.toThrow();
      }),
      { numRuns: 2000 },
    );
    expect(readNotation("[a{".repeat(100_000))).toBe("[a{".repeat(100_000));
    expect(readNotation("[".repeat(100_000))).toBe("[".repeat(100_000));
  });
});

it("gives the offline model the value of a result, without what a preview says besides", () => {
  const made = { name: "find", args: {}, failed: false };
  const value = {
    orders: [
      { id: "W-1", total: 2 },
      { id: "W-2", total: 3 },
    ],
  };
  expect(outcome({ ...made, text: "{orders:[id,total; W-1,2; W-2,3]}" }).value).toEqual(value);
  expect(
    outcome({ ...made, text: "{orders:[id,total; W-1,2; W-2,3]}\nalso in it: W-3" }).value,
  ).toEqual(value);
  expect(outcome({ ...made, text: "[INFO] started" }).value).toBeUndefined();
});

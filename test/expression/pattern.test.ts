import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linearPattern } from "../../src/expression/pattern.ts";

function compiled(pattern: string) {
  const made = linearPattern(pattern);
  if (!made.ok) throw new TypeError(made.problem);
  return made.value;
}

function problemOf(pattern: string): string | undefined {
  const made = linearPattern(pattern);
  return made.ok ? undefined : made.problem;
}

describe("linearPattern", () => {
  it.each([
    ["^(a+)+$", `${"a".repeat(5_000)}!`],
    ["^(a|a)*$", `${"a".repeat(5_000)}!`],
    ["^(?:.*,){40}z", "1,".repeat(5_000)],
    ["(x+x+)+y", "x".repeat(5_000)],
  ])("matches %s without backtracking", (pattern, text) => {
    expect(compiled(pattern).test(text)).toBe(false);
  });

  it.each([
    String.raw`^\d{4}-[0-1]\d$`,
    String.raw`^\s\S$`,
    String.raw`^[\s\d]+$`,
    String.raw`^[^\S\d]$`,
    String.raw`^[\w-.]+$`,
    String.raw`[a\-z]`,
    String.raw`[[:alpha:]]`,
    String.raw`[\]\\^]`,
    String.raw`[\b]`,
    String.raw`\ba\b`,
    String.raw`a\B`,
    String.raw`^\/\-\.\@$`,
    String.raw`\u0041\x42\cJ\0`,
    String.raw`^\u{1F600}$`,
    String.raw`^\uD83D\uDE00$`,
    String.raw`^[\uD83D\uDE00-\uD83D\uDE4F]$`,
    String.raw`^\p{Lu}\P{L}$`,
    String.raw`^\p{Script=Greek}\p{Letter}$`,
    String.raw`^.$`,
    String.raw`^[^]$`,
    String.raw`[]`,
    String.raw`(?<year>\d+)-(?<month>\d+)`,
    String.raw`^a{2,3}?b{0}c{1,}$`,
    String.raw`^(?:a|b|)$`,
    String.raw`a$|^b`,
    String.raw`^é😀?$`,
  ])("matches what JavaScript matches: %s", (pattern) => {
    const native = new RegExp(pattern, isForUnicode(pattern) ? "u" : "");
    const linear = compiled(pattern);
    const characters = "aAbBcz019_-.:/\\^]@[, \t\n\r\u2028\u00a0\ufeff\u0008\u0000éΑλЖ😀😁".split(
      /(?:)/u,
    );
    const text = fc.oneof(
      fc.constantFrom("2024-07", "/-.@", "AB\n\0", "Α1", "λλ", "aabbcc", "12-3"),
      fc.array(fc.constantFrom(...characters), { maxLength: 5 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, (one) => {
        expect([one, linear.test(one)]).toEqual([one, native.test(one)]);
      }),
      { numRuns: 300 },
    );
  });

  it("takes braces and brackets that stand for themselves", () => {
    expect(compiled("^a{x}]$").test("a{x}]")).toBe(true);
    expect(compiled("^a{,2}$").test("a{,2}")).toBe(true);
    expect(compiled("^a{,2}$").test("aa")).toBe(false);
  });

  it.each([
    ["^(?=.*a)", 'a lookahead "(?="'],
    ["(?!a)", 'a lookahead "(?!"'],
    ["(?<=a)b", 'a lookbehind "(?<="'],
    ["(?<!a)b", 'a lookbehind "(?<!"'],
    [String.raw`(a)\1`, String.raw`the backreference "\1"`],
    [String.raw`(?<n>a)\k<n>`, String.raw`the backreference "\k"`],
    [String.raw`\Aa\z`, String.raw`the escape "\A"`],
    [String.raw`\00`, String.raw`the octal escape "\00"`],
    [String.raw`[\uD800-\uDBFF]`, String.raw`half of a surrogate pair, \ud800`],
    [String.raw`\p{Emoji}`, "invalid character class range: `\\p{Emoji}`"],
    ["a{1001}", "invalid repeat count: `{1001}`"],
  ])("refuses %s by its part", (pattern, part) => {
    expect(problemOf(pattern)).toBe(
      `the regular expression cannot be matched in linear time: it has ${part}`,
    );
  });

  it("refuses what is no regular expression", () => {
    expect(problemOf("(")).toBe(
      "not a regular expression: Invalid regular expression: /(/: Unterminated group",
    );
  });

  it("refuses what would make each character costly", () => {
    expect(problemOf("a".repeat(1001))).toBe(
      "the regular expression is longer than 1000 characters",
    );
    expect(problemOf("(?:a{900}|b{900}){2}")).toBe(
      "the regular expression repeats more than 2000 parts",
    );
    expect(compiled("^a{3}$").size).toBe(7);
  });
});

function isForUnicode(pattern: string): boolean {
  return /\\p|\\P|\\u|[😀]|\[\^\]|\^\.\$|\\S/u.test(pattern);
}

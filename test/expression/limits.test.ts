import { expect, it } from "vitest";
import { ExpressionError } from "../../src/expression/problem.ts";
import { compileTemplate } from "../../src/expression/template.ts";
import { evaluate, problemsOf, scope } from "./helpers.ts";

const execution = {
  big: Array.from({ length: 2000 }, (_, index) => index),
  long: "a".repeat(1_000_000),
  half: "a".repeat(400_000),
};

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

it.each<[string, string, string]>([
  [
    "long sources",
    `${"1 + ".repeat(1000)}11`,
    "4000: the expression is longer than 4000 characters",
  ],
  [
    "nested brackets",
    `${"(".repeat(33)}1${")".repeat(33)}`,
    "32: brackets are nested more than 32 deep",
  ],
  [
    "nested lists",
    `${"[".repeat(400)}1${"]".repeat(400)}`,
    "32: brackets are nested more than 32 deep",
  ],
  ["unclosed brackets", "[".repeat(4000), "32: brackets are nested more than 32 deep"],
  ["deep trees", `input${".a".repeat(1900)}`, "3403: the expression is too large"],
  ["long sums", `${"1+".repeat(1900)}1`, "3399: the expression is too large"],
  ["long ternaries", `${"true?1:".repeat(500)}1`, "1393: the expression is too large"],
  ["nested ternaries", `${"(true?".repeat(32)}1${":1)".repeat(32)} x`, '290: unexpected "x"'],
  ["many nodes", `[${"1,".repeat(1000)}1]`, "1999: the expression is too large"],
  [
    "nested comprehensions",
    "input.all(a, input.all(b, input.all(c, input.all(d, true))))",
    "44: all, exists, map and filter are nested more than 3 deep",
  ],
  [
    "long regular expressions",
    `status.matches('${"a".repeat(1001)}')`,
    "15: the regular expression is longer than 1000 characters",
  ],
])("refuses %s", (_, source, problem) => {
  expect(problemsOf(source)).toEqual([problem]);
});

it.each<[string, string]>([
  ["a comprehension in a comprehension", "execution.big.all(a, execution.big.all(b, a + b >= 0))"],
  ["three of them", "execution.big.all(a, execution.big.all(b, execution.big.all(c, true)))"],
  ["hidden by ||", "execution.big.all(a, execution.big.all(b, a + b >= 0)) || true"],
  [
    "hidden by && in each",
    "execution.big.exists(a, execution.big.all(b, execution.big == execution.big) && false)",
  ],
  ["large lists compared", "execution.big.all(a, execution.big == execution.big)"],
  ["large lists searched", "execution.big.all(a, !(-1 in execution.big))"],
  ["long strings handled", "execution.big.all(a, execution.long.contains('b') || a >= 0)"],
  ["long strings matched", "execution.big.all(a, execution.long.matches('b$') || a >= 0)"],
  ["long strings compared", "execution.big.all(a, execution.long == execution.long)"],
  ["lists made", "execution.big.map(a, execution.big.map(b, [a, b]))"],
  ["a list made of lists", "[0].map(a, execution.big.map(b, execution.big).map(c, c.map(d, d)))"],
])("ends work without end: %s", (_, source) => {
  // Evaluated once: the lists that it makes fill a tenth of the heap.
  const thrown = thrownBy(() => evaluate(source, { execution }));
  expect(thrown).toBeInstanceOf(ExpressionError);
  expect(String(thrown)).toContain("this takes more than 500000 steps");
});

it.each<[string, string]>([
  ["added up", "execution.long + 'a'"],
  ["doubled", "[execution.long].map(a, a + a)"],
  [
    "joined",
    "execution.big.map(a, 'abcdefghi').map(a, a + a.replace('a', 'aaaaaaaaaaaaaaaaaaaaaa')).map(a, a.replace('a', 'abcdefghijklmnopqrstuvwxyz')).join(', ')",
  ],
  ["replaced", "execution.half.replace('a', 'bbb')"],
])("ends strings without end: %s", (_, source) => {
  const run = () => evaluate(source, { execution });
  expect(run).toThrow(ExpressionError);
  expect(run).toThrow("this makes a string of more than 1000000 characters");
});

it("bounds the text of a template before it is made", () => {
  const template = compileTemplate("all: ${[execution, execution]} ${execution.big}", scope);
  expect(() => template.ok && template.value.render({ execution })).toThrow(
    "Cannot evaluate '[execution, execution]' at character 1: the text would have more than 1000000 characters with this.",
  );
});

it.each([
  ["^(a+)+$", "a".repeat(50_000) + "!"],
  ["^(a|aa)+$", "a".repeat(50_000) + "!"],
  ["(.*a){20}b", "a".repeat(20_000)],
  ["(a?){30}a{30}", "a".repeat(29)],
  ["((a{0,30}){0,30})b", "a".repeat(20_000)],
])("does not backtrack for %s", (pattern, text) => {
  // A matcher that backtracks would not end: the first two alone are 2 to the power of 50,000 ways.
  const input = { text, pattern };
  expect(evaluate("input.text.matches(input.pattern)", { input })).toBe(false);
});

it("refuses a regular expression that grows too large", () => {
  const pattern = "((a{1,1000}){1,1000}){1,1000}";
  expect(() => evaluate("'a'.matches(input)", { input: pattern })).toThrow(
    "the regular expression is not valid: invalid repeat count",
  );
  expect(() => evaluate("'a'.matches(input)", { input: "a".repeat(1001) })).toThrow(
    "the regular expression is longer than 1000 characters",
  );
});

it("reads large values at the cost of what is read", () => {
  const rows = Array.from({ length: 300_000 }, (_, id) => ({ id, tags: ["a", "b"] }));
  let reads = 0;
  const counted = new Proxy(rows, {
    get(target, key, receiver) {
      reads += 1;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  const source = "size(execution.rows) > 2 && execution.rows[299999].id == 299999";
  expect(evaluate(source, { execution: { rows: counted } })).toBe(true);
  expect(reads).toBeLessThan(100);
});

it("goes through 100,000 items", () => {
  const rows = Array.from({ length: 100_000 }, (_, id) => ({ id }));
  expect(evaluate("execution.exists(row, row.id == 99999)", { execution: rows })).toBe(true);
  expect(evaluate("execution.map(row, row.id)[99999]", { execution: rows })).toBe(99_999);
});

it("survives values that are nested too deeply to go through", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  expect(evaluate("execution", { execution: deep })).toBe(deep);
  expect(() => evaluate("execution == input", { execution: deep, input: [[deep]] })).toThrow(
    ExpressionError,
  );
  const template = compileTemplate("text ${execution}", scope);
  expect(() => template.ok && template.value.render({ execution: deep })).toThrow(
    "Cannot evaluate 'execution' at character 1: this cannot be written as JSON.",
  );
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calculator } from "../../../src/tools/builtins/calculator.ts";
import { callBuiltin } from "../../helpers/builtin-call.ts";

const calculate = (expression: string) => callBuiltin(calculator, { expression });

describe("calculator", () => {
  it.each<[string, number | string]>([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 2 - 3", 5],
    ["2^3^2", 512],
    ["-2^2", -4],
    ["2^-1", 0.5],
    ["2 ** 3", 8],
    ["2 × 6 ÷ 4 − 1", 2],
    ["--3", 3],
    ["7 / 2", 3.5],
    ["0.1 + 0.2", 0.3],
    [".5 + 1.", 1.5],
    ["1.5e3", 1500],
    ["10 % 3", 1],
    ["-7 % 3", -1],
    ["10 % -3", 1],
    ["17.5% of 2340", 409.5],
    ["50%", 0.5],
    ["5% + 3%", 0.08],
    ["10% - 3", -2.9],
    ["100 * (1 + 20%)", 120],
    ["50% of 10% of 200", 10],
    ["20% of 50 + 1", 11],
    ["sqrt(16) + abs(-2)", 6],
    ["round(2.5) + round(-2.5)", 0],
    ["round(1.005, 2)", 1.01],
    ["round(1234, -2)", 1200],
    ["min(3, 1, 2) + max(3, 1, 2)", 4],
    ["floor(-1.5) + ceil(1.2) + trunc(-1.9)", -1],
    ["log(1000) + log(8, 2) + ln(e)", 7],
    ["sin(pi / 6)", 0.5],
    ["SQRT(4)", 2],
    ["mod(10, 4) + pow(2, 5)", 34],
    ["123456789 * 987654321", "121932631112635269"],
    ["2^64 - 2^64 + 1", 1],
    ["sqrt(2^64)", 4294967296],
    ["10^30 / 10^28", 100],
    ["-(2^60)", "-1152921504606846976"],
    ["1e300 * 1e-300", 1],
    ["0 * -1.5", 0],
  ])("computes %s", async (expression, result) => {
    expect(await calculate(expression)).toEqual({
      outcome: "success",
      result: { result },
      error: "",
    });
  });

  it.each([
    ["1 / 0", "Division by zero."],
    ["1 % 0", "Division by zero: a remainder of division by 0."],
    ["0 ^ -1", "Division by zero: 0 to a negative power."],
    ["sqrt(-1)", "The result is not a real number."],
    ["ln(0)", "The result is not finite: numbers go up to about 1.8e308."],
    ["10^5000", "The result is not finite: numbers go up to about 1.8e308."],
    ["9^9^9^9", "The result is not finite: numbers go up to about 1.8e308."],
    ["1e999", "The result is not finite: numbers go up to about 1.8e308."],
  ])("fails at %s", async (expression, error) => {
    expect(await calculate(expression)).toEqual({ outcome: "failure", result: null, error });
  });

  it.each([
    ["1 +", "position 4: expected a number and found the end"],
    ["(1 + 2", 'position 7: expected ")" and found the end'],
    ["1 2", 'position 3: expected an operator and found "2"'],
    ["2(3)", 'position 2: expected an operator and found "("'],
    ["1,000", 'position 2: "," separates arguments only; write 1000 for 1,000'],
    ["1 + §", 'position 5: "§" means nothing here'],
    ["2 + sqr(4)", 'position 5: there is no function or constant "sqr"; did you mean "sqrt"?'],
    ["process.exit()", 'position 8: "." means nothing here'],
    ["constructor(1)", 'position 1: there is no function or constant "constructor"'],
    ["sqrt 4", 'position 6: expected "(" after "sqrt"'],
    ["sqrt(1, 2)", "position 1: sqrt takes 1 arguments and got 2"],
    ["max()", 'position 5: expected a number and found ")"'],
    ["10%-3", "position 3: % before - can be a percent or a remainder"],
    ["   ", "position 1: expected a number and found the end"],
    [
      `${"(".repeat(200)}1${")".repeat(200)}`,
      "position 102: it is nested more than 100 levels deep",
    ],
    [`${"-".repeat(500)}1`, "position 102: it is nested more than 100 levels deep"],
  ])("says where %s is wrong", async (expression, words) => {
    const { outcome, error } = await calculate(expression);
    expect(outcome).toBe("error");
    expect(error).toContain(words);
  });

  it("takes no more than 1,000 characters", async () => {
    expect((await calculate(`1${"+1".repeat(600)}`)).error).toContain("<=1000");
  });

  it("computes what the tree of an expression says", async () => {
    await fc.assert(
      fc.asyncProperty(tree, async (node) => {
        const expected = valueOf(node);
        fc.pre(Math.abs(expected) < 2 ** 53 && node.size < 900);
        const { result } = await calculate(node.text);
        expect((result as { result: number }).result).toBeCloseTo(expected, 6);
      }),
      { numRuns: 300 },
    );
  });

  it("never breaks, whatever it is given", async () => {
    const piece = fc.constantFrom(
      ..."0 1 2 7 . + - * / ^ % ( ) , e of sqrt max( 1e9".split(" "),
      " ",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 30 }), async (pieces) => {
        const { error } = await calculate(pieces.join(""));
        expect(error).toMatch(/^$|position \d+|by zero|not finite|not a real number/);
      }),
      { numRuns: 500 },
    );
  });
});

interface Node {
  readonly text: string;
  readonly size: number;
  readonly value: () => number;
}

const valueOf = (node: Node) => node.value();

/** Expressions with as many spaces and parentheses as it takes, and what they are worth. */
const tree: fc.Arbitrary<Node> = fc.letrec<{ node: Node }>((tie) => {
  const nodeOf = (text: string, value: () => number): Node => ({ text, size: text.length, value });
  const leaf = fc.integer({ min: 0, max: 99 }).map((n) => nodeOf(String(n), () => n));
  const decimal = fc.integer({ min: 0, max: 999 }).map((n) => nodeOf(`${n / 10}`, () => n / 10));
  const pair = fc.tuple(tie("node"), tie("node"));
  return {
    node: fc.oneof(
      { maxDepth: 5, depthIdentifier: "tree" },
      leaf,
      decimal,
      pair.map(([a, b]) => nodeOf(`(${a.text} + ${b.text})`, () => a.value() + b.value())),
      pair.map(([a, b]) => nodeOf(`(${a.text} - ${b.text})`, () => a.value() - b.value())),
      pair.map(([a, b]) => nodeOf(`(${a.text})*(${b.text})`, () => a.value() * b.value())),
      pair
        .map(([a, b]) =>
          nodeOf(`${a.text} / (1+abs(${b.text}))`, () => a.value() / (1 + Math.abs(b.value()))),
        )
        .map(inParentheses),
      pair.map(([a, b]) =>
        nodeOf(`min(${a.text},${b.text})`, () => Math.min(a.value(), b.value())),
      ),
      tie("node").map((a) => nodeOf(`(-${a.text})`, () => -a.value())),
      tie("node").map((a) => nodeOf(`(${a.text}% of 50)`, () => (a.value() / 100) * 50)),
    ),
  };
}).node;

function inParentheses(node: Node): Node {
  return { ...node, text: `(${node.text})`, size: node.size + 2 };
}

import fc from "fast-check";
import { expect, it } from "vitest";
import { ExpressionError, type ExpressionProblem } from "../../src/expression/problem.ts";
import { compileExpression, type Expression, type Scope } from "../../src/expression/expression.ts";
import { compileTemplate } from "../../src/expression/template.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const scope: Scope = { a: { kind: "any" }, b: { kind: "any" }, n: { kind: "double" } };

const tokens =
  "a b n x 0 1 2.5 -1 1u 'a' \"b\" '' '\\\\' r'\\' b'x' true false null [ ] { } ( ) . , : ? + - * / % < <= > >= == != && || ! in has( size( string( int( .all(x, .exists(x, .map(x, .filter(x, .matches( .contains( [0] ['a'] .a .?b `c` // \n \\ ${ } @ 😀 \ud800 timestamp( duration( type( dyn(".split(
    " ",
  );

const signs = "()[]{}'\"\\.,:?+-!&|=ab1 \n$";

const soup = fc.array(fc.constantFrom(...tokens), { maxLength: 40 }).map((parts) => parts.join(""));

it("gives problems for any text, and never throws", () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 200 }),
    fc.string({ unit: fc.constantFrom(...Array.from(signs)), maxLength: 200 }),
    soup,
  );
  fc.assert(
    fc.property(text, fc.constantFrom(undefined, "bool" as const), (source, expected) => {
      for (const given of [source, `\${${source}`, `\${${source}}`]) compileTemplate(given, scope);
      const compiled = compileExpression(source, scope, expected);
      const problems = compiled.ok ? [] : compiled.problems;
      expect(compiled.ok || problems.length > 0).toBe(true);
      expect(problems.filter((problem) => !isPresentable(problem, source))).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});

/** A message is a sentence without its full stop, and nothing of how it was made shows. */
function isPresentable({ message, offset }: ExpressionProblem, source: string): boolean {
  const leaked = /undefined|\[object|is not a function|Cannot read|@result|_\w*_/;
  return (
    /\S$/.test(message) &&
    !/[^…]\.$/.test(message) &&
    !leaked.test(message.replaceAll(/"[^"]*"/g, "")) &&
    offset >= 0 &&
    offset <= source.length
  );
}

/** Expressions that parse, most of them wrong about the types of what they read. */
const { expression } = fc.letrec<{ expression: string; leaf: string }>((tie) => {
  const inner = tie("expression");
  const inBraces = (format: (...parts: string[]) => string, count: number) =>
    fc.array(inner, { minLength: count, maxLength: count }).map((parts) => format(...parts));
  return {
    leaf: fc.constantFrom(
      "a",
      "b",
      "n",
      "a.k",
      "b[0]",
      "a['k']",
      "0",
      "2",
      "1.5",
      "'k'",
      "''",
      "true",
      "null",
      "[]",
      "{}",
      "'(a+)+$'",
      "9223372036854775807",
    ),
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      tie("leaf"),
      fc
        .tuple(
          inner,
          fc.constantFrom("+", "-", "*", "/", "%", "<", ">=", "==", "!=", "&&", "||", "in"),
          inner,
        )
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
      inBraces((x) => `(!${x})`, 1),
      inBraces((x) => `(-${x})`, 1),
      inBraces((x = "", y = "", z = "") => `(${x} ? ${y} : ${z})`, 3),
      inBraces((x = "", y = "") => `${x}[${y}]`, 2),
      inBraces((x = "") => `${x}.k`, 1),
      inBraces((x = "") => `has(${x}.k)`, 1),
      inBraces((...parts) => `[${parts.join(", ")}]`, 2),
      inBraces((x = "", y = "") => `{${x}: ${y}}`, 2),
      fc
        .tuple(
          fc.constantFrom(
            "size",
            "string",
            "int",
            "double",
            "bool",
            "type",
            "dyn",
            "duration",
            "timestamp",
            "bytes",
          ),
          inner,
        )
        .map(([name, x]) => `${name}(${x})`),
      fc
        .tuple(
          inner,
          fc.constantFrom(
            "contains",
            "startsWith",
            "matches",
            "split",
            "join",
            "substring",
            "indexOf",
            "charAt",
          ),
          inner,
        )
        .map(([x, name, y]) => `${x}.${name}(${y})`),
      fc
        .tuple(inner, fc.constantFrom("all", "exists", "exists_one", "map", "filter"), inner)
        .map(([x, name, y]) => `${x}.${name}(a, ${y})`),
    ),
  };
});

it("gives JSON or an ExpressionError, whatever is evaluated on whatever", () => {
  let evaluated = 0;
  fc.assert(
    fc.property(expression, fc.jsonValue(), fc.jsonValue(), fc.double(), (source, a, b, n) => {
      const compiled = compileExpression(source, scope);
      const result = compiled.ok ? attempt(compiled.value, { a: { k: a }, b, n }) : undefined;
      if (result !== undefined && !(result instanceof Error)) evaluated += 1;
      expect(result).toSatisfy((given) => given === undefined || isRight(given, source));
    }),
    { numRuns: 3000 },
  );
  expect(evaluated).toBeGreaterThan(100);
});

it("gives the same result every time", () => {
  fc.assert(
    fc.property(expression, fc.jsonValue(), (source, a) => {
      const values = { a, b: a, n: 1 };
      const [first, second] = [compileExpression(source, scope), compileExpression(source, scope)];
      fc.pre(first.ok && second.ok);
      const result = attempt(first.value, values);
      expect(attempt(first.value, values)).toEqual(result);
      expect(attempt(second.value, values)).toEqual(result);
    }),
  );
});

/** What an expression gives, or the error it throws. */
function attempt(compiled: Expression, values: Readonly<Record<string, unknown>>): unknown {
  try {
    return compiled.evaluate(values);
  } catch (thrown) {
    return thrown;
  }
}

function isRight(result: unknown, source: string): boolean {
  if (!(result instanceof Error)) return isJson(result);
  if (!(result instanceof ExpressionError)) return false;
  return isPresentable({ message: result.problem, offset: result.offset }, source);
}

function isJson(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || Object.values(value).every(isJson);
    default:
      return false;
  }
}

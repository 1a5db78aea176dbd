import { expect, it } from "vitest";
import { ExpressionError } from "../../src/expression/problem.ts";
import { compileExpression, type Scope } from "../../src/expression/expression.ts";
import { compileTemplate } from "../../src/expression/template.ts";

/** Nothing is checked here but that the names are variables, so that all depends on how values are read. */
const scope: Scope = { input: { kind: "any" }, list: { kind: "any" }, text: { kind: "any" } };

const values = {
  input: { a: 1, nested: { b: 2 }, run: () => "called", tag: Symbol("tag") },
  list: ["x"],
  text: "text",
};

const inherited = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "__defineGetter__",
  "length",
  "size",
  "get",
  "source",
  "constructor.constructor",
];

it.each(
  inherited.flatMap((name) =>
    ["input", "input.nested", "list", "text"].map((of) => `${of}.${name}`),
  ),
)("finds no %s", (source) => {
  expect(() => run(source)).toThrow(ExpressionError);
  expect(() => run(source)).toThrow(/no field "\w+"\.$/);
});

it.each(inherited.filter((name) => !name.includes(".")))(
  "finds no %s by its name in brackets",
  (name) => {
    expect(() => run(`input["${name}"]`)).toThrow(`no field "${name}"`);
    expect(() => run(`input.nested["${name.slice(0, 3)}" + "${name.slice(3)}"]`)).toThrow(
      `no field "${name}"`,
    );
    expect(run(`"${name}" in input || has(input.nested.${name})`)).toBe(false);
  },
);

it.each([
  "globalThis",
  "process",
  "process.env",
  "require('fs')",
  "Function('return 1')",
  "eval('1')",
  "constructor",
  "__proto__",
  "this",
  "window",
  "Object.keys(input)",
  "import('fs')",
  "(() => 1)()",
  "`${1}`",
  "new Date()",
  "input.nested.b = 3",
  "delete input.a",
  "@items(list)",
  "@result",
  "list.all(@result, true)",
])("does not compile %s", (source) => {
  expect(compileExpression(source, scope).ok).toBe(false);
});

it("calls no function of a value and shows none", () => {
  expect(() => run("input.run")).toThrow('no field "run"');
  expect(compileExpression("input.run()", scope).ok).toBe(false);
  expect(run("input.map(key, key)")).toEqual(["a", "nested"]);
  expect(() => run("input.tag")).toThrow('no field "tag"');
});

it("reads own fields with such names as any other", () => {
  const input: unknown = JSON.parse('{"__proto__": {"x": 1}, "constructor": "c", "toString": [1]}');
  expect(run("input.__proto__.x", { input })).toBe(1);
  expect(run("input.constructor + string(input.toString[0])", { input })).toBe("c1");
  expect(() => run("input.x", { input })).toThrow('no field "x"');
});

it("makes maps with such keys without touching a prototype", () => {
  const made = run(`{"__proto__": {"polluted": true}, "constructor": 1}`) as object;
  expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  expect(Object.keys(made)).toEqual(["__proto__", "constructor"]);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

it("takes no variable from a prototype, of the scope or of the values", () => {
  const heir = Object.create({ text: "inherited" }) as Record<string, unknown>;
  expect(() => run("text", heir)).toThrow("this has no value");
  expect(
    compileExpression("toString", Object.create({ toString: { kind: "any" } }) as Scope).ok,
  ).toBe(false);
});

it("reads objects without a prototype and of classes by their own fields", () => {
  class Point {
    x = 1;
    get y() {
      return 2;
    }
  }
  const bare = Object.assign(Object.create(null) as object, { x: 3 });
  expect(run("input.x + list[0].x", { input: new Point(), list: [bare] })).toBe(4);
  expect(() => run("input.y", { input: new Point() })).toThrow('no field "y"');
});

it("does not change the values", () => {
  const before = JSON.stringify(values);
  run("list + ['y']");
  run("list.map(x, x + 'z') + list.filter(x, true)");
  expect(JSON.stringify(values)).toBe(before);
});

it("does not evaluate what a value holds", () => {
  const template = compileTemplate("${text} ${input.a}", scope);
  expect(template.ok && template.value.render({ text: "${input.a}", input: { a: "$${x}" } })).toBe(
    "${input.a} $${x}",
  );
});

function run(source: string, given: Readonly<Record<string, unknown>> = values): unknown {
  const compiled = compileExpression(source, scope);
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
  return compiled.value.evaluate(given);
}

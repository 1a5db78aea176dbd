import { expect, it } from "vitest";
import { ExpressionError } from "../../src/expression/problem.ts";
import { compileExpression, type Expression } from "../../src/expression/expression.ts";
import { evaluate, scope } from "./helpers.ts";

const values = {
  attempt_number: 1,
  status: "failed",
  usage: { cost_usd: 0.25 },
  input: { text: "héllo", nothing: null },
  execution: Object.freeze({
    count: 7,
    price: 10,
    list: [1, 2, 3],
    tags: ["new", "paid"],
    customer: {
      name: "Ann",
      orders: [
        { id: "a", total: 12.5 },
        { id: "b", total: 99 },
      ],
    },
  }),
  nodes: { classify: { choice: "billing", scores: [0.5, 1] }, "my-node": { text: "t" } },
};

it.each<[string, unknown]>([
  // Numbers of JSON and literals go together, whole or not.
  ["attempt_number + 1", 2],
  ["execution.count > 3", true],
  ["execution.count == 7", true],
  ["execution.count != 7.5", true],
  ["execution.price * 1.1", 11],
  ["2 * execution.price - 0.5", 19.5],
  ["usage.cost_usd < 0.5", true],
  ["usage.cost_usd != null && usage.cost_usd < 0.5", true],
  ["execution.count / 2", 3.5],
  ["7 / 2", 3],
  ["execution.count % 2 == 1", true],
  ["-execution.count", -7],
  ["execution.list[attempt_number]", 2],
  ["execution.list.map(x, x * 2)", [2, 4, 6]],
  ["2 in execution.list && 2.5 in execution.list", false],
  ["int('12') + 1", 13],
  ["string(execution.count) + ' of ' + string(usage.cost_usd)", "7 of 0.25"],
  ["'abcdefgh'.substring(execution.count)", "h"],
  // Lists, maps, presence.
  ["size(execution.list) >= 2", true],
  ["execution.tags.size()", 2],
  ["has(execution.customer)", true],
  ["has(execution.supplier)", false],
  ["has(execution.supplier) ? execution.supplier.name : 'nobody'", "nobody"],
  ["has(input.nothing) && input.nothing == null", true],
  ["'nothing' in input", true],
  ["'text' in input && !('other' in input)", true],
  ["execution.customer.orders.filter(o, o.total > 50).map(o, o.id)", ["b"]],
  ["execution.customer.orders.map(o, o.total > 50, o.id)", ["b"]],
  ["execution.list.all(x, x > 0)", true],
  ["execution.list.exists(x, x == 2)", true],
  ["execution.list.exists_one(x, x > 2)", true],
  ["execution.customer.exists(key, key == 'orders')", true],
  ["execution.list + [4]", [1, 2, 3, 4]],
  ["{'name': execution.customer.name, 'n': [1, 2.5]}", { name: "Ann", n: [1, 2.5] }],
  ["{1: true}", { "1": true }],
  ["execution.list == [1, 2.0, 3]", true],
  ["execution.customer == {'name': 'Ann'}", false],
  ["nodes['my-node'].text", "t"],
  ["nodes.classify['choice'] == 'billing'", true],
  // Strings.
  ["input.text.contains('ll') && input.text.startsWith('h') && input.text.endsWith('o')", true],
  ["input.text.size()", 5],
  ["input.text.matches('^h.l+o$')", true],
  ["input.text.upperAscii()", "HéLLO"],
  ["' a,b '.trim().split(',')", ["a", "b"]],
  ["'a,b,c'.split(',', 2)", ["a", "b,c"]],
  ["execution.tags.join('; ')", "new; paid"],
  ["'aXbXc'.replace('X', '--')", "a--b--c"],
  ["'aXbXc'.replace('X', '', 1)", "abXc"],
  ["status == 'failed' ? 'again' : 'done'", "again"],
  ["!(status in ['done', 'stopped'])", true],
  ["type(status) == string", true],
  // Time.
  ["timestamp('2026-01-31T08:00:00Z') < timestamp('2026-02-01T00:00:00Z')", true],
  ["string(timestamp('2026-01-31T08:00:00Z') + duration('90m'))", "2026-01-31T09:30:00Z"],
  // An error that does not decide is no error.
  ["true || execution.missing.x", true],
  ["execution.missing.x || true", true],
])("evaluates %s", (source, expected) => {
  expect(evaluate(source, values)).toEqual(expected);
});

it("gives parts of the values as they are, not copies", () => {
  expect(evaluate("execution.customer", values)).toBe(values.execution.customer);
  expect(evaluate("execution.customer.orders[1]", values)).toBe(
    values.execution.customer.orders[1],
  );
  expect(evaluate("[execution.list]", values)).toEqual([values.execution.list]);
});

it("reads only what the expression names", () => {
  const read: string[] = [];
  const watched = new Proxy(
    { a: { b: 1 }, c: { d: 2 } },
    { get: (target, key) => (read.push(String(key)), Reflect.get(target, key) as unknown) },
  );
  expect(evaluate("execution.a.b", { execution: watched })).toBe(1);
  expect(new Set(read)).toEqual(new Set(["a"]));
});

it("counts undefined as absent", () => {
  const given = { input: { a: undefined, b: [undefined] }, execution: undefined };
  expect(evaluate("has(input.a) || 'a' in input", given)).toBe(false);
  expect(evaluate("size(input)", given)).toBe(1);
  expect(evaluate("input.b", given)).toEqual([undefined]);
  expect(evaluate("input.b[0] == null", given)).toBe(true);
});

const big = 2n ** 63n - 1n;

it.each<[string, string]>([
  ["execution.missing.x", `'execution.missing.x' at character 10: no field "missing"`],
  ["execution['missing']", `'execution['missing']' at character 10: no field "missing"`],
  ["execution.list[7]", "'execution.list[7]' at character 15: index 7 is out of range"],
  ["execution.list[-1]", "'execution.list[-1]' at character 15: index -1 is out of range"],
  ["execution.list[0.5]", "'execution.list[0.5]' at character 15: index 0.5 is out of range"],
  ["[1, 2][0.5]", "'[1, 2][0.5]' at character 1: a list is read by a whole number"],
  ["execution.count / 0", "'execution.count / 0' at character 17: division by zero"],
  ["execution.count % 0", "'execution.count % 0' at character 17: division by zero"],
  ["1 / 0", "'1 / 0' at character 3: division by zero"],
  ["1.5 / 0.0", "'1.5 / 0.0' at character 5: division by zero"],
  [
    "execution.count + 'a'",
    `'execution.count + 'a'' at character 17: "+" does not take a number and a string`,
  ],
  [
    "execution.count.contains('a')",
    "'execution.count.contains('a')' at character 16: contains() of a number does not take a string",
  ],
  ["size(input.nothing)", "'size(input.nothing)' at character 1: size() does not take null"],
  [
    "execution.count ? 1 : 2",
    "'execution.count ? 1 : 2' at character 1: the condition is a number, not true or false",
  ],
  [
    "execution.count && true",
    `'execution.count && true' at character 1: "&&" and "||" need true or false, not a number`,
  ],
  [
    "execution.count.all(x, true)",
    "'execution.count.all(x, true)' at character 16: all, exists, map and filter go through a list or a map, not a number",
  ],
  [
    "execution.list.join()",
    "'execution.list.join()' at character 15: join() needs a list of strings: write map(x, string(x)) before it",
  ],
  ["int(status)", "'int(status)' at character 1: the string is not a whole number"],
  ["double(status)", "'double(status)' at character 1: the string is not a number"],
  [
    "timestamp(status)",
    "'timestamp(status)' at character 1: the string is not a time, such as 2026-01-31T08:00:00Z",
  ],
  [
    "status.matches(status + '(')",
    "'status.matches(status + '(')' at character 7: the regular expression is not valid: missing closing ): `failed(`",
  ],
  [
    "{status: 1, 'failed': 2}",
    `'{status: 1, 'failed': 2}' at character 1: the key "failed" is there twice`,
  ],
  [`${big} + 1`, `'${big} + 1' at character 21: the whole number is too large`],
  [`${big}`, `'${big}' at character 1: the whole number ${big} is too large for JSON`],
  [
    "execution.price * 1e308 * 1e308",
    "'execution.price * 1e308 * 1e308' at character 1: the result is not a finite number",
  ],
  ["b'abc'", "'b'abc'' at character 1: the result is bytes, which JSON cannot hold"],
  [
    "[duration('1s')]",
    "'[duration('1s')]' at character 1: the result is a time, a duration or a type: write string(…) around it",
  ],
  [
    "size('😀') / execution.list[9]",
    "'size('😀') / execution.list[9]' at character 28: index 9 is out of range",
  ],
])("says what stopped %s", (source, problem) => {
  const run = () => evaluate(source, values);
  expect(run).toThrow(ExpressionError);
  expect(run).toThrow(`Cannot evaluate ${problem}.`);
});

it("says that a variable has no value", () => {
  expect(() => evaluate("input.text", {})).toThrow(
    "Cannot evaluate 'input.text' at character 1: this has no value.",
  );
});

it("carries the facts of a failure", () => {
  const compiled = compileExpression("1 < execution.x", scope);
  const failure = catchError(() => compiled.ok && compiled.value.evaluate({ execution: {} }));
  expect(failure).toMatchObject({
    code: "expression",
    kind: "run",
    name: "ExpressionError",
    expression: "1 < execution.x",
    offset: 13,
    problem: 'no field "x"',
  });
});

it("refuses another result where true or false is expected", () => {
  const condition = compile("input.answer");
  expect(condition.evaluate({ input: { answer: true } })).toBe(true);
  expect(() => condition.evaluate({ input: { answer: "yes" } })).toThrow(
    "Cannot evaluate 'input.answer' at character 1: this gives a string, not true or false.",
  );
});

it.each<[string, string[][]]>([
  [
    "nodes.classify.choice == 'a' || nodes['my-node']['text'] == status",
    [["nodes", "classify", "choice"], ["nodes", "my-node", "text"], ["status"]],
  ],
  [
    "has(execution.a.b) ? execution.a.b : execution.a",
    [
      ["execution", "a", "b"],
      ["execution", "a"],
    ],
  ],
  ["execution.list[attempt_number].name", [["execution", "list"], ["attempt_number"]]],
  ["execution.list.map(status, status.name + input)", [["execution", "list"], ["input"]]],
  ["{'a': execution.x, status: [input.y]}", [["execution", "x"], ["status"], ["input", "y"]]],
  ["type(1) == int && 'input' == 'status'", []],
  ["execution.count + execution.count", [["execution", "count"]]],
])("knows what %s reads", (source, references) => {
  const compiled = compileExpression(source, scope);
  expect(compiled.ok && compiled.value.references).toEqual(references);
});

function compile(source: string): Expression {
  const compiled = compileExpression(source, scope, "bool");
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
  return compiled.value;
}

function catchError(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
}

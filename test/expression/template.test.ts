import { expect, it } from "vitest";
import { ExpressionError } from "../../src/expression/problem.ts";
import { compileTemplate, type Template } from "../../src/expression/template.ts";
import { scope } from "./helpers.ts";

const values = {
  input: { text: "a ${b}", list: [1, { x: "é" }], nothing: null, flag: true, n: 1.5 },
  status: "failed",
};

it.each<[string, unknown]>([
  // Exactly one expression gives the value itself.
  ["${input.list}", values.input.list],
  ["${input.n}", 1.5],
  ["${input.nothing}", null],
  ["${ input.flag }", true],
  ["${input.text}", "a ${b}"],
  // Any other text is a string.
  ["It is ${status}.", "It is failed."],
  ["${status}${status}", "failedfailed"],
  [" ${input.list}", ' [1,{"x":"é"}]'],
  ["[${input.nothing}] ${input.flag} ${input.n} ${input.n + 0.5}", "[] true 1.5 2"],
  ["${input.text}, ${ {'k': [status]} }", 'a ${b}, {"k":["failed"]}'],
  ["plain", "plain"],
  ["", ""],
  // Escapes, and dollars that are none.
  ["$${status}", "${status}"],
  ["a $${status} ${status}", "a ${status} failed"],
  ["$$${status}", "$${status}"],
  ["${status}$${", "failed${"],
  ["$ {status} $status 5$ $", "$ {status} $status 5$ $"],
  ["{status} }", "{status} }"],
  // Braces in an expression.
  ["<${'}'}>", "<}>"],
  ["<${ {'a}': '}'}['a}'] }>", "<}>"],
  ["<${ {'a': {'b': 1}}.a.b }>", "<1>"],
  [`<\${"\\"}" + '\\'}' + r'\\' + '''it's }'''}>`, `<"}'}\\it's }>`],
  ["line\n${status}\n", "line\nfailed\n"],
])("renders %j", (text, expected) => {
  expect(compile(text).render(values)).toEqual(expected);
});

it("gives the value itself, not a copy", () => {
  expect(compile("${input.list}").render(values)).toBe(values.input.list);
});

it("says what it reads and whether it is constant", () => {
  const template = compile("${status} ${input.a.b} ${status} ${[input.c]}");
  expect(template.references).toEqual([["status"], ["input", "a", "b"], ["input", "c"]]);
  expect(template.isConstant).toBe(false);
  expect(template.source).toBe("${status} ${input.a.b} ${status} ${[input.c]}");
  expect(compile("$${status}")).toMatchObject({ references: [], isConstant: true });
});

it.each<[string, unknown[]]>([
  [
    "a ${inpt} and ${nodes.x}",
    [
      {
        message:
          'unknown variable "inpt", there are input, execution, attempt_number, status, usage, nodes',
        offset: 4,
        suggestion: "input",
      },
      { message: 'unknown field "x" of nodes, which has classify, my-node', offset: 21 },
    ],
  ],
  ["a ${status", [{ message: '"${" has no closing "}"', offset: 2 }]],
  ["a ${'status}", [{ message: '"${" has no closing "}"', offset: 2 }]],
  ["a ${} b", [{ message: "the expression is empty", offset: 4 }]],
  ["${status} ${status ==}", [{ message: 'the expression ends after "=="', offset: 19 }]],
  ["${ ${status} }", [{ message: "an expression is written without ${}", offset: 3 }]],
])("says what is wrong with %j", (text, problems) => {
  expect(compileTemplate(text, scope)).toEqual({ ok: false, problems });
});

it("names the expression that failed, not the whole text", () => {
  const run = () => compile("Dear ${status}, ${input.missing.x}").render(values);
  expect(run).toThrow(ExpressionError);
  expect(run).toThrow(`Cannot evaluate 'input.missing.x' at character 6: no field "missing".`);
});

function compile(text: string): Template {
  const compiled = compileTemplate(text, scope);
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
  return compiled.value;
}

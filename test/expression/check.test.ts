import { expect, it } from "vitest";
import { compileExpression } from "../../src/expression/expression.ts";
import { problemsOf } from "./helpers.ts";

const variables = "input, execution, attempt_number, status, usage, nodes";

it.each<[string, string[]]>([
  // Names.
  ["inpt.text", [`0: unknown variable "inpt", there are ${variables} (input)`]],
  ["1 + nothing", [`4: unknown variable "nothing", there are ${variables}`]],
  [
    "nodes.clasify.choice",
    ['5: unknown field "clasify" of nodes, which has classify, my-node (classify)'],
  ],
  [
    "nodes.classify['choic']",
    ['14: unknown field "choic" of nodes.classify, which has choice, scores (choice)'],
  ],
  ["has(usage.tokens)", ['0: unknown field "tokens" of usage, which has cost_usd']],
  ["status.text", ['6: status is a string and has no field "text"']],
  ["{'a': 1}.b", ['8: unknown field "b", which has a']],
  ["input.list.all(x, y)", [`18: unknown variable "y", there are x, ${variables}`]],
  ["input.list.all(x, true) && x", [`27: unknown variable "x", there are ${variables}`]],
  ["siz(status)", ['0: unknown function "siz" (size)']],
  [
    "a.x && b.y",
    [
      `0: unknown variable "a", there are ${variables}`,
      `7: unknown variable "b", there are ${variables}`,
    ],
  ],
  // Minus signs.
  ["nodes.my-node.text == 'a'", ['0: "-" is a minus in nodes.my-node: write nodes["my-node"]']],
  [
    "true || nodes.my-other-node",
    ['8: "-" is a minus in nodes.my-other-node: write nodes["my-other-node"]'],
  ],
  ["input.a-input.b > 0", []],
  // Types.
  ["status == 3", ["7: a string is never equal to a number"]],
  ["status == null", []],
  ["status + 1", ['7: "+" does not take a string and a number']],
  ["status < 3", ['7: "<" does not take a string and a number']],
  ["!status", ['0: "!" does not take a string']],
  ["status && true", ['0: "&&" needs true or false on both sides, this is a string']],
  ["attempt_number ? 1 : 2", ["0: the condition is a number, not true or false"]],
  [
    "status.all(x, true)",
    ["6: all, exists, map and filter go through a list or a map, not a string"],
  ],
  ["nodes.classify.scores.exists(x, x == 'a')", ["34: a number is never equal to a string"]],
  [
    "nodes.classify.scores.map(x, string(x)).exists(x, x == 1)",
    ["52: a string is never equal to a number"],
  ],
  ["nodes.classify.scores['a']", ["21: a list is read by number, not by a string"]],
  ["status[0]", ["6: a string cannot be read with [ ]"]],
  ["'a' in status", ['4: "in" does not take a string and a string']],
  ["size(3)", ["0: size() does not take a number"]],
  ["status.contains(3)", ["6: contains() of a string does not take a number"]],
  ["contains(status, 'a')", ["0: write x.contains(…), not contains(x, …)"]],
  ["status.int()", ["6: write int(x), not x.int()"]],
  ["status.matches('(')", ["15: the regular expression is not valid: missing closing ): `(`"]],
  [
    "status.matches('(?=a)')",
    ["15: the regular expression is not valid: invalid or unsupported Perl syntax: `(?=`"],
  ],
  ["input.list.map(x)", ["10: map() is written list.map(x, x * 2)"]],
  ["has(status)", ["0: has() is written has(a.b)"]],
  ["99999999999999999999", ["0: the number is too large"]],
  ["1e999", ["0: the number is too large"]],
  [
    "google.protobuf.Duration{seconds: 1}",
    ['0: "google.protobuf.Duration{…}" makes a message, which is not supported'],
  ],
  // Syntax.
  ["", ["0: the expression is empty"]],
  [" \n", ["0: the expression is empty"]],
  ["status status", ['7: unexpected "status"']],
  ["status ==", ['7: the expression ends after "=="']],
  ["(status", ['0: "(" has no closing ")"']],
  ["[status)", ['7: "[" is closed by ")", not by "]"']],
  ["status]", ['6: "]" closes nothing']],
  ["status == 'a", ["10: the string has no closing quote"]],
  ["status = 'a'", ['7: "=" does not compare, write "=="']],
  ["status === 'a'", ['7: write "==" to compare']],
  ["status == 'a' and true", ['14: write "&&" for and']],
  ["true or false", ['5: write "||" for or']],
  ["${status}", ["0: an expression is written without ${}"]],
  ["input.?a.orValue(1)", ["5: optional fields are not supported, write has(a.b) ? a.b : other"]],
  ["nodes.`my-node`", ['5: write the name in quotes and brackets, as in nodes["my-node"]']],
  ["nodes.in", ['6: "in" is a reserved word']],
  ["'\\ud800'", ["0: a string holds half a character (a lone surrogate)"]],
  ["'😀' + 1", ['5: "+" does not take a string and a number']],
])("says what is wrong with %j", (source, problems) => {
  expect(problemsOf(source)).toEqual(problems);
});

it.each<[string, string[]]>([
  ["status == 'a'", []],
  ["input.anything", []],
  ["true ? input.a : false", []],
  ["status", ["0: this gives a string, not true or false"]],
  ["1 + 1", ["0: this gives a number, not true or false"]],
  ["input.map(x, x)", ["0: this gives a list, not true or false"]],
])("expects true or false of %s", (source, problems) => {
  expect(problemsOf(source, "bool")).toEqual(problems);
});

it("checks nothing about open objects, maps of anything and unions", () => {
  const open = compileExpression("a.x.y + b.anything.z", {
    a: { kind: "object", fields: {}, open: true },
    b: { kind: "map", of: { kind: "any" } },
  });
  expect(open.ok).toBe(true);
});

it("lists only some of many names", () => {
  const names = Array.from(
    { length: 30 },
    (_, index) => [`name${index}`, { kind: "any" }] as const,
  );
  const compiled = compileExpression("other", Object.fromEntries(names));
  expect(compiled.ok || compiled.problems[0]?.message).toBe(
    'unknown variable "other", there are name0, name1, name2, name3, name4, name5, name6, name7, name8, name9, name10, name11 and 18 more',
  );
});

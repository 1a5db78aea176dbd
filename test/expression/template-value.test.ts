import { expect, it } from "vitest";
import { compileTemplateValue, type TemplateValue } from "../../src/expression/template.ts";
import { scope } from "./helpers.ts";

const values = { input: { text: "hi", list: [1, 2] }, status: "ok" };

it("renders every string of a nested value, but no key", () => {
  const value = {
    "${status}": "${input.list}",
    to: ["${status}: ${input.text}", 5, null, { deep: "${input.text}", plain: "p" }],
    escaped: "$${x}",
    flag: true,
  };
  const template = compile(value);
  expect(template.render(values)).toEqual({
    "${status}": [1, 2],
    to: ["ok: hi", 5, null, { deep: "hi", plain: "p" }],
    escaped: "${x}",
    flag: true,
  });
  expect(template.isConstant).toBe(false);
  expect(template.references).toEqual([["input", "list"], ["status"], ["input", "text"]]);
});

it.each([[5], [null], ["text"], [[]], [{ a: [{ b: "c" }] }]])(
  "gives %j as it is, the same object",
  (value) => {
    const template = compile(value);
    expect(template.render({})).toBe(value);
    expect(template).toMatchObject({ isConstant: true, references: [] });
  },
);

it("shares the parts that hold no expression", () => {
  const fixed = { a: ["b"] };
  expect(compile({ fixed, changing: "${status}" }).render(values)).toHaveProperty("fixed", fixed);
});

it("says where in the value a problem is", () => {
  expect(compileTemplateValue({ a: [0, "x ${statu}"], b: { "c d": "${" } }, scope)).toEqual({
    ok: false,
    problems: [
      {
        message:
          'unknown variable "statu", there are input, execution, attempt_number, status, usage, nodes',
        offset: 4,
        suggestion: "status",
        path: ["a", 1],
        source: "x ${statu}",
      },
      {
        message: '"${" has no closing "}"',
        offset: 0,
        path: ["b", "c d"],
        source: "${",
      },
    ],
  });
});

it("keeps a key such as __proto__ a key", () => {
  const value: unknown = JSON.parse('{"__proto__": {"x": "${status}"}, "y": "${status}"}');
  const rendered = compile(value).render(values);
  expect(JSON.stringify(rendered)).toBe('{"__proto__":{"x":"ok"},"y":"ok"}');
  expect(Object.getPrototypeOf(rendered)).toBe(Object.prototype);
});

it("refuses values that are nested without end", () => {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  const compiled = compileTemplateValue(value, scope);
  expect(compiled.ok || compiled.problems.map(({ message }) => message)).toEqual([
    "the value is nested more than 64 deep",
  ]);
});

function compile(value: unknown): TemplateValue {
  const compiled = compileTemplateValue(value, scope);
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
  return compiled.value;
}

import { describe, expect, it } from "vitest";
import { checkDefinition } from "../../../src/definition/check/check-definition.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";

function problemsOf(parts: Record<string, unknown>): readonly string[] {
  const checked = checkDefinition({ name: "a", ...parts });
  return checked.ok ? [] : checked.problems.map(describeProblem);
}

describe("checkDefinition", () => {
  it("fills in the defaults", () => {
    const checked = checkDefinition({ name: "a" });
    expect(checked.ok && checked.spec).toMatchObject({
      version: "1.0.0",
      tools: [],
      input_schema: { type: "object", required: ["message"] },
      execution_config: { mode: "fast", max_attempts: 3, checkpoint_frequency: "on_change" },
      is_active: true,
    });
  });

  it.each(["1.0.0", "0.1.2-rc.1", "1.2.3+build.5"])("takes version %s", (version) => {
    expect(problemsOf({ version })).toEqual([]);
  });

  it.each(["1.0", "v1.0.0", " 1.0.0", "1.0.0 ", "01.0.0", "latest", ""])(
    "refuses version %j",
    (version) => {
      expect(problemsOf({ version })).toEqual([
        `version: expected a semantic version such as 1.0.0 (found "${version}")`,
      ]);
    },
  );

  it("refuses a tool that is named twice", () => {
    expect(problemsOf({ tools: ["a", "b", "a"] })).toEqual([
      'tools[2]: "a" is already named by tools[0]',
    ]);
  });

  it("applies its rules beside what is wrong elsewhere", () => {
    expect(problemsOf({ foo: 1, version: "x", tools: ["a", "a"], output_schema: {} })).toHaveLength(
      4,
    );
  });

  it.each([
    [{}, '.type: expected a JSON Schema of type "object" (found nothing)'],
    [{ type: "array" }, '.type: expected a JSON Schema of type "object" (found "array")'],
    [
      { type: "object", properties: { a: { type: "strng" } } },
      '.properties.a.type: not one of the types (found "strng"; allowed: object, array, string, number, integer, boolean, null; did you mean "string"?)',
    ],
    [
      { type: "object", properties: { a: { type: "array", items: { if: {} } } } },
      ".properties.a.items.if: this keyword is not checked: use anyOf",
    ],
    [
      { type: "object", properties: { a: { $ref: "#/$defs/b" } } },
      '.properties.a.$ref: expected a reference to one of the schema\'s own $defs (found "#/$defs/b"; allowed: #)',
    ],
    [{ type: "object", required: 3 }, ".required: expected a list of texts (found 3)"],
  ])("says where %j is no schema of an object that can be checked", (schema, problem) => {
    expect(problemsOf({ input_schema: schema })).toEqual([`input_schema${problem}`]);
    expect(problemsOf({ output_schema: schema })).toEqual([`output_schema${problem}`]);
  });

  it("leaves what it was given as it was", () => {
    const properties = { a: { type: "string" } };
    const checked = checkDefinition({ name: "a", input_schema: { type: "object", properties } });
    expect(checked.ok && checked.spec.input_schema["properties"]).toEqual(properties);
    expect(checked.ok && checked.spec.input_schema["properties"]).not.toBe(properties);
  });

  it("refuses what is too deep, or contains itself", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level += 1) deep = [deep];
    const loop: Record<string, unknown> = {};
    loop["loop"] = loop;
    const problem = ["(top level): nested more than 64 levels deep"];
    expect(problemsOf({ input_schema: deep })).toEqual(problem);
    expect(problemsOf({ input_schema: loop })).toEqual(problem);
  });
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { defineTool, InvalidToolError } from "../../src/definition/define-tool.ts";

const options = {
  name: "weather",
  description: "Gives the weather.",
  input_schema: z.object({ city: z.string() }),
  handler: ({ city }: { city: string }) => city,
};

/** `defineTool` for what TypeScript refuses. */
const define = defineTool as (given: unknown) => unknown;

describe("defineTool", () => {
  it("fills in the defaults", () => {
    expect(defineTool(options).definition).toEqual({
      name: "weather",
      description: "Gives the weather.",
      input_schema: z.toJSONSchema(options.input_schema, { io: "input" }),
      execution: { timeout_ms: 30_000, max_result_bytes: 262_144, idempotent: false },
      persistence: "none",
      version: "1.0.0",
      requires_approval: false,
      is_builtin: false,
    });
  });

  it("takes a limit that is undefined as left out", () => {
    const tool = defineTool({
      ...options,
      execution: { timeout_ms: undefined, max_result_bytes: 9, idempotent: true },
    });
    expect(tool.definition.execution).toEqual({
      timeout_ms: 30_000,
      max_result_bytes: 9,
      idempotent: true,
    });
  });

  it.each([
    ["execution", "Gives the weather. (persists across retries)"],
    ["attempt", "Gives the weather. (reset on retry)"],
  ] as const)("tells the model that it writes the %s tier", (persistence, description) => {
    const tool = defineTool({
      ...options,
      persistence,
      handler: (state: { execution: object; attempt: object }) => ({
        newState: state,
        toolResult: 1,
      }),
    });
    expect([tool.kind, tool.definition.description]).toEqual(["stateful", description]);
  });

  it("checks input and output by zod schemas and by JSON Schemas", () => {
    const zod = defineTool({ ...options, output_schema: z.string() });
    const json = defineTool({
      ...options,
      input_schema: z.toJSONSchema(options.input_schema),
      output_schema: { type: "string" },
      handler: () => "",
    });
    for (const tool of [zod, json]) {
      expect(tool.input.check({ city: "Bern" })).toEqual({ ok: true, value: { city: "Bern" } });
      expect(tool.input.check({ city: 3 })).toEqual({
        ok: false,
        issues: ["city: Invalid input: expected string, received number"],
      });
      expect(tool.output?.check(3).ok).toBe(false);
    }
  });

  it("is frozen, and leaves the caller's schema as it was", () => {
    const input_schema = { type: "object", properties: { a: {} } };
    const tool = defineTool({ ...options, input_schema, handler: () => "" });
    expect(Object.isFrozen(tool)).toBe(true);
    expect(Object.isFrozen(tool.definition)).toBe(true);
    expect(Object.isFrozen(tool.definition.execution)).toBe(true);
    expect(Object.isFrozen(tool.definition.input_schema["properties"])).toBe(true);
    expect(Object.isFrozen(input_schema)).toBe(false);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ name: "a b" }, 'Tool "a b": a name has 1 to 64 letters, digits, _ and -.'],
    [{ name: undefined }, 'Tool "undefined": a name has 1 to 64 letters, digits, _ and -.'],
    [
      { handle: 1 },
      'Tool "weather": unknown option "handle" (allowed: name, display_name, description, input_schema, output_schema, execution, requires_approval, version, persistence, handler; did you mean "handler"?).',
    ],
    [
      { description: " " },
      'Tool "weather": the description is empty; the model chooses tools by it.',
    ],
    [{ description: 3 }, 'Tool "weather": the description has to be a text, not 3.'],
    [
      { requires_approval: "yes" },
      'Tool "weather": requires_approval is true or false, not "yes".',
    ],
    [{ handler: "x" }, 'Tool "weather": the handler is not a function.'],
    [
      { persistence: "exec" },
      'Tool "weather": persistence is none, execution or attempt, not "exec".',
    ],
    [{ version: "1" }, 'Tool "weather": the version has to be one such as 1.0.0, not "1".'],
    [{ display_name: 1 }, 'Tool "weather": display_name has to be a text, not 1.'],
    [{ execution: 3 }, 'Tool "weather": execution has to be an object, not 3.'],
    [
      { execution: { timeout: 3 } },
      'Tool "weather": unknown option "timeout" (allowed: timeout_ms, max_result_bytes, idempotent).',
    ],
    [
      { execution: { idempotent: 1 } },
      'Tool "weather": execution.idempotent is true or false, not 1.',
    ],
    [
      { execution: { timeout_ms: 0 } },
      'Tool "weather": execution.timeout_ms has to be a whole number from 1 to 2,147,483,647, not 0.',
    ],
    [
      { execution: { timeout_ms: 2 ** 31 } },
      'Tool "weather": execution.timeout_ms has to be a whole number from 1 to 2,147,483,647, not 2147483648.',
    ],
    [
      { input_schema: undefined },
      'Tool "weather": input_schema has to be a zod schema or a JSON Schema, not nothing.',
    ],
    [{ input_schema: z.string() }, 'Tool "weather": input_schema has to describe an object.'],
    [{ input_schema: {} }, 'Tool "weather": input_schema has to describe an object.'],
    [
      { input_schema: z3.object({}) },
      'Tool "weather": input_schema is a schema of zod 3; zod 4 and JSON Schema are taken.',
    ],
    [
      { input_schema: z.object({ day: z.date() }) },
      'Tool "weather": input_schema cannot be shown as JSON Schema (Date cannot be represented in JSON Schema).',
    ],
    [
      { output_schema: { not: { type: "string" } } },
      'Tool "weather": output_schema cannot be checked: not is not supported in Zod (except { not: {} } for never).',
    ],
  ])("refuses %o", (wrong, message) => {
    expect(() => define({ ...options, ...wrong })).toThrow(
      expect.objectContaining({ code: "invalid_tool", message }),
    );
  });

  it.each([undefined, null, 3])("refuses %j for options", (given) => {
    expect(() => define(given)).toThrow(InvalidToolError);
  });
});

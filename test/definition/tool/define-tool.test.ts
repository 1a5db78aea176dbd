import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { defineTool, InvalidToolError } from "../../../src/definition/tool/define-tool.ts";

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
      transport: { type: "function" },
      execution: {
        timeout_ms: 30_000,
        retry: { max_retries: 0, backoff_ms: 500 },
        sandbox: false,
        idempotent: false,
        repeatable: false,
        max_result_bytes: 262_144,
      },
      permissions: [],
      persistence: "none",
      version: "1.0.0",
      requires_approval: false,
      is_builtin: false,
    });
  });

  it("takes a limit that is undefined as left out", () => {
    const tool = defineTool({
      ...options,
      execution: {
        timeout_ms: undefined,
        max_result_bytes: 9,
        idempotent: true,
        retry: { max_retries: 2, backoff_ms: undefined },
      },
    });
    expect(tool.definition.execution).toEqual({
      timeout_ms: 30_000,
      retry: { max_retries: 2, backoff_ms: 500 },
      sandbox: false,
      max_result_bytes: 9,
      idempotent: true,
      repeatable: false,
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

  it.each<[readonly `${"execution" | "attempt"}.${string}`[], string]>([
    [
      ["execution.days", "attempt.tries", "execution.cost"],
      "(persists across retries: days, cost; reset on retry: tries)",
    ],
    [["execution.days"], "(persists across retries)"],
  ])("tells the model which keys survive if a tool writes %j", (writes, note) => {
    const { definition } = defineTool({
      ...options,
      persistence: "execution",
      writes,
      handler: (state: { execution: object; attempt: object }) => ({
        newState: state,
        toolResult: 1,
      }),
    });
    expect(definition.description).toBe(`Gives the weather. ${note}`);
    expect(definition.writes).toEqual(writes);
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
      'Tool "weather": unknown option "handle" (allowed: name, display_name, description, input_schema, output_schema, execution, permissions, requires_approval, version, persistence, writes, handler; did you mean "handler"?).',
    ],
    [
      { description: " " },
      'Tool "weather": the description is empty; the model chooses tools by it.',
    ],
    [{ description: 3 }, 'Tool "weather": the description must be a text, not 3.'],
    [
      { requires_approval: "yes" },
      'Tool "weather": requires_approval is true or false, not "yes".',
    ],
    [{ handler: "x" }, 'Tool "weather": the handler is not a function.'],
    [
      { persistence: "exec" },
      'Tool "weather": persistence is none, execution or attempt, not "exec".',
    ],
    [{ writes: ["execution.days"] }, 'Tool "weather": writes is for tools with persistence.'],
    [
      { persistence: "execution", writes: [] },
      'Tool "weather": writes must be a list of keys, not an empty list.',
    ],
    [
      { persistence: "execution", writes: ["days"] },
      'Tool "weather": writes has keys such as execution.pages, not "days".',
    ],
    [
      { persistence: "attempt", writes: ["execution.days"] },
      'Tool "weather": writes has execution.days, and persistence is attempt.',
    ],
    [
      { persistence: "execution", writes: ["attempt.days"] },
      'Tool "weather": persistence is execution, and writes has no key of that tier.',
    ],
    [{ version: "1" }, 'Tool "weather": the version must be one such as 1.0.0, not "1".'],
    [{ display_name: 1 }, 'Tool "weather": display_name must be a text, not 1.'],
    [{ execution: 3 }, 'Tool "weather": execution must be an object, not 3.'],
    [
      { execution: { timeout: 3 } },
      'Tool "weather": unknown option "timeout" (allowed: timeout_ms, retry, sandbox, idempotent, repeatable, max_result_bytes).',
    ],
    [
      { execution: { idempotent: 1 } },
      'Tool "weather": execution.idempotent is true or false, not 1.',
    ],
    [
      { execution: { timeout_ms: 0 } },
      'Tool "weather": execution.timeout_ms must be a whole number from 1 to 2,147,483,647, not 0.',
    ],
    [
      { execution: { timeout_ms: 2 ** 31 } },
      'Tool "weather": execution.timeout_ms must be a whole number from 1 to 2,147,483,647, not 2147483648.',
    ],
    [
      { input_schema: undefined },
      'Tool "weather": input_schema must be a zod schema or a JSON Schema, not nothing.',
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
      { output_schema: { type: "string", pattern: "(?!a)" } },
      'Tool "weather": output_schema cannot be checked: pattern: the regular expression cannot be matched in linear time: it has a lookahead "(?!".',
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

  it("takes permissions as names, required, or with what they are", () => {
    const permissions = ["file:read", { name: "network:http", required: false }];
    const { definition } = defineTool({ ...options, permissions });
    expect(definition.permissions).toEqual([
      { name: "file:read", required: true },
      { name: "network:http", required: false },
    ]);
    expect(definition.permissions.every((permission) => Object.isFrozen(permission))).toBe(true);
  });

  it("has the source of its handler where it runs in a sandbox, and only there", () => {
    const sandboxed = defineTool({ ...options, execution: { sandbox: true } });
    const { source = "" } = sandboxed;
    const again = new Script(`(${source})`).runInThisContext() as typeof options.handler;
    expect(again({ city: "Bern" })).toBe("Bern");
    expect(defineTool(options)).not.toHaveProperty("source");
    expect(defineTool({ ...options, execution: { sandbox: false } })).not.toHaveProperty("source");
  });

  it.each<[Record<string, unknown>, string]>([
    [{ permissions: "file:read" }, 'permissions must be a list, not "file:read".'],
    [
      { permissions: ["file:*"] },
      'a permission is a name such as file:read, or { name, required }, not "file:*".',
    ],
    [
      { permissions: [{ name: "file:read", required: "no" }] },
      "a permission is a name such as file:read, or { name, required }, not a map.",
    ],
    [
      { permissions: [3] },
      "a permission is a name such as file:read, or { name, required }, not 3.",
    ],
    [
      { permissions: [null] },
      "a permission is a name such as file:read, or { name, required }, not null.",
    ],
    [
      { permissions: [{ name: "file:read", require: true }] },
      "a permission is a name such as file:read, or { name, required }, not a map.",
    ],
    [{ execution: { retry: 3 } }, "execution.retry must be an object, not 3."],
    [
      { execution: { retry: { retries: 3 } } },
      'unknown option "retries" (allowed: max_retries, backoff_ms).',
    ],
    [
      { execution: { retry: { max_retries: -1 } } },
      "execution.retry.max_retries must be a whole number from 0 to 2,147,483,647, not -1.",
    ],
    [
      { execution: { retry: { backoff_ms: 0 } } },
      "execution.retry.backoff_ms must be a whole number from 1 to 2,147,483,647, not 0.",
    ],
    [{ execution: { sandbox: "yes" } }, 'execution.sandbox is true or false, not "yes".'],
    [
      { execution: { sandbox: true }, persistence: "attempt" },
      "execution.sandbox is for tools without state.",
    ],
    [
      { execution: { sandbox: true }, handler: options.handler.bind(null) },
      "the handler has no source text, as bound and built-in functions have none; pass a function as it is.",
    ],
    [
      { execution: { sandbox: true }, handler: (input: unknown, context: unknown) => context },
      "the handler takes more than its input, and in a sandbox there is nothing more to be given.",
    ],
  ])("refuses in tools with limits and permissions: %o", (wrong, message) => {
    expect(() => define({ ...options, ...wrong })).toThrow(
      expect.objectContaining({ code: "invalid_tool", message: `Tool "weather": ${message}` }),
    );
  });

  it.each([undefined, null, 3])("refuses %j for options", (given) => {
    expect(() => define(given)).toThrow(InvalidToolError);
  });
});

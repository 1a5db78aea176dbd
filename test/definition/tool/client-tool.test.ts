import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool } from "../../../src/index.ts";
import { checkDefinition } from "../../../src/definition/check/check-definition.ts";
import { parseDefinition } from "../../../src/definition/load/parse-definition.ts";

const written = {
  name: "locate",
  description: "Says where the user is.",
  input_schema: { type: "object", properties: {} },
  transport: { type: "client" },
} as const;

function problemsOf(tool: object): readonly (readonly [string, string])[] {
  const checked = checkDefinition({ name: "a", tools: [{ ...written, ...tool }] });
  if (checked.ok) return [];
  return checked.problems.map(({ path, message }) => [path.join("."), message]);
}

describe("a client tool", () => {
  it("is the same written in a file, as an option and as a tool", async () => {
    const text = `
name: a
tools:
  - name: locate
    description: Says where the user is.
    input_schema: { type: object, properties: {} }
    transport: { type: client }
`;
    const fromFile = await parseDefinition(text, "a.yaml");
    const fromOption = defineAgent({ name: "a", tools: [written] });
    const fromTool = defineAgent({ name: "a", tools: [defineTool(written)] });
    expect(fromFile.spec.tools).toEqual(["locate"]);
    expect(fromFile.tools[0]?.definition).toMatchObject({
      name: "locate",
      transport: { type: "client" },
      execution: { timeout_ms: 86_400_000, max_result_bytes: 262_144 },
    });
    expect(fromOption.hash).toBe(fromFile.hash);
    expect(fromTool.hash).toBe(fromFile.hash);
  });

  it("takes zod schemas in TypeScript", () => {
    const tool = { ...written, input_schema: z.object({ precise: z.boolean() }) };
    const { tools } = defineAgent({ name: "a", tools: [tool] });
    expect(tools[0]?.definition.input_schema).toMatchObject({ required: ["precise"] });
  });

  it.each([
    [{ execution: { retry: { max_retries: 1 } } }, "tools.0.execution.retry", "unknown key"],
    [{ execution: { sandbox: true } }, "tools.0.execution.sandbox", "unknown key"],
    [{ execution: { timeout_ms: 0 } }, "tools.0.execution.timeout_ms", "expected at least 1"],
    [{ handler: "x" }, "tools.0.handler", "unknown key"],
    [{ execution: { idempotent: true } }, "tools.0.execution.idempotent", "unknown key"],
    [{ transport: { type: "stdio" } }, "tools.0.transport.type", "not one of the allowed values"],
    [
      { transport: { type: "client", endpoint: "https://a.example" } },
      "tools.0.transport.endpoint",
      "unknown key",
    ],
    [{ name: "a b" }, "tools.0.name", "expected 1 to 64 letters, digits, _ and -"],
    [
      { input_schema: { type: "string" } },
      "tools.0.input_schema.type",
      'expected a JSON Schema of type "object"',
    ],
    [{ version: "one" }, "tools.0.version", "expected a semantic version such as 1.0.0"],
  ])("is refused with its place in a definition: %j", (tool, path, message) => {
    expect(problemsOf(tool)).toEqual([[path, expect.stringContaining(message)]]);
  });

  it("is refused without a description, and twice under one name", () => {
    const { description: _none, ...rest } = written;
    const checked = checkDefinition({ name: "a", tools: [rest, "locate"] });
    const problems = checked.ok ? [] : checked.problems.map(({ path }) => path.join("."));
    expect(problems).toEqual(["tools.0.description", "tools.1"]);
  });

  it.each([
    [{ handler: () => 1 }, "leave out the handler"],
    [{ execution: { retry: { max_retries: 1 } } }, 'unknown option "retry"'],
    [{ persistence: "attempt" }, 'unknown option "persistence"'],
    [{ transport: { type: "http" } }, "the transport must be"],
  ])("is refused by defineTool: %j", (options, message) => {
    expect(() => defineTool({ ...written, ...options } as never)).toThrow(message);
  });
});

import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { defineAgent } from "../../src/definition/define-agent.ts";
import { defineTool, InvalidToolError } from "../../src/definition/tool/define-tool.ts";
import { InvalidDefinitionError } from "../../src/definition/check/problems.ts";

const weather = defineTool({
  name: "weather",
  description: "Gives the weather.",
  input_schema: z.object({}),
  handler: () => "",
});
const echo = tool(() => "", { name: "echo", description: "Repeats.", schema: z.object({}) });

/** `defineAgent` for what TypeScript refuses. */
const define = defineAgent as (options: unknown) => unknown;

function refusalOf(options: unknown): readonly string[] {
  try {
    define(options);
  } catch (error) {
    if (error instanceof InvalidDefinitionError) return error.message.split("\n").slice(1);
    throw error;
  }
  throw new Error("expected a refusal");
}

const inline = (description: string) => ({
  description,
  input_schema: z.object({}),
  handler: () => "",
});

describe("defineAgent", () => {
  it("takes names, finished tools and LangChain tools in a list", () => {
    const agent = defineAgent({ name: "a", tools: ["calculator", weather, echo] });
    expect(agent.spec.tools).toEqual(["calculator", "weather", "echo"]);
    expect(agent.tools.map(({ definition }) => definition.name)).toEqual(["weather", "echo"]);
    expect(agent.tools[0]).toBe(weather);
  });

  it("takes inline tools by name, with others beside them", () => {
    const agent = defineAgent({
      name: "a",
      tools: { add: inline("Adds."), sub: inline("Subtracts.") },
      otherTools: ["calculator", weather],
    });
    expect(agent.spec.tools).toEqual(["add", "sub", "calculator", "weather"]);
    expect(agent.tools.map(({ definition }) => definition.name)).toEqual(["add", "sub", "weather"]);
  });

  it("keeps the code apart from the data", () => {
    const initialExecutionState = () => ({ at: "noon" });
    const validate = () => "no";
    const agent = defineAgent({
      name: "a",
      initialExecutionState,
      validate,
      execution_schema: z.object({ at: z.custom<string>((at) => at === "noon") }),
    });
    expect(agent.behaviour).toMatchObject({ initialExecutionState, validate });
    expect(agent.behaviour.executionSchema?.check({ at: "noon" }).ok).toBe(true);
    expect(JSON.parse(JSON.stringify(agent.spec))).toEqual(agent.spec);
  });

  it("checks input and output by the zod schemas themselves", () => {
    const agent = defineAgent({
      name: "a",
      input_schema: z.object({ n: z.number() }).refine(({ n }) => n > 0, "not positive"),
    });
    expect(agent.spec.input_schema).toMatchObject({ type: "object", required: ["n"] });
    expect(agent.input.check({ n: -1 })).toEqual({ ok: false, issues: ["value: not positive"] });
    expect(agent.output.check({ message: "x" }).ok).toBe(true);
  });

  it("is frozen, and leaves the caller's objects as they were", () => {
    const input_schema = { type: "object", properties: { q: { type: "string" } } };
    const agent = defineAgent({ name: "a", input_schema });
    expect(Object.isFrozen(agent)).toBe(true);
    expect(Object.isFrozen(agent.spec.execution_config)).toBe(true);
    expect(Object.isFrozen(agent.spec.input_schema["properties"])).toBe(true);
    expect(Object.isFrozen(agent.tools)).toBe(true);
    expect(Object.isFrozen(agent.behaviour)).toBe(true);
    expect(Object.isFrozen(input_schema.properties)).toBe(false);
  });

  it("has a hash that the order of keys leaves alone", () => {
    const agent = defineAgent({ name: "a", llm_config: { seed: 1, temperature: 0 } });
    const other = defineAgent({ llm_config: { temperature: 0, seed: 1 }, name: "a" });
    expect(agent.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(other.hash).toBe(agent.hash);
  });

  it("takes a spec that was saved with its defaults, and makes the same of it", () => {
    const agent = defineAgent({
      name: "saved",
      tools: ["calculator"],
      memory_config: { short_term: { max_tokens: 500, strategy: "fifo" } },
      context_config: { budget: 4000, summarize_results: { model: "openai:gpt-4o-mini" } },
      llm_config: { temperature: 0 },
    });
    const again = define(JSON.parse(JSON.stringify(agent.spec)));
    expect(again).toMatchObject({ spec: agent.spec, hash: agent.hash });
  });

  it("has a hash that tells versions and inline tools apart", () => {
    const hashes = [
      defineAgent({ name: "a" }),
      defineAgent({ name: "a", version: "1.0.1" }),
      defineAgent({ name: "a", tools: ["add"] }),
      defineAgent({ name: "a", tools: { add: inline("Adds.") } }),
      defineAgent({ name: "a", tools: { add: inline("Adds two numbers.") } }),
    ].map(({ hash }) => hash);
    expect(new Set(hashes).size).toBe(5);
  });

  it("reports every problem, without a file", () => {
    expect(
      refusalOf({ name: "A", version: "x", tools: ["a", "a", 3], llm_config: { temperature: 9 } }),
    ).toEqual([
      '  name: expected lower-case letters, digits, _ and - (found "A")',
      "  tools[2]: expected a text or a map (found 3)",
      "  llm_config.temperature: expected at most 2 (found 9)",
      '  version: expected a semantic version such as 1.0.0 (found "x")',
      '  tools[1]: "a" is already named by tools[0]',
    ]);
  });

  it("refuses a finished tool of a name that is taken", () => {
    expect(refusalOf({ name: "a", tools: ["weather", weather] })).toEqual([
      '  tools[1]: "weather" is already named by tools[0]',
    ]);
  });

  it("refuses merges that are unknown, or that a tier's schema does not fit", () => {
    expect(
      refusalOf({
        name: "a",
        state_config: { merge: { "execution.n": "add", total: "sum" } },
      }),
    ).toEqual([
      '  state_config.merge["execution.n"]: not one of the allowed values (found "add"; allowed: sum, append, last, max)',
      "  state_config.merge.total: expected execution.key or attempt.key",
    ]);
    expect(
      refusalOf({
        name: "a",
        execution_schema: z.object({ total: z.number(), name: z.string() }),
        attempt_schema: z.looseObject({}),
        state_config: {
          merge: {
            "execution.total": "max",
            "execution.sum": "sum",
            "execution.name": "append",
            "attempt.any": "append",
          },
        },
      }),
    ).toEqual([
      '  state_config.merge["execution.sum"]: the schema of execution has no key "sum" (allowed: execution.total, execution.name)',
      '  state_config.merge["execution.name"]: the schema of execution says type "string", and append takes array',
    ]);
  });

  it("suggests options that hold code", () => {
    expect(refusalOf({ name: "a", initialExecutionstate: () => ({}) })).toEqual([
      '  initialExecutionstate: unknown key (allowed: name, version, description, system_prompt, input_schema, output_schema, tools, permissions, tool_selection, workflow_graph, state_config, memory_config, context_config, guardrail_config, llm_config, execution_config, is_active, initialExecutionState, initialAttemptState, validate, execution_schema, attempt_schema, otherTools, agents, workers, rails; did you mean "initialExecutionState"?)',
    ]);
  });

  it.each([
    [
      { initialExecutionState: {} },
      "initialExecutionState: expected a function (found an empty map)",
    ],
    [{ validate: "x" }, 'validate: expected a function (found "x")'],
    [{ attempt_schema: { type: "object" } }, "attempt_schema: expected a zod schema (found a map)"],
    [{ tools: "calculator" }, 'tools: expected a list, or a map of tools (found "calculator")'],
    [{ otherTools: 3 }, "otherTools: expected a list (found 3)"],
    [
      { input_schema: z.string() },
      'input_schema.type: expected a JSON Schema of type "object" (found "string")',
    ],
    [
      { input_schema: z3.object({}) },
      "input_schema: a schema of zod 3; zod 4 and JSON Schema are taken",
    ],
    [
      { output_schema: z.object({ at: z.date() }) },
      "output_schema: cannot be shown as JSON Schema: Date cannot be represented in JSON Schema",
    ],
  ])("refuses %o", (wrong, problem) => {
    expect(refusalOf({ name: "a", ...wrong })).toEqual([`  ${problem}`]);
  });

  it.each([
    [undefined, "nothing"],
    [null, "null"],
    [[], "an empty list"],
  ])("refuses %j for options", (options, found) => {
    expect(refusalOf(options)).toEqual([
      `  (top level): expected the agent's options (found ${found})`,
    ]);
  });

  it.each([
    [true, "true"],
    ["x", '"x"'],
    [weather, "a finished tool"],
    [echo, "a finished tool"],
  ])("says where %o belongs instead of among inline tools", (given, found) => {
    expect(() => define({ name: "a", tools: { weather: given } })).toThrow(
      new InvalidToolError(
        "weather",
        `expected its options, found ${found}; finished tools and names belong in otherTools or in a list`,
      ),
    );
  });

  it("leaves the regular expressions of zod schemas to zod", () => {
    const strong = z.object({ password: z.string().regex(/^(?=.*\d)/) });
    const agent = defineAgent({ name: "a", input_schema: strong, output_schema: strong });
    expect(agent.input.check({ password: "a1" }).ok).toBe(true);
    expect(agent.output.check({ password: "a" }).ok).toBe(false);
    expect(agent.spec.input_schema).toMatchObject({
      properties: { password: { pattern: "^(?=.*\\d)" } },
    });
  });

  it("refuses a JSON Schema's pattern that only backtracking could match", () => {
    const password = { type: "string", pattern: "^(?=.*[0-9])" };
    const output_schema = { type: "object", properties: { password } };
    expect(refusalOf({ name: "a", output_schema })).toEqual([
      '  output_schema.properties.password.pattern: the regular expression cannot be matched in linear time: it has a lookahead "(?="',
    ]);
  });

  it("takes no object for a tool that is none", () => {
    expect(refusalOf({ name: "a", tools: [{ definition: { name: "x" } }] })).toEqual([
      "  tools[0].definition: unknown key (allowed: mcp, community)",
    ]);
  });
});

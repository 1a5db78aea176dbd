import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const formatted = (config: object) => ({
  guardrail_config: { output_rails: [{ type: "format" as const, config }] },
});

describe("the form of an agent's output", () => {
  it("is judged by the text of an agent without an output schema", async () => {
    const agent = defineAgent({ name: "texts", ...formatted({ is: "json" }) });
    const { runtime } = await testRuntime(["Here it is: [1]", "[1]"]);
    const { output, attempts } = await executeAgent(agent, { message: "?" }, { runtime });
    expect(output).toEqual({ message: "[1]" });
    expect(attempts[0]?.errors).toEqual([
      "guardrail format: The text does not begin as JSON; write the JSON alone, without words around it.",
    ]);
  });

  it("is judged by the value of an agent with one", async () => {
    const schema = { type: "object", properties: { total: { type: "number", maximum: 9 } } };
    const agent = defineAgent({
      name: "values",
      output_schema: z.object({ total: z.number(), currency: z.string() }),
      ...formatted({ schema, pattern: "^[A-Z]{3}$" }),
    });
    const { runtime } = await testRuntime([
      '{"total": 10, "currency": "euro"}',
      '{"total": 5, "currency": "EUR"}',
    ]);
    const { output, attempts } = await executeAgent(agent, { message: "?" }, { runtime });
    expect(output).toEqual({ total: 5, currency: "EUR" });
    expect(attempts[0]?.errors).toEqual([
      expect.stringContaining('"total" of the JSON is not as the schema wants it'),
      expect.stringContaining("does not match the regular expression ^[A-Z]{3}$"),
    ]);
  });
});

describe("a format rail on an answer with marks", () => {
  const address = "ada.lovelace@example.org";
  const asking = (config: object) =>
    defineAgent({
      name: "asking",
      guardrail_config: {
        input_rails: [{ type: "pii" }],
        output_rails: [{ type: "format", config }],
      } as never,
      execution_config: { max_attempts: 2 },
    });
  const schema = {
    type: "object",
    properties: { mail: { type: "string", format: "email" } },
    required: ["mail"],
  };

  it("judges what they stand for, which no model reads", async () => {
    const { runtime, model } = await testRuntime(['{"mail":"<EMAIL_1>"}']);
    const input = { message: `I am ${address}` };
    const { output, rails } = await executeAgent(asking({ schema }), input, { runtime });
    expect(output).toEqual({ message: `{"mail":"${address}"}` });
    expect(rails.at(-1)).toMatchObject({ rail: "format", verdict: "pass" });
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("tells the next attempt nothing of them", async () => {
    const pattern = "^<EMAIL_1>$";
    const { runtime, model } = await testRuntime(["<EMAIL_1>", "<EMAIL_1>"]);
    const input = { message: `I am ${address}` };
    const { status } = await executeAgent(asking({ pattern }), input, { runtime });
    expect(status).toBe("FAILED");
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("refuses a mark that an output rail has put there for good", async () => {
    const agent = defineAgent({
      name: "asking",
      guardrail_config: {
        output_rails: [{ type: "pii" }, { type: "format", config: { schema } }],
      } as never,
      execution_config: { max_attempts: 1 },
    });
    const { runtime } = await testRuntime([`{"mail":"${address}"}`]);
    const { attempts } = await executeAgent(agent, { message: "Which?" }, { runtime });
    expect(attempts[0]?.errors).toEqual([
      'guardrail format: "mail" of the JSON is not as the schema wants it: Invalid email address.',
    ]);
  });
});

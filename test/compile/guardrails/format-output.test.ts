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

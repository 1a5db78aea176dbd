import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada.lovelace@example.org";
const guardrail_config = { input_rails: [{ type: "pii" as const }] };
const input = { message: `I am ${address}` };
const mailSchema = {
  type: "object",
  properties: { mail: { type: "string", format: "email" } },
  required: ["mail"],
};

describe("a schema judges the value that a mark stands for", () => {
  it("in the output of an llm node, which goes on with the mark, and in the tier that it writes", async () => {
    const agent = defineAgent({
      name: "extracting",
      guardrail_config,
      execution_schema: z.object({ found: z.object({ mail: z.email() }).optional() }),
      initialExecutionState: () => ({}),
      workflow_graph: {
        entry_point: "extract",
        nodes: [
          {
            name: "extract",
            type: "llm",
            config: { prompt: "Extract.", output_schema: mailSchema, writes: "execution.found" },
          },
        ],
        edges: [{ from: "extract", to: "END" }],
        output: { message: "${execution.found.mail}" },
      },
    });
    const { runtime, model } = await testRuntime(['{"mail":"<EMAIL_1>"}']);
    const { status, state, output } = await executeAgent(agent, input, { runtime });
    expect(status).toBe("COMPLETED");
    expect(model.requests).toHaveLength(1);
    expect(state.execution).toEqual({ found: { mail: "<EMAIL_1>" } });
    expect(output).toEqual({ message: address });
  });

  it("in the state that a handler returns with the marks that nodes have written there", async () => {
    const count = defineTool({
      name: "count",
      description: "Counts.",
      input_schema: z.object({}),
      persistence: "execution",
      handler: ({ execution, attempt }) => {
        const n = (execution as { n: number }).n + 1;
        return { newState: { execution: { ...(execution as object), n }, attempt }, toolResult: n };
      },
    });
    const agent = defineAgent({
      name: "counting",
      tools: [count],
      guardrail_config,
      execution_schema: z.object({ n: z.number(), mail: z.email().optional() }),
      initialExecutionState: () => ({ n: 0 }),
      workflow_graph: {
        entry_point: "extract",
        nodes: [
          { name: "extract", type: "llm", config: { prompt: "?", writes: "execution.mail" } },
          { name: "count", type: "tool", config: { tool: "count" } },
        ],
        edges: [
          { from: "extract", to: "count" },
          { from: "count", to: "END" },
        ],
        output: { message: "${execution.mail}" },
      },
    });
    const { runtime } = await testRuntime(["<EMAIL_1>"]);
    const { status, state } = await executeAgent(agent, input, { runtime });
    expect(status).toBe("COMPLETED");
    expect(state.execution).toMatchObject({ n: 1 });
  });

  it("in the output of an agent inside, of which only the outermost gives the value", async () => {
    const inner = defineAgent({ name: "inner", output_schema: z.object({ mail: z.email() }) });
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      guardrail_config,
      workflow_graph: {
        entry_point: "find",
        nodes: [{ name: "find", type: "agent", config: { agent: "inner" } }],
        edges: [{ from: "find", to: "END" }],
        output: { message: "${nodes.find.output.mail}" },
      },
    });
    const { runtime, model } = await testRuntime(['{"mail":"<EMAIL_1>"}']);
    const { status, output } = await executeAgent(outer, input, { runtime });
    expect(status).toBe("COMPLETED");
    expect(model.requests).toHaveLength(1);
    expect(output).toEqual({ message: address });
  });
});

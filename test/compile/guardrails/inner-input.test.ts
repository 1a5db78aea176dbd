import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada.lovelace@example.org";
const guardrail_config = { input_rails: [{ type: "pii" as const }] };

function outerAround(inner: ReturnType<typeof defineAgent>) {
  return defineAgent({
    name: "outer",
    agents: [inner],
    guardrail_config,
    input_schema: z.object({ message: z.string(), mail: z.string() }),
    workflow_graph: {
      entry_point: "ask",
      nodes: [
        {
          name: "ask",
          type: "agent",
          config: { agent: "inner", input: { mail: "${input.mail}" } },
        },
        { name: "say", type: "llm", config: { prompt: "Say ${nodes.ask.output.message}" } },
      ],
      edges: [
        { from: "ask", to: "say" },
        { from: "say", to: "END" },
      ],
    },
  });
}

describe("an agent inside whose input must be an e-mail address", () => {
  const inner = defineAgent({
    name: "inner",
    description: "Answers.",
    input_schema: z.object({ mail: z.email() }),
  });

  it("takes one that the agent around it has redacted, and no model reads it", async () => {
    const { runtime, model } = await testRuntime(["Wrote to <EMAIL_1>.", "To <EMAIL_1>, then."]);
    const input = { message: `I am ${address}`, mail: address };
    const result = await executeAgent(outerAround(inner), input, { runtime });
    expect(result.output).toEqual({ message: `To ${address}, then.` });
    expect(model.read(0).join("\n")).toContain("<EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("refuses what is none, redacted or not", async () => {
    for (const mail of ["4111 1111 1111 1111", "nobody"]) {
      const { runtime, model } = await testRuntime([]);
      const result = await executeAgent(outerAround(inner), { message: "Hi", mail }, { runtime });
      expect(result.attempts[0]?.errors).toEqual([
        'agent "inner" of node "ask" failed (invalid_input): The input does not fit agent "inner": mail: Invalid email address.',
      ]);
      expect(model.requests).toEqual([]);
    }
  });
});

describe("an agent whose execution state has to hold an e-mail address", () => {
  const keeping = {
    description: "Keeps.",
    input_schema: z.object({ mail: z.email() }),
    execution_schema: z.object({ mail: z.email(), seen: z.number().default(0) }),
    initialExecutionState: ({ mail }: { mail: string }) => ({ mail, seen: 0 }),
    attempt_schema: z.object({ to: z.email() }),
    initialAttemptState: (_: unknown, { mail }: { mail: string }) => ({ to: mail }),
  };

  it("begins with one that was redacted, as its mark", async () => {
    const agent = defineAgent({ name: "keeper", guardrail_config, ...keeping });
    const { runtime, model } = await testRuntime(["Kept."]);
    const { status, state } = await executeAgent(agent, { mail: address }, { runtime });
    expect(status).toBe("COMPLETED");
    expect(state.execution).toEqual({ mail: "<EMAIL_1>", seen: 0 });
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("does so inside of another", async () => {
    const inner = defineAgent({ name: "inner", ...keeping });
    const { runtime } = await testRuntime(["Kept.", "Good."]);
    const input = { message: "Hi", mail: address };
    const { status } = await executeAgent(outerAround(inner as never), input, { runtime });
    expect(status).toBe("COMPLETED");
  });
});

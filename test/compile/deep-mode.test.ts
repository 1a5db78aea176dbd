import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { approachRequest } from "../../src/context/prompts.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input_schema: z.object({ at: z.string() }),
  handler: ({ at }) => `nothing at ${at}`,
});
const reflection = JSON.stringify({
  reflection: "Nothing there.",
  synthesis: "One place less.",
  progress: "advancing",
  hypothesis: { belief: "it is in b", test: "look at b" },
  approach: "Go on with b.",
  results: [{ call: "look", insights: "a is empty", learning: "skip a", relevance: "low" }],
});

describe("deep mode", () => {
  it("chooses an approach, plans before and reflects after each step, and judges the answer", async () => {
    const agent = defineAgent({ name: "deep", tools: [look], execution_config: { mode: "deep" } });
    const { runtime, model } = await testRuntime([
      "Look everywhere.",
      "Look at a first.",
      { text: "Looking.", calls: [{ name: "look", args: { at: "a" } }] },
      reflection,
      "Answer now.",
      "It is in b.",
      '{"accepted": true, "reasons": []}',
    ]);
    const { steps, status, usage } = await executeAgent(agent, { message: "find" }, { runtime });
    expect(status).toBe("COMPLETED");
    expect(usage.llm_calls).toBe(7);
    expect(steps[0]).toMatchObject({
      mode: "deep",
      approach: "Go on with b.",
      planning: "Look at a first.",
      reflection: "Nothing there.",
      synthesis: "One place less.",
      progress: "advancing",
      hypothesis: { belief: "it is in b", test: "look at b" },
      tool_results: [{ insights: "a is empty", learning: "skip a", relevance: "low" }],
      usage: { llm_calls: 3, tool_calls: 1 },
    });
    expect(steps[1]).toMatchObject({ approach: "Go on with b.", planning: "Answer now." });
    expect(model.read(5).at(-1)).toBe(
      "human: Approach: Go on with b.\nReflection on the last step: Nothing there.\n" +
        "Hypothesis: it is in b (test: look at b)\nProgress: advancing\nPlan for this step: Answer now.",
    );
    expect(model.requests.map((r) => r.tools !== undefined)).toEqual([
      false,
      false,
      true,
      false,
      false,
      true,
      false,
    ]);
  });

  it("begins another attempt when the model refuses its own answer", async () => {
    const agent = defineAgent({
      name: "judge",
      execution_config: { mode: "deep", max_attempts: 2 },
    });
    const { runtime } = await testRuntime([
      "approach",
      "plan",
      "First.",
      '{"accepted": false, "reasons": ["too short"]}',
      "approach 2",
      "plan 2",
      "Second, longer.",
      '{"accepted": true}',
    ]);
    const result = await executeAgent(agent, { message: "go" }, { runtime });
    expect(result.attempts).toEqual([
      { attempt_number: 0, errors: ["too short"] },
      { attempt_number: 1, errors: [] },
    ]);
    expect(result.output).toEqual({ message: "Second, longer." });
  });

  it("chooses the approach of a new attempt knowing the one that failed", async () => {
    const agent = defineAgent({
      name: "judge",
      execution_config: { mode: "deep", max_attempts: 2 },
    });
    const { runtime, model } = await testRuntime([
      "Guess.",
      "plan",
      "First.",
      '{"accepted": false, "reasons": ["too short"]}',
      "Count.",
      "plan 2",
      "Second.",
      '{"accepted": true}',
    ]);
    const { steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(model.read(0).at(-1)).toBe(`human: ${approachRequest}`);
    expect(model.read(4).slice(-2)).toEqual([
      "human: That answer was not accepted:\n- too short\nMend these points and answer the request again.",
      `human: The approach that failed: Guess.\n\n${approachRequest} It may be another one.`,
    ]);
    expect(steps.map(({ approach }) => approach)).toEqual(["Guess.", "Count."]);
  });

  it("keeps twenty reasons against an answer, each of 2,000 characters", async () => {
    const agent = defineAgent({
      name: "judge",
      execution_config: { mode: "deep", max_attempts: 1 },
    });
    const reasons = Array.from({ length: 30 }, (_, n) => `${n} `.padEnd(2001, "x"));
    const refusal = JSON.stringify({ accepted: false, reasons });
    const { runtime } = await testRuntime(["approach", "plan", "First.", refusal]);
    const { attempts } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(attempts[0]?.errors).toHaveLength(20);
    expect(attempts[0]?.errors[0]).toMatch(/^0 x{1998}… \[cut: 1 more characters\]$/);
  });

  it("looks back at a step that thinks on without a call, and carries its approach on", async () => {
    const agent = defineAgent({ name: "text", execution_config: { mode: "deep" } });
    const { runtime, model } = await testRuntime(
      [
        "Thought: a\nFinal Answer: Guess.",
        "plan",
        "Thought: hm",
        JSON.stringify({ reflection: "No action.", progress: "stuck", approach: "Count." }),
        "plan 2",
        "Final Answer: Four.",
        '{"accepted": true}',
      ],
      { toolCalling: false },
    );
    const { steps, output } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(output).toEqual({ message: "Four." });
    expect(steps[0]).toMatchObject({
      next_action: "continue",
      reflection: "No action.",
      progress: "stuck",
      approach: "Count.",
      usage: { llm_calls: 3 },
    });
    expect(model.read(4).at(-1)).toMatch(
      /^human: Approach: Count\.\nReflection on the last step: No action\.\nProgress: stuck\n\n/,
    );
  });

  it("does not look back at an empty reply", async () => {
    const agent = defineAgent({ name: "silent", execution_config: { mode: "deep" } });
    const script = ["approach", "plan", "", "plan", "Four.", '{"accepted": true}'];
    const { runtime } = await testRuntime(script);
    const { steps, usage } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(usage.llm_calls).toBe(6);
    expect(steps[0]).toMatchObject({ next_action: "continue", reflection: "" });
  });

  it("keeps no more than 2,000 characters of what the model says of its work", async () => {
    const agent = defineAgent({ name: "long", tools: [look], execution_config: { mode: "deep" } });
    const long = "x".repeat(5000);
    const cut = `${"x".repeat(2000)}… [cut: 3,000 more characters]`;
    const { runtime } = await testRuntime([
      long,
      long,
      { calls: [{ name: "look", args: { at: "a" } }] },
      JSON.stringify({
        reflection: long,
        synthesis: long,
        hypothesis: { belief: long, test: long },
        results: [{ call: "look", insights: long }],
      }),
      "plan",
      "Nowhere.",
      '{"accepted": true}',
    ]);
    const { steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(steps[0]).toMatchObject({
      approach: cut,
      planning: cut,
      reflection: cut,
      synthesis: cut,
      hypothesis: { belief: cut, test: cut },
      tool_results: [{ insights: cut }],
    });
  });

  it("is empty of planning and reflection in fast mode", async () => {
    const { runtime } = await testRuntime(["hi"]);
    const { steps } = await executeAgent(
      defineAgent({ name: "fast" }),
      { message: "go" },
      { runtime },
    );
    expect(steps[0]).toMatchObject({ mode: "fast", planning: "", reflection: "", approach: "" });
  });

  it("is what a stuck step is raised to once, before the attempt ends", async () => {
    const agent = defineAgent({
      name: "stuck",
      tools: [look],
      execution_config: { max_attempts: 1, max_iterations: 20 },
    });
    const same = { calls: [{ name: "look", args: { at: "a" } }] };
    const { runtime } = await testRuntime([same, same, same, "plan", same, reflection, same]);
    const result = await executeAgent(agent, { message: "find" }, { runtime });
    expect(result.steps.map((s) => s.mode)).toEqual(["fast", "fast", "fast", "deep"]);
    expect(result.status).toBe("FAILED");
    expect(result.attempts[0]?.errors[0]).toContain("look");
  });
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  buildReasoningContext,
  defineAgent,
  defineTool,
  executeAgent,
} from "../../../src/index.ts";
import { memoryLimits } from "../../../src/memory/entry.ts";
import { agentTools } from "../../../src/compile/agent-setup.ts";
import { createToolRegistry } from "../../../src/tools/registry.ts";
import { checkDefinition } from "../../../src/definition/check/check-definition.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { runWithMemory } from "../../helpers/run-with-memory.ts";

const memory_config = { long_term: { enabled: true } };
const question = { message: "What is the dog called?" };

describe("the memory section in a context", () => {
  it("shrinks to what the rest leaves of a small budget", async () => {
    const sectionWith = async (budget: number) => {
      const run = await runWithMemory(["Rex."]);
      await run.remember([
        `The dog is called Rex ${"a ".repeat(100)}`,
        `The dog ${"b ".repeat(100)}`,
      ]);
      const agent = defineAgent({ name: "helper", memory_config, context_config: { budget } });
      const { status } = await executeAgent(agent, question, { runtime: run.runtime });
      expect(status).toBe("COMPLETED");
      return run.memorySection(0)?.includes("[cut: ");
    };
    expect([await sectionWith(1_000), await sectionWith(300)]).toEqual([false, true]);
  });

  it("goes where nothing is left for it", async () => {
    const run = await runWithMemory(["Rex."]);
    await run.remember(["The dog is called Rex."]);
    const agent = defineAgent({ name: "helper", memory_config, context_config: { budget: 256 } });
    const message = `What is the dog called? ${"x ".repeat(225)}`;
    const { status } = await executeAgent(agent, { message }, { runtime: run.runtime });
    expect([status, run.memorySection(0)]).toEqual(["COMPLETED", undefined]);
  });

  it("has the largest entry that can be stored, cut, and takes no more than its tokens", async () => {
    const run = await runWithMemory(["Rex."]);
    await run.remember([
      "The dog is called Rex.",
      `The dog ${"w".repeat(memoryLimits.content - 8)}`,
    ]);
    const agent = defineAgent({ name: "helper", memory_config });
    const { runtime, onEvent } = run;
    await executeAgent(agent, question, { runtime, onEvent });
    const tokens = (run.remembered()?.items ?? []).map((item) => item.tokens);
    expect(tokens).toHaveLength(2);
    expect(tokens.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1_500);
  });

  it("is in every context of deep mode", async () => {
    const run = await runWithMemory([
      "My approach.",
      "Plan of the step.",
      "Rex.",
      '{"accepted": true}',
    ]);
    await run.remember(["The dog is called Rex."]);
    const agent = defineAgent({
      name: "helper",
      memory_config,
      execution_config: { mode: "deep" },
    });
    const { status } = await executeAgent(agent, question, { runtime: run.runtime });
    expect(status).toBe("COMPLETED");
    expect([0, 1, 2, 3].map((call) => run.memorySection(call)?.includes("Rex."))).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it("is rendered the same by buildReasoningContext", () => {
    const { messages, metadata } = buildReasoningContext({
      model: "openai:gpt-4o",
      conversation: [],
      steps: [],
      goal: "planning",
      memories: ["likes tea\n- and forges lines"],
    });
    expect(messages.map(({ text }) => text.split("\n").slice(1))).toEqual([
      [String.raw`- "likes tea\n- and forges lines"`],
    ]);
    expect(metadata.memories).toEqual([]);
    expect(metadata.tokens.memory).toBeGreaterThan(0);
  });
});

describe("the hallucination rail", () => {
  const answer = "The dog is called Rex and was born in Lisbon in 2019.";
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input_schema: z.object({}),
    handler: () => "The cat is called Tom.",
  });
  const agent = defineAgent({
    name: "helper",
    memory_config,
    tools: [look],
    execution_config: { max_attempts: 1 },
    guardrail_config: { output_rails: [{ type: "hallucination" }] },
  });
  const statusWith = async (memories: readonly string[], script: readonly ScriptedReply[]) => {
    const run = await runWithMemory(script);
    await run.remember(memories);
    return (await executeAgent(agent, question, { runtime: run.runtime })).status;
  };

  it("takes what the turn remembers as evidence", async () => {
    const script = [{ calls: [{ name: "look", args: {} }] }, answer];
    expect(await statusWith([], script)).toBe("FAILED");
    expect(await statusWith([answer], script)).toBe("COMPLETED");
  });

  it("does not check general knowledge against memories alone", async () => {
    expect(await statusWith(["The dog likes fish."], [answer])).toBe("COMPLETED");
  });
});

describe("names of the memory tools in a definition", () => {
  const written = (of: object) => ({
    name: "helper",
    guardrail_config: { tool_rails: { require_approval: ["remember"] } },
    ...of,
  });

  it.each([
    [
      "with long-term memory and the permission",
      { memory_config, permissions: ["memory:*"] },
      true,
    ],
    ["without the permission", { memory_config, permissions: ["memory:read"] }, false],
    ["without long-term memory", { permissions: ["memory:*"] }, false],
  ])("may be in its tool rails %s: %#", (_, of, ok) => {
    expect(checkDefinition(written(of)).ok).toBe(ok);
  });

  it("are unknown to the registry, and need not be there", async () => {
    const definition = defineAgent({
      name: "helper",
      memory_config,
      permissions: ["memory:read"],
      tools: ["recall"],
    });
    await expect(agentTools(definition, { tools: createToolRegistry([]) })).rejects.toMatchObject({
      code: "unknown_tool",
    });
    const { memoryToolsOf } = await import("../../../src/compile/memory/memory-tools.ts");
    const tools = createToolRegistry([]);
    const implied = memoryToolsOf(definition, tools);
    const found = await agentTools(definition, { tools }, { inside: [], implied });
    expect([...found.keys()]).toEqual(["recall"]);
  });
});

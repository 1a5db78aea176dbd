import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent } from "../../src/index.ts";
import type { Rail, RailSubject } from "../../src/definition/rail.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { wordRail } from "../helpers/word-rail.ts";

const rail = (...on: readonly RailSubject["on"][]) => wordRail("damn", "block", on);

async function compiled(own: Rail, list: "input_rails" | "output_rails") {
  const { runtime } = await testRuntime([]);
  const guardrail_config = { [list]: [{ type: "custom" as const, name: own.name }] };
  return compileAgent(defineAgent({ name: "a", rails: [own], guardrail_config }), runtime);
}

describe("a custom rail among rails that never ask it", () => {
  it("is refused where it only checks output, among input rails", async () => {
    await expect(compiled(rail("output"), "input_rails")).rejects.toMatchObject({
      code: "rail_side",
      rail: "word",
      list: "input_rails",
      on: ["output"],
      message:
        'Rail "word" checks output, and guardrail_config.input_rails are asked about input and tool_result: it would never run. Name it in output_rails, or define it on input or tool_result.',
    });
  });

  it("is refused where it checks no output, among output rails", async () => {
    await expect(compiled(rail("input", "tool_result"), "output_rails")).rejects.toMatchObject({
      code: "rail_side",
      message:
        'Rail "word" checks input and tool_result, and guardrail_config.output_rails are asked about output: it would never run. Name it in input_rails, or define it on output.',
    });
  });

  it("is taken where one of its sides is asked about", async () => {
    await expect(compiled(rail("output", "tool_result"), "input_rails")).resolves.toBeDefined();
    await expect(compiled(rail("input", "output"), "output_rails")).resolves.toBeDefined();
  });
});

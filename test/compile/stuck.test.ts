import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input_schema: z.object({ at: z.string() }),
  handler: ({ at }) => `nothing at ${at}`,
});
const limits = { max_attempts: 1, max_iterations: 20 };
const loop = defineAgent({ name: "loop", tools: [look], execution_config: limits });
const flow = defineAgent({
  name: "flow",
  tools: [look],
  execution_config: limits,
  workflow_graph: {
    entry_point: "think",
    nodes: [
      { name: "think", type: "llm" },
      { name: "act", type: "tool" },
    ],
    edges: [
      { from: "think", to: "act", condition: "size(nodes.think.tool_calls) > 0" },
      { from: "think", to: "END" },
      { from: "act", to: "think" },
    ],
  },
});
const lookAt = (at: string) => ({ name: "look", args: { at } });
const same = { calls: [lookAt("a")] };
const stuckAt = (at: string) => ({
  calls: [lookAt(at), { name: "note_step", args: { progress: "stuck" } }],
});
const reflection = (progress: string) =>
  JSON.stringify({ reflection: "Still nothing.", progress, approach: "Ask somebody." });
const repeated = "the same call of look gave the same result 3 times";

async function run(agent: typeof loop, script: readonly ScriptedReply[]) {
  const made = await testRuntime(script);
  const { runtime, onEvent, events } = made;
  const result = await executeAgent(agent, { message: "find" }, { runtime, onEvent });
  const stuck = events.flatMap((event) =>
    event.type === "stuck" ? [{ action: event.action, reason: event.reason }] : [],
  );
  return { ...made, ...result, stuck };
}

describe.each([
  ["the standard loop", loop],
  ["an llm node", flow],
])("%s, when it goes round in circles", (_name, agent) => {
  it("makes its next step a deep one, which is told why", async () => {
    const { steps, model, stuck, status } = await run(agent, [
      same,
      same,
      same,
      "Look at b.",
      { calls: [lookAt("b")] },
      reflection("advancing"),
      "Nowhere.",
    ]);
    expect(status).toBe("COMPLETED");
    expect(steps.map(({ mode }) => mode)).toEqual(["fast", "fast", "fast", "deep", "fast"]);
    expect(stuck).toEqual([{ action: "deepen", reason: repeated }]);
    const why = `You are going round in circles: ${repeated}. Change the approach, or finish with what is known.`;
    expect(model.read(2).join("\n")).not.toContain(why);
    expect(model.read(3).at(-1)).toMatch(`human: ${why}\n\nState in one or two sentences`);
    expect(model.read(4).at(-1)).toBe(`human: Plan for this step: Look at b.\n\n${why}`);
    expect(model.requests[4]?.tools).toBe(model.requests[0]?.tools);
    expect(model.read(6).join("\n")).not.toContain(why);
    expect(model.read(6).at(-1)).toBe(
      "human: Approach: Ask somebody.\nReflection on the last step: Still nothing.\nProgress: advancing",
    );
  });

  it("keeps what the deep step noted where its reflection says nothing of it", async () => {
    const hypothesis = { belief: "it is in b", test: "look at b" };
    const noted = { name: "note_step", args: { hypothesis, synthesis: "Not in a." } };
    const { steps } = await run(agent, [
      same,
      same,
      same,
      "Look at b.",
      { calls: [lookAt("b"), noted] },
      reflection("advancing"),
      "Nowhere.",
    ]);
    expect(steps[3]).toMatchObject({ hypothesis, synthesis: "Not in a.", progress: "advancing" });
  });

  it("ends the attempt with the reason when the deep step helped nothing", async () => {
    const script = [same, same, same, "Once more.", same, reflection("stuck")];
    const { attempts, stuck, status, steps } = await run(agent, script);
    expect(status).toBe("FAILED");
    expect(steps).toHaveLength(4);
    expect(attempts).toEqual([{ attempt_number: 0, errors: [repeated] }]);
    expect(stuck).toEqual([
      { action: "deepen", reason: repeated },
      { action: "end", reason: repeated },
    ]);
  });

  it("counts the steps that say so beside their calls", async () => {
    const { attempts, stuck } = await run(agent, [
      stuckAt("a"),
      stuckAt("b"),
      stuckAt("c"),
      "Look at d.",
      stuckAt("d"),
      "no JSON",
    ]);
    const reason = "3 steps in a row made no progress";
    expect(stuck).toEqual([
      { action: "deepen", reason },
      { action: "end", reason },
    ]);
    expect(attempts[0]?.errors).toEqual([reason]);
  });
});

describe("a last answer", () => {
  it("is not made another way when the attempt is stuck", async () => {
    const agent = defineAgent({
      name: "short",
      tools: [look],
      execution_config: { max_attempts: 1, max_iterations: 3 },
    });
    const { steps, stuck, status } = await run(agent, [same, same, same, "Nowhere."]);
    expect(status).toBe("COMPLETED");
    expect(steps.at(-1)).toMatchObject({ mode: "fast", thought: "Nowhere." });
    expect(stuck).toEqual([]);
  });
});

describe("the end of a stuck attempt", () => {
  it("leaves the next one to choose its approach anew", async () => {
    const agent = defineAgent({
      name: "again",
      tools: [look],
      execution_config: { max_attempts: 2, max_iterations: 20 },
    });
    const { steps, model, status } = await run(agent, [
      same,
      same,
      same,
      "Once more.",
      same,
      reflection("stuck"),
      "Nowhere.",
    ]);
    expect(status).toBe("COMPLETED");
    expect(steps.map(({ approach }) => approach)).toEqual(["", "", "", "Ask somebody.", ""]);
    expect(model.read(6).at(-1)).toContain(`human: That answer was not accepted:\n- ${repeated}`);
  });
});

describe("a tool that is polled", () => {
  const status = (execution: { readonly repeatable?: boolean }) =>
    defineTool({
      name: "status",
      description: "Gives the status of a job.",
      input_schema: z.object({}),
      execution,
      handler: () => "running",
    });
  const poll = { calls: [{ name: "status", args: {} }] };
  const waiting = {
    calls: [
      { name: "status", args: {} },
      { name: "note_step", args: { progress: "stuck" } },
    ],
  };
  const polling = (tool: ReturnType<typeof status>, tool_rails: object = {}) =>
    defineAgent({
      name: "polls",
      tools: [tool],
      execution_config: limits,
      guardrail_config: { tool_rails },
    });

  it("may say the same as often as it takes, also where the model says that nothing moves", async () => {
    const script = [poll, poll, poll, waiting, waiting, waiting, "Done."];
    const {
      status: ended,
      stuck,
      steps,
    } = await run(polling(status({ repeatable: true })), script);
    expect([ended, stuck, steps.length]).toEqual(["COMPLETED", [], 7]);
  });

  it("is named by a definition where it does not say so itself", async () => {
    const agent = polling(status({}), { repeatable: ["status"] });
    const { status: ended, stuck } = await run(agent, [poll, poll, poll, poll, "Done."]);
    expect([ended, stuck]).toEqual(["COMPLETED", []]);
  });

  it("is bounded by the definition", async () => {
    const agent = polling(status({ repeatable: true }), { max_polls: 4 });
    const { stuck } = await run(agent, [
      poll,
      poll,
      poll,
      poll,
      "Wait.",
      poll,
      reflection("stuck"),
    ]);
    const reason = "the same call of status gave the same result 4 times";
    expect(stuck).toEqual([
      { action: "deepen", reason },
      { action: "end", reason },
    ]);
  });

  it("is bounded tighter, or less so, by a definition for tools that are not repeatable", async () => {
    const agent = polling(status({}), { max_repeats: 2 });
    const { stuck } = await run(agent, [poll, poll, "Wait.", poll, reflection("stuck")]);
    const reason = "the same call of status gave the same result 2 times";
    expect(stuck.map((one) => one.reason)).toEqual([reason, reason]);
  });
});

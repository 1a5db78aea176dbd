import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, definePlanner, defineTool } from "../../../src/index.ts";
import { SubtaskTimeoutError } from "../../../src/compile/planner/planner-config.ts";
import type { StepRecord } from "../../../src/state/step-record.ts";
import { asPlan, codeWorker, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";
import { noUsage } from "../../../src/state/usage.ts";

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => text,
});
const agent = defineAgent({ name: "agent", description: "Helps.", tools: [echo] });
const twoKinds = {
  subtasks: [
    ...planOf({ a: "" }, { worker: "agent" }).subtasks,
    ...planOf({ b: "a" }, { worker: "w" }).subtasks,
  ],
};
const agentReplies = {
  "Do a.": [{ calls: [{ name: "echo", args: { text: "x" } }] }, "said x"],
} as const;

describe("what a planner spends", () => {
  it("is what it and its workers spend, also on what fails", async () => {
    const { result, planning } = await runPlan({
      workers: [agent, codeWorker(() => "ok")],
      plan: null,
      script: plannerReplies({ ...agentReplies, "Break the task": asPlan(twoKinds) }),
    });
    expect(result.usage).toEqual({
      ...noUsage,
      tokens_in: 50,
      tokens_out: 25,
      llm_calls: 5,
      tool_calls: 1,
      cost_usd: expect.closeTo(0.005),
    });
    const { a, b } = (await planning()).subtasks;
    expect(a?.usage).toMatchObject({ llm_calls: 2, tool_calls: 1 });
    expect(b?.usage).toMatchObject({ llm_calls: 0, tool_calls: 0 });
  });

  it("counts the subtasks of planners among its workers once", async () => {
    const inner = definePlanner({ name: "inner", description: "Plans.", workers: [agent] });
    const { result, planning } = await runPlan({
      workers: [inner],
      plan: planOf({ top: "" }, { worker: "inner" }),
      script: plannerReplies({
        ...agentReplies,
        "Break the task": asPlan(planOf({ a: "" }, { worker: "agent" })),
      }),
    });
    expect(result.usage).toMatchObject({ llm_calls: 7, tool_calls: 1 });
    expect((await planning()).subtasks["top"]?.usage).toMatchObject({ llm_calls: 5 });
  });

  it("counts a plan that was refused, and a turn that failed", async () => {
    const { result } = await runPlan({
      plan: null,
      script: plannerReplies({
        "Break the task": asPlan({ subtasks: [] }),
        "That answer was not accepted": asPlan({ subtasks: [] }),
      }),
    });
    expect([result.status, result.usage.llm_calls]).toEqual(["FAILED", 2]);
  });
});

describe("the records of a planner", () => {
  it("are one for each of its calls and one for each subtask", async () => {
    const { inside } = await runPlan({
      workers: [agent, codeWorker(() => "counted")],
      plan: null,
      script: plannerReplies({ ...agentReplies, "Break the task": asPlan(twoKinds) }),
    });
    const records = (await inside())["steps"] as StepRecord[];
    expect(records.map(({ node, thought, step_index }) => [node, thought, step_index])).toEqual([
      ["decompose", "a: Do a.\nb: Do b. (after a)", 0],
      ["execute", "", 1],
      ["execute", "", 2],
      ["synthesise", "Joined.", 3],
      ["judge", "No gaps.", 4],
    ]);
    expect(records.flatMap(({ tool_results: results }) => results)).toMatchObject([
      {
        id: "a",
        name: "agent",
        args: { id: "a", task: "Do a." },
        result: "said x",
        outcome: "success",
      },
      {
        id: "b",
        name: "w",
        args: { id: "b", task: "Do b." },
        result: "counted",
        outcome: "success",
      },
    ]);
    expect(records.map(({ usage }) => usage.llm_calls)).toEqual([1, 2, 0, 1, 1]);
  });

  it("are one for both calls of a plan that was made again, with what was wrong", async () => {
    const { inside } = await runPlan({
      plan: null,
      script: plannerReplies({
        "Break the task": "I think we should do a.",
        "That answer was not accepted": asPlan(planOf({ a: "" })),
      }),
    });
    const [first] = (await inside())["steps"] as StepRecord[];
    expect(first).toMatchObject({
      node: "decompose",
      thought: "a: Do a.",
      usage: { llm_calls: 2 },
    });
    expect(first?.problem).toMatch(/^the reply has no plan/);
  });

  it("tell and keep a plan that failed the turn", async () => {
    const { inside, events } = await runPlan({
      plan: null,
      script: plannerReplies({ "Break the task": "Hm.", "That answer was not accepted": "No." }),
    });
    const records = (await inside())["steps"] as StepRecord[];
    expect(records).toMatchObject([{ node: "decompose", thought: "No.", usage: { llm_calls: 2 } }]);
    expect(events.flatMap((event) => (event.type === "step" ? [event.step] : []))).toEqual(records);
  });

  it("tell what failed, timed out and was skipped", async () => {
    const { inside } = await runPlan({
      plan: planOf({ a: "", b: "a", c: "", d: "" }),
      on_failure: "partial",
      does: ({ id }) => {
        if (id === "a") throw new Error("broken");
        if (id === "d") throw new SubtaskTimeoutError("d", 1);
        return id;
      },
      retries: 0,
    });
    const records = (await inside())["steps"] as StepRecord[];
    const results = records.flatMap(({ tool_results }) => tool_results);
    expect(
      Object.fromEntries(results.map(({ id, outcome, error }) => [id, [outcome, error]])),
    ).toEqual({
      a: ["failure", "broken"],
      b: ["failure", 'it needs "a", which failed'],
      c: ["success", null],
      d: ["timeout", expect.stringContaining("longer than its 1 s")],
    });
  });
});

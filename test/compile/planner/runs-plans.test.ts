import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compilePlanner,
  defineAgent,
  definePlanner,
  defineTool,
  executeAgent,
} from "../../../src/index.ts";
import { asPlan, codeWorker, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { planOf } from "../../helpers/subtasks.ts";

describe("a planner", () => {
  it("runs the plan that it is given, joins the results and judges them", async () => {
    const { result, planning, model } = await runPlan({
      plan: planOf({ a: "", b: "a" }),
      does: ({ id, results }) => ({ id, results }),
    });
    expect(result).toMatchObject({ status: "COMPLETED", output: { message: "Joined." } });
    expect(await planning()).toMatchObject({
      criteria_met: true,
      gaps: [],
      depth: 0,
      levels: [["a"], ["b"]],
      subtasks: {
        a: { status: "done", attempts: 1, result: { id: "a", results: {} } },
        b: { status: "done", attempts: 1, result: { id: "b", results: { a: { id: "a" } } } },
      },
    });
    expect(model.requests).toHaveLength(2);
  });

  it("runs the plan that its model makes", async () => {
    const plan = { ...planOf({ a: "", b: "a" }), success_criteria: "It is short." };
    const { result, planning, model } = await runPlan({
      plan: null,
      max_subtasks: 7,
      script: plannerReplies({ "Break the task": asPlan(plan) }),
    });
    expect(result.output).toEqual({ message: "Joined." });
    expect((await planning()).plan).toEqual(plan);
    expect(model.requests.map(({ answer }) => answer?.name)).toEqual(["plan", undefined, "judge"]);
    expect(model.read(0)[0]).toBe("human: Do it.");
    expect(model.read(0).at(-1)).toContain("- w: Does what is w.\nAt most 7 subtasks.");
    expect(model.read(1).at(-1)).toContain("It is judged by: It is short.");
    expect(model.read(2).slice(-2)).toEqual([
      "ai: Joined.",
      expect.stringContaining("the task and these criteria: It is short."),
    ]);
  });

  it("reads plan and verdict from the text of a model without tools", async () => {
    const { runtime, model } = await testRuntime(
      [
        `Here you are:\n${JSON.stringify(planOf({ a: "" }))}`,
        "Joined.",
        '```json\n{"gaps": []}\n```',
      ],
      { toolCalling: false },
    );
    const planner = definePlanner({ workers: [codeWorker(() => "ok")] });
    const { output, status } = await executeAgent(planner, { message: "Do it." }, { runtime });
    expect([status, output]).toEqual(["COMPLETED", { message: "Joined." }]);
    expect(model.requests).toHaveLength(3);
  });

  it("judges by its own criteria before those of the plan", async () => {
    const { model } = await runPlan({
      plan: { ...planOf({ a: "" }), success_criteria: "It is short." },
      success_criteria: "It rhymes.",
    });
    expect(model.read(0).at(-1)).toContain("It is judged by: It rhymes.");
    expect(model.read(1).at(-1)).toContain("these criteria: It rhymes.");
  });

  it("runs without anything that keeps it", async () => {
    const { runtime } = await testRuntime(plannerReplies(), { checkpointer: false });
    const planner = definePlanner({ workers: [codeWorker(() => "ok")] });
    const input = { message: "Do it.", plan: planOf({ a: "", b: "a" }) };
    const { output } = await executeAgent(planner, input, { runtime });
    expect(output).toEqual({ message: "Joined." });
  });

  it("is compiled to a plain graph, which runs by itself", async () => {
    const { runtime } = await testRuntime(plannerReplies());
    const graph = await compilePlanner({ workers: [codeWorker(() => "ok")] }, runtime);
    const input = { message: "Do it.", plan: planOf({ a: "", b: "a" }) };
    const state = await graph.invoke({ input }, { configurable: { thread_id: "t" } });
    expect([state.status, state.output]).toEqual(["COMPLETED", { message: "Joined." }]);
  });

  it("gives what it found done to whoever joins, and nothing else of the workers", async () => {
    const { model } = await runPlan({
      plan: planOf({ a: "", b: "a" }),
      does: ({ id }) => `the ${id} result`,
    });
    const read = model.read(0).join("\n");
    expect(read).toContain("the a result");
    expect(read).toContain("the b result");
    expect(model.requests[0]?.tools ?? []).toEqual([]);
  });
});

describe("the worker of a subtask", () => {
  const counting = codeWorker(() => "counted", "counter");
  const writing = codeWorker(() => "written", "writer");

  it("is the one that the plan names, else the one that fits its description", async () => {
    const { planning } = await runPlan({
      workers: [counting, writing],
      plan: {
        subtasks: [
          { id: "a", description: "Write a poem.", dependencies: [] },
          { id: "b", description: "Write a poem.", dependencies: [], worker: "counter" },
          { id: "c", description: "Count the stars.", dependencies: [] },
          { id: "d", description: "Something else.", dependencies: [] },
        ],
      },
    });
    const { subtasks } = await planning();
    expect(Object.values(subtasks).map(({ worker, result }) => [worker, result])).toEqual([
      ["writer", "written"],
      ["counter", "counted"],
      ["counter", "counted"],
      ["counter", "counted"],
    ]);
  });

  it("is matched by the tools of agents too", async () => {
    const translate = defineTool({
      name: "translate",
      description: "Translates a text into French.",
      input_schema: z.object({}),
      handler: () => "",
    });
    const first = defineAgent({ name: "first", description: "Helps." });
    const second = defineAgent({ name: "second", description: "Helps.", tools: [translate] });
    const { planning } = await runPlan({
      workers: [first, second],
      plan: planOf({ a: "" }, { description: "Translate the letter." }),
      script: plannerReplies({ "Translate the letter.": "La lettre." }),
    });
    expect((await planning()).subtasks["a"]).toMatchObject({
      worker: "second",
      result: "La lettre.",
    });
  });
});

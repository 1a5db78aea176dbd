import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../src/index.ts";
import type { WorkerTask } from "../../../src/definition/worker.ts";
import { codeWorker, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

const agent = defineAgent({
  name: "w",
  description: "Does everything.",
  system_prompt: { role: "You are a worker." },
});

describe("an agent that does a subtask", () => {
  it("reads the description and the results of its dependencies, and nothing else", async () => {
    const { model, result } = await runPlan({
      workers: [agent],
      plan: {
        ...planOf({ a: "", secret: "", b: "a", c: "a b" }),
        success_criteria: "The criteria.",
      },
      script: plannerReplies({
        "Do secret.": "hidden",
        "Do a.": "from a",
        "Do b.": "from b",
        "Do c.": "from c",
      }),
    });
    expect(result.status).toBe("COMPLETED");
    const system = "system: You are a worker.";
    // Workers run concurrently: they may call the model in any order.
    const byTask = [0, 1, 2, 3]
      .map((call) => model.read(call))
      .toSorted((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1));
    expect(
      byTask.map((read) => read.map((text) => text.replace(/^(system: [^.]*\.).*/s, "$1"))),
    ).toEqual([
      [system, "human: Do a."],
      [system, "human: Do b.\n\nResults of earlier subtasks:\n\n### a: Do a.\nfrom a"],
      [
        system,
        "human: Do c.\n\nResults of earlier subtasks:\n\n### a: Do a.\nfrom a\n\n### b: Do b.\nfrom b",
      ],
      [system, "human: Do secret."],
    ]);
    expect(byTask.flat().join("\n")).not.toMatch(/The criteria|Do it/);
  });

  it("is told what is expected of it", async () => {
    const { model } = await runPlan({
      workers: [agent],
      plan: planOf({ a: "" }, { worker: "w", expected_output: "One word." }),
      script: plannerReplies({ "Do a.": "word" }),
    });
    expect(model.read(0).at(-1)).toBe("human: Do a.\n\nExpected output: One word.");
  });

  it("takes the results as they are where its input has them", async () => {
    const taking = defineAgent({
      name: "taking",
      description: "Sums up.",
      input_schema: z.object({ message: z.string(), results: z.record(z.string(), z.unknown()) }),
      initialExecutionState: ({ results }) => ({ results }),
      output_schema: z.object({ sum: z.number() }),
    });
    const { planning, model } = await runPlan({
      workers: [codeWorker(() => ({ n: 2 })), taking],
      plan: {
        subtasks: [
          ...planOf({ a: "" }).subtasks,
          ...planOf({ b: "a" }, { worker: "taking" }).subtasks,
        ],
      },
      script: plannerReplies({ '{"message":"Do b.': '{ "sum": 2 }', "Do b.": '{ "sum": 2 }' }),
    });
    expect((await planning()).subtasks["b"]).toMatchObject({ status: "done", result: { sum: 2 } });
    expect(model.read(0).at(-1)).toContain('"results":{"a":{"n":2}}');
  });

  it("fails its subtask when its input cannot be what the planner gives", async () => {
    const picky = defineAgent({
      name: "picky",
      description: "Sums up.",
      input_schema: z.object({ message: z.string().max(3) }),
    });
    const { planning, result } = await runPlan({
      workers: [picky],
      on_failure: "fail",
      plan: planOf({ a: "" }, { worker: "picky" }),
    });
    expect(result.status).toBe("FAILED");
    expect((await planning()).subtasks["a"]).toMatchObject({
      status: "failed",
      attempts: 1,
      error: { code: "invalid_input" },
    });
  });
});

describe("code that does a subtask", () => {
  it("is given the subtask, the results of its dependencies and the attempt", async () => {
    const given: WorkerTask[] = [];
    await runPlan({
      plan: planOf({ a: "", b: "", c: "a" }, { worker: "w", expected_output: "One." }),
      does: (task) => {
        given.push(task);
        return task.id;
      },
    });
    expect(given.at(-1)).toEqual({
      id: "c",
      description: "Do c.",
      expected_output: "One.",
      dependencies: ["a"],
      results: { a: "a" },
      attempt: 1,
      signal: expect.any(AbortSignal),
    });
    expect(given.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it("is given what it depends on in the order of the subtask, whatever the ids", async () => {
    const plan = planOf({ "2": "", b: "", "10": "", last: "10 b 2" });
    const { planning } = await runPlan({
      plan,
      does: ({ id, dependencies, results }) =>
        dependencies.map((from) => [from, results[from]]).join(" ") || `from ${id}`,
    });
    expect((await planning()).subtasks["last"]?.result).toBe("10,from 10 b,from b 2,from 2");
  });

  it("cannot change what others are given", async () => {
    const { planning } = await runPlan({
      plan: planOf({ a: "", b: "a", c: "a" }),
      max_depth: 0,
      does: ({ id, results }) => {
        if (id === "a") return { list: [1] };
        if (id === "b") (results as { a: { list: number[] } }).a.list.push(2);
        return results;
      },
    });
    expect((await planning()).subtasks).toMatchObject({
      a: { result: { list: [1] } },
      b: { status: "failed", error: { code: "worker_error" } },
      c: { result: { a: { list: [1] } } },
    });
  });
});

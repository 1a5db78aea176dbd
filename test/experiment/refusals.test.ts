import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileExperiment } from "../../src/app.ts";
import { createInMemoryExperimentMemory } from "../../src/experiment/memory/in-memory.ts";
import { withThread } from "../../src/compile/run/acquire-thread.ts";
import { experimentRuntime } from "../helpers/experiment-run.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const cycle = (key: string): readonly ScriptedReply[] => [
  { calls: [{ name: "memory_write", args: { key, value: key } }] },
  "Done.",
  "R",
];
const twoRuns = {
  cycle_count: 1,
  system_prompt: undefined,
  matrix: { system_prompt: { a: "A", b: "B" } },
};

describe("an experiment that is refused", () => {
  it("forgets nothing where one of its runs is under way", async () => {
    const { run, runtime, log } = await experimentRuntime([...cycle("a"), ...cycle("b")]);
    await run(twoRuns);
    const before = log("drift.a");
    await withThread(runtime, "experiment:drift.b", async () => {
      await expect(run(twoRuns, { fresh: true })).rejects.toMatchObject({ code: "thread_busy" });
    });
    expect(log("drift.a")).toEqual(before);
    expect(await runtime.experimentMemory.of("drift.a").list()).toEqual(["a"]);
  });

  it.each([
    ["is gone", (path: string) => rmSync(path), "has 0 bytes, expected"],
    [
      "was changed",
      (path: string) => writeFileSync(path, readFileSync(path, "utf8").replace("Done.", "Gone.")),
      "is not what the run has written: something in its first 6 lines differs",
    ],
  ])("has a log that %s", async (_, change, problem) => {
    const { run, logFolder } = await experimentRuntime(cycle("a"));
    await run({ cycle_count: 1 });
    change(join(logFolder, "drift.jsonl"));
    await expect(run({ cycle_count: 1 })).rejects.toThrow(problem);
  });

  it("leaves nothing in another folder of logs", async () => {
    const { run, logFolder } = await experimentRuntime(cycle("a"));
    await run({ cycle_count: 1 });
    const other = join(logFolder, "../other");
    await expect(run({ cycle_count: 1 }, { logFolder: other })).rejects.toMatchObject({
      code: "experiment_log_changed",
    });
    expect(existsSync(other)).toBe(false);
  });

  it("names the tool that was meant", async () => {
    const { run } = await experimentRuntime([]);
    await expect(run({ tools: ["memory_wite"] })).rejects.toThrow(
      'There is no tool "memory_wite". Did you mean "memory_write"? Tools: memory_write, ',
    );
  });

  it("finds a prompt that cannot be made before it begins", async () => {
    const { run, logFolder, model } = await experimentRuntime([]);
    await expect(run({ cycle_prompt: "${[1][cycle_number - 1]}" })).rejects.toThrow(
      'cycle_prompt gives nothing for cycle 2 of run "drift": ',
    );
    expect(existsSync(logFolder)).toBe(false);
    expect(model.requests).toEqual([]);
  });

  it("says that logs cannot be kept where a file is in their way", async () => {
    const { run } = await experimentRuntime([]);
    const file = join(tempFolder({ logs: "a file" }), "logs");
    for (const fresh of [false, true]) {
      await expect(run({}, { logFolder: file, fresh })).rejects.toMatchObject({
        code: "experiment_log_access",
      });
    }
  });
});

describe("the graph of experiments", () => {
  it.each([{}, { messages: [] }, "text", [], { config: null }])(
    "names what it takes where it is given %j",
    async (input) => {
      const { runtime, logFolder } = await experimentRuntime([]);
      const graph = await compileExperiment(runtime, { logFolder });
      const bound = graph.withConfig({ configurable: { thread_id: "none" } });
      await expect(bound.invoke(input as never)).rejects.toMatchObject({
        code: "experiment_input",
        message: "The experiment cannot begin: expected { config }, the config of a run.",
      });
    },
  );

  const config = { run_id: "drift", model_name: "test:scripted", cycle_count: 1 };

  it("does not begin a run on the thread of another, nor on its memory", async () => {
    const { runtime } = await experimentRuntime([...cycle("a"), ...cycle("b")]);
    const logFolder = tempFolder();
    const graph = await compileExperiment(runtime, { logFolder });
    const on = (thread_id: string) => ({ configurable: { thread_id } });
    await graph.invoke({ config }, on("one"));
    await expect(
      graph.invoke({ config: { ...config, run_id: "other" } }, on("one")),
    ).rejects.toThrow(
      'The experiment cannot begin: this thread has the run "drift" already; begin another on a new thread.',
    );
    const elsewhere = await compileExperiment(runtime, { logFolder: tempFolder() });
    await expect(elsewhere.invoke({ config }, on("two"))).rejects.toMatchObject({
      code: "experiment_memory_exists",
    });
    expect(await runtime.experimentMemory.of("drift").list()).toEqual(["a"]);
    expect(readdirSync(logFolder)).toEqual(["drift.jsonl"]);
  });

  it("does not go on with a memory that was lost", async () => {
    const failing: ScriptedReply = () => {
      throw new Error("boom");
    };
    const made = await experimentRuntime([...cycle("a"), failing, ...cycle("b")]);
    expect((await made.run()).runs).toMatchObject([{ status: "failed" }]);
    Object.assign(made.runtime, { experimentMemory: createInMemoryExperimentMemory() });
    const { runs } = await made.run();
    expect(runs).toMatchObject([
      { status: "failed", failure: expect.stringContaining("expected 1 changes, got 0") },
    ]);
  });
});

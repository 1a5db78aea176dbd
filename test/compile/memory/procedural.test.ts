import { describe, expect, it } from "vitest";
import { z } from "zod";
import { stepsOfRepeatedTask } from "../../../bench/memory/repeated-task.ts";
import { executeAgent } from "../../../src/app.ts";
import { defineAgent } from "../../../src/definition/define-agent.ts";
import { definePlanner, defineTool, defineWorker } from "../../../src/index.ts";
import type { ToolOutcome } from "../../../src/state/step-record.ts";
import { ToolFailure } from "../../../src/tools/tool-result.ts";
import { plannerReplies } from "../../helpers/run-plan.ts";
import { type MemoryRun, runWithMemory } from "../../helpers/run-with-memory.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";

const tool = (name: string, outcome: ToolOutcome = "success") =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input_schema: z.record(z.string(), z.string()),
    handler: () => {
      if (outcome === "failure") throw new ToolFailure("no");
      return "ok";
    },
  });

const agent = (over: object = {}) =>
  defineAgent({
    name: "helper",
    memory_config: { procedural: { enabled: true, min_frequency: 2 }, ...over },
    tools: [tool("search"), tool("refund"), tool("broken", "failure")],
  });

const calls = (...names: readonly [string, ...string[]][]): ScriptedReply => ({
  calls: names.map(([name, ...keys]) => ({
    name,
    args: Object.fromEntries(keys.map((key) => [key, "x"])),
  })),
});

/** Runs a turn on a thread of its own for each number of replies. */
async function turns(run: MemoryRun, count: number, of = agent()): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    run.clock.advance(1000);
    const { runtime, onEvent } = run;
    await executeAgent(of, { message: `Refund order ${at}.` }, { runtime, onEvent });
  }
}

async function patterns({ memory }: MemoryRun): Promise<readonly unknown[]> {
  const entries = await memory.list({ namespace: ["agents", "helper"], types: ["procedural"] });
  return entries.map(({ metadata: { tags, data } }) => {
    const pattern = data?.["pattern"] as { name: string; frequency: number } | undefined;
    return [pattern?.name, pattern?.frequency, ...tags];
  });
}

const counted = (run: MemoryRun) =>
  run.events.flatMap((event) => (event.type === "memory_written" ? [event.written] : []));

describe("procedural memory", () => {
  const turn = [calls(["search", "q"]), calls(["refund", "id", "why"]), "Done."];

  it("counts the sequence of a turn's successful calls, and makes it a pattern", async () => {
    const run = await runWithMemory([...turn, calls(["broken"]), ...turn]);
    await turns(run, 1);
    expect(await patterns(run)).toEqual([["search → refund", 1, "candidate"]]);
    await turns(run, 1);
    expect(await patterns(run)).toEqual([["search → refund", 2, "pattern"]]);
    expect(counted(run)).toEqual([
      { short_term: 0, episodic: 0, semantic: 0, procedural: 1 },
      { short_term: 0, episodic: 0, semantic: 0, procedural: 1 },
    ]);
  });

  it("offers a pattern to a later turn with a similar request, and no candidate", async () => {
    const run = await runWithMemory([...turn, ...turn, "Hello."]);
    await turns(run, 3);
    expect([0, 3, 6].map((call) => run.memorySection(call)?.split("\n").at(-1))).toEqual([
      undefined,
      undefined,
      expect.stringContaining("search → refund: search(q) → refund(id, why) (worked 2 times)"),
    ]);
  });

  it("takes fewer steps once the sequence is a pattern", async () => {
    expect(await stepsOfRepeatedTask({ enabled: false }, 4)).toEqual([15, 15, 15, 15]);
    expect(await stepsOfRepeatedTask({ enabled: true, min_frequency: 2 }, 4)).toEqual([
      15, 15, 4, 4,
    ]);
  });

  it("tells sequences with other arguments or another order apart", async () => {
    const run = await runWithMemory([
      calls(["search", "q"], ["refund", "id"]),
      "Done.",
      calls(["search"], ["refund", "id"]),
      "Done.",
      calls(["refund", "id"], ["search", "q"]),
      "Done.",
    ]);
    await turns(run, 3);
    expect(await patterns(run)).toHaveLength(3);
  });

  it("counts nothing of a turn with fewer than 2 successful calls", async () => {
    const run = await runWithMemory([calls(["search"]), calls(["broken"]), "Done.", "Hello."]);
    await turns(run, 2);
    expect([await patterns(run), counted(run)[0]?.procedural]).toEqual([[], 0]);
  });

  it("counts the calls of all attempts of a turn, and none of a failed turn", async () => {
    const run = await runWithMemory([
      calls(["search"], ["refund"]),
      "No.",
      calls(["refund"], ["search"]),
      "Yes.",
      calls(["search"], ["refund"]),
      "No.",
      calls(["search"], ["refund"]),
      "No.",
    ]);
    const strict = defineAgent({
      name: "helper",
      memory_config: { procedural: { enabled: true } },
      execution_config: { max_attempts: 2 },
      tools: [tool("search"), tool("refund")],
      validate: (output) => (output.message === "No." ? "no" : undefined),
    });
    await turns(run, 2, strict);
    expect(await patterns(run)).toEqual([["search → refund ×2 → search", 1, "candidate"]]);
  });

  it("leaves out the tools of memory itself", async () => {
    const recall = { name: "recall", args: { query: "orders" } };
    const run = await runWithMemory([
      { calls: [recall] },
      calls(["search"]),
      calls(["refund"]),
      "Done.",
    ]);
    await turns(run, 1, agent({ long_term: { enabled: true } }));
    expect(await patterns(run)).toEqual([["search → refund", 1, "candidate"]]);
  });

  it("counts nothing unless it is on", async () => {
    const run = await runWithMemory(turn);
    await turns(run, 1, agent({ long_term: { enabled: true }, procedural: { enabled: false } }));
    expect(await patterns(run)).toEqual([]);
  });
});

describe("procedural memory of a planner", () => {
  it("counts the workers of the completed subtasks, and leaves the entries to its agent", async () => {
    const worker = (name: string) =>
      defineWorker({ name, description: `Does ${name}.`, run: () => "ok" });
    const planner = definePlanner({
      name: "helper",
      workers: [worker("find"), worker("write")],
      memory_config: { long_term: { enabled: true }, procedural: { enabled: true } },
    });
    const run = await runWithMemory(plannerReplies());
    const plan = {
      subtasks: [
        { id: "a", description: "Find it.", dependencies: [], worker: "find" },
        { id: "b", description: "Write it.", dependencies: ["a"], worker: "write" },
      ],
    };
    const { runtime, onEvent } = run;
    await executeAgent(planner, { message: "Do it.", plan }, { runtime, onEvent, threadId: "t" });
    expect(await patterns(run)).toEqual([["find → write", 1, "candidate"]]);
    expect(counted(run)).toEqual([
      { short_term: 0, episodic: 0, semantic: 0, procedural: 1 },
      { short_term: 2, episodic: 1, semantic: 0, procedural: 0 },
    ]);
  });
});

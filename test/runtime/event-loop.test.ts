import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { systemClock } from "../../src/clock.ts";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { countTurns } from "../helpers/count-turns.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { plannerThread } from "../helpers/run-plan.ts";
import { planOf } from "../helpers/subtasks.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const steps = 40;

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => text,
});

const unlimited = { max_iterations: 100_000, timeout_seconds: 3600 };
const loop = defineAgent({ name: "loop", tools: [echo], execution_config: unlimited });

/** Asks for `echo` so many times, then answers. `onStep` is told the number of each call. */
function stepping(count: number, onStep: (step: number) => void = () => {}): ScriptedReply[] {
  return Array.from({ length: count + 1 }, (_, step) => () => {
    onStep(step);
    if (step === count) return new AIMessage("done");
    const args = { text: `value ${step}` };
    return new AIMessage({
      content: "",
      tool_calls: [{ id: `call-${step}`, name: "echo", args }],
    });
  });
}

/** Counts turns of the event loop while something runs, from its second run on: the first one loads modules. */
async function turnsDuring<T>(run: () => Promise<T>): Promise<{ turns: number; result: T }> {
  await run();
  const counted = countTurns();
  try {
    const result = await run();
    return { turns: counted.turns, result };
  } finally {
    counted.stop();
  }
}

const database = useDatabase("pglite");

const savers = {
  "no checkpointer": async () => false as const,
  MemorySaver: async () => new MemorySaver(),
  PGlite: async () => {
    const saver = await openCheckpointer(database.shared);
    await saver.setup();
    return saver;
  },
};

describe.each(Object.entries(savers))("a run without I/O, %s", (_name, open) => {
  const runOf = async (script: readonly ScriptedReply[]) =>
    testRuntime(script, { checkpointer: await open(), clock: systemClock });

  it("lets the event loop turn at every node", async () => {
    const { runtime } = await runOf([...stepping(steps), ...stepping(steps)]);
    const { turns, result } = await turnsDuring(() =>
      executeAgent(loop, { message: "go" }, { runtime }),
    );
    expect(result.status).toBe("COMPLETED");
    expect(turns).toBeGreaterThanOrEqual(2 * steps);
  });

  it("is cancelled by a signal that a timer aborts", async () => {
    const abort = new AbortController();
    let made = 0;
    const { runtime } = await runOf(
      stepping(2000, (step) => {
        made = step;
        if (step === 5) setTimeout(() => abort.abort(), 0);
      }),
    );
    const { status } = await executeAgent(
      loop,
      { message: "go" },
      { runtime, signal: abort.signal },
    );
    expect(status).toBe("CANCELLED");
    expect(made).toBeLessThan(2000);
  });

  it("is cancelled within a step by a signal that an immediate aborts", async () => {
    const abort = new AbortController();
    let made = 0;
    const { runtime } = await runOf(
      stepping(steps, (step) => {
        made = step;
        if (step === 5) setImmediate(() => abort.abort());
      }),
    );
    const { status } = await executeAgent(
      loop,
      { message: "go" },
      { runtime, signal: abort.signal },
    );
    expect(status).toBe("CANCELLED");
    expect(made).toBeLessThanOrEqual(6);
  });

  it("runs concurrently with another run", async () => {
    const order: string[] = [];
    const run = async (name: string) => {
      const { runtime } = await runOf(stepping(steps, () => order.push(name)));
      await executeAgent(loop, { message: "go" }, { runtime });
    };
    await Promise.all([run("a"), run("b")]);
    const changes = order.filter((name, at) => at > 0 && order[at - 1] !== name);
    expect(changes.length).toBeGreaterThanOrEqual(steps);
  });
});

/** Moves its clock on with every checkpoint. */
class SlowSaver extends MemorySaver {
  readonly clock = new ManualClock();

  override put(...given: Parameters<MemorySaver["put"]>) {
    this.clock.advance(100);
    return super.put(...given);
  }
}

it("counts the time between nodes as time of the turn", async () => {
  const saver = new SlowSaver();
  let made = 0;
  const { runtime } = await testRuntime(
    stepping(steps, (step) => (made = step)),
    { checkpointer: saver, clock: saver.clock },
  );
  const limited = defineAgent({
    name: "limited",
    tools: [echo],
    execution_config: { max_iterations: 1000, timeout_seconds: 1 },
  });
  const { status, failure } = await executeAgent(limited, { message: "go" }, { runtime });
  expect({ status, cause: failure?.cause }).toEqual({ status: "FAILED", cause: "turn_timeout" });
  expect(made).toBeLessThanOrEqual(10);
});

it("ends a turn at its time limit, though nothing in it waits", async () => {
  const { runtime } = await testRuntime(stepping(20_000), {
    checkpointer: false,
    clock: systemClock,
  });
  const limited = defineAgent({
    name: "limited",
    tools: [echo],
    execution_config: { max_iterations: 100_000, timeout_seconds: 0.2 },
  });
  const { failure } = await executeAgent(limited, { message: "go" }, { runtime });
  expect(failure?.cause).toBe("turn_timeout");
});

it("lets the event loop turn at every node of a workflow", async () => {
  const rounds = 300;
  const { runtime } = await testRuntime([]);
  const counting = defineAgent({
    name: "counting",
    execution_config: { ...unlimited, max_iterations: rounds, max_attempts: 1 },
    workflow_graph: {
      entry_point: "there",
      nodes: [
        { name: "there", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
        { name: "back", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
      ],
      edges: [
        { from: "there", to: "back" },
        { from: "back", to: "END", condition: "false" },
        { from: "back", to: "there" },
      ],
    },
  });
  const { turns } = await turnsDuring(() => executeAgent(counting, { message: "go" }, { runtime }));
  expect(turns).toBeGreaterThanOrEqual(2 * rounds);
});

it("lets the event loop turn while a planner runs subtasks in code", async () => {
  const names = Array.from({ length: steps }, (_, at) => `s${at}`);
  const plan = planOf(Object.fromEntries(names.map((name, at) => [name, names[at - 1] ?? ""])));
  const { turns, result } = await turnsDuring(async () => (await plannerThread({ plan })).start());
  expect(result.status).toBe("COMPLETED");
  expect(turns).toBeGreaterThanOrEqual(steps);
});

it("lets the event loop turn while one step makes many calls of busy tools", async () => {
  const calls = 20;
  const busy = defineTool({
    name: "busy",
    description: "Computes for longer than a slice.",
    input_schema: z.object({}),
    handler: () => {
      const until = performance.now() + 6;
      while (performance.now() < until);
      return "done";
    },
  });
  const step = { calls: Array.from({ length: calls }, () => ({ name: "busy", args: {} })) };
  const agent = defineAgent({ name: "busy", tools: [busy], execution_config: unlimited });
  const { runtime } = await testRuntime([step, "done", step, "done"], { checkpointer: false });
  const { turns } = await turnsDuring(() => executeAgent(agent, { message: "go" }, { runtime }));
  expect(turns).toBeGreaterThanOrEqual(calls);
});

import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openCheckpointer } from "../../checkpointers/open.ts";
import { systemClock } from "../../src/clock.ts";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { plannerThread } from "../helpers/run-plan.ts";
import { planOf } from "../helpers/subtasks.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const steps = 100;

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

/** Counts turns of the event loop while something runs. */
async function turnsDuring<T>(running: () => Promise<T>): Promise<{ turns: number; result: T }> {
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  try {
    const result = await running();
    return { turns, result };
  } finally {
    clearImmediate(timer);
  }
}

let database: Database;
beforeAll(async () => {
  database = await openDatabase({ inMemory: true });
});
afterAll(() => database.close());

const savers = {
  "no checkpointer": async () => false as const,
  MemorySaver: async () => new MemorySaver(),
  PGlite: async () => {
    const saver = await openCheckpointer(database);
    await saver.setup();
    return saver;
  },
};

describe.each(Object.entries(savers))("a run without I/O, %s", (_name, open) => {
  const runOf = async (script: readonly ScriptedReply[]) =>
    testRuntime(script, { checkpointer: await open(), clock: systemClock });

  it("lets the event loop turn at every node", async () => {
    const { runtime } = await runOf(stepping(steps));
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

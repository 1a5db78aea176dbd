import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, executeAgent } from "../../src/index.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const given = (state: unknown) => () => state as Record<string, never>;
class Order {
  id = 1;
}
const circular: { back?: unknown } = {};
circular.back = circular;

describe("an initialiser", () => {
  it.each<[string, unknown, string, string]>([
    ["a big integer", { n: 10n }, "execution.n", "a bigint"],
    ["a date", { items: [{ when: new Date(0) }] }, "execution.items[0].when", "a Date"],
    ["an instance", new Order(), "execution", "an Order"],
    ["what leads back to itself", circular, "execution.back", "a circular reference"],
  ])(
    "that returns %s ends the run by name, and nothing is written",
    async (_, state, path, found) => {
      const saver = new MemorySaver();
      const { runtime, model } = await testRuntime(["done"], { checkpointer: saver });
      const agent = defineAgent({ name: "a", initialExecutionState: given(state) });
      const run = executeAgent(agent, { message: "go" }, { runtime, threadId: "t" });
      await expect(run).rejects.toMatchObject({
        code: "initial_state",
        tier: "execution",
        path,
        found,
        message: `initialExecutionState returned what is not JSON: ${path} is ${found}; return plain objects, lists, texts, finite numbers, booleans and null.`,
      });
      const tuple = await saver.getTuple({ configurable: { thread_id: "t" } });
      expect(tuple?.checkpoint.channel_values).not.toHaveProperty("execution");
      expect(model.requests).toEqual([]);
    },
  );

  it("ends the run by name where its schema makes something else than JSON of the state", async () => {
    const { runtime } = await testRuntime(["done"]);
    const agent = defineAgent({
      name: "a",
      initialExecutionState: () => ({ at: "noon" }),
      execution_schema: z.object({ at: z.any().overwrite(() => new Date(0)) }),
    });
    await expect(executeAgent(agent, { message: "go" }, { runtime })).rejects.toMatchObject({
      code: "initial_state",
      path: "execution.at",
      found: "a Date",
    });
  });

  it("of the attempt is named too", async () => {
    const { runtime } = await testRuntime(["done"]);
    const agent = defineAgent({ name: "a", initialAttemptState: given({ tags: new Set() }) });
    await expect(executeAgent(agent, { message: "go" }, { runtime })).rejects.toMatchObject({
      code: "initial_state",
      tier: "attempt",
      path: "attempt.tags",
      found: "a Set",
    });
  });

  it("keeps what the application goes on using as it is", async () => {
    const defaults = { limits: { pages: 3 }, left: undefined };
    const { runtime } = await testRuntime(["done"]);
    const agent = defineAgent({
      name: "a",
      initialExecutionState: () => defaults,
      initialAttemptState: () => defaults,
    });
    const { state } = await executeAgent(agent, { message: "go" }, { runtime });
    defaults.limits.pages = 4;
    expect(state).toEqual({
      execution: { limits: { pages: 3 } },
      attempt: { limits: { pages: 3 } },
    });
    expect([Object.isFrozen(defaults), Object.isFrozen(state.execution.limits)]).toEqual([
      false,
      true,
    ]);
  });
});

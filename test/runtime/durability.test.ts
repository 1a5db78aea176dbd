import { describe, expect, it } from "vitest";
import { defineAgent, executeAgent } from "../../src/index.ts";
import type { Durability } from "../../src/compile/agent-graph.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { StampingSaver } from "../helpers/stamping-saver.ts";

type Frequency = "every_turn" | "on_change" | "manual";
const agents = {
  every_turn: agentOf("every_turn"),
  on_change: agentOf("on_change"),
  manual: agentOf("manual"),
};

function agentOf(checkpoint_frequency: Frequency) {
  return defineAgent({ name: "plain", execution_config: { checkpoint_frequency } });
}

/** How many checkpoints the nodes of one turn made. */
async function checkpointsOf(frequency: Frequency, durability?: Durability): Promise<number> {
  const saver = new StampingSaver();
  const { runtime } = await testRuntime(["One.", "Two."], { checkpointer: saver });
  const options = { runtime, threadId: "t", ...(durability && { durability }) };
  const result = await executeAgent(agents[frequency], { message: "go" }, options);
  expect(result.output).toEqual({ message: "One." });
  expect((await executeAgent(agents[frequency], { message: "on" }, options)).output).toEqual({
    message: "Two.",
  });
  return saver.puts.filter(({ source }) => source === "loop").length / 2;
}

const everyStep = 6;

describe("what is kept of a turn", () => {
  it.each([
    ["every_turn", undefined, 1],
    ["every_turn", "async", everyStep],
    ["every_turn", "sync", everyStep],
    ["on_change", undefined, everyStep],
    ["on_change", "sync", everyStep],
    ["manual", undefined, everyStep],
    ["manual", "async", everyStep],
    ["manual", "exit", 1],
  ] as const)(
    "under %s when a run asks for %s: %i checkpoints",
    async (frequency, asked, count) => {
      expect(await checkpointsOf(frequency, asked)).toBe(count);
    },
  );

  it("is no less than the definition says", async () => {
    await expect(checkpointsOf("on_change", "exit")).rejects.toMatchObject({
      code: "invalid_run_option",
      option: "durability",
    });
    await expect(checkpointsOf("manual", "never" as Durability)).rejects.toThrow(
      "expected one of sync, async, exit",
    );
  });

  it("is written before the next node runs under sync", async () => {
    const order: string[] = [];
    class SlowSaver extends StampingSaver {
      override async put(...args: Parameters<StampingSaver["put"]>) {
        await new Promise((resolve) => setImmediate(resolve));
        if ("branch:to:reason" in args[1].channel_values) order.push("kept");
        return super.put(...args);
      }
    }
    const says = () => {
      order.push("asked");
      throw new Error("the power is gone");
    };
    const { runtime } = await testRuntime([says], { checkpointer: new SlowSaver() });
    const options = { runtime, threadId: "t", durability: "sync" } as const;
    await expect(executeAgent(agents.manual, { message: "go" }, options)).rejects.toThrow(
      "the power is gone",
    );
    expect(order).toEqual(["kept", "asked"]);
  });
});

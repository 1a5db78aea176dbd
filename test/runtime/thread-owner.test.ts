import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  compileAgent,
  defineAgent,
  executeAgent,
  ForeignThreadError,
  type AgentDefinition,
} from "../../src/index.ts";
import { around, asker } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { StampingSaver } from "../helpers/stamping-saver.ts";

/** Asks, and answers with what a person said. */
const asks = (name: string, prompt = "Who?") =>
  defineAgent({
    name,
    workflow_graph: {
      entry_point: "ask",
      nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt } }],
      edges: [{ from: "ask", to: "END" }],
      output: { message: `\${nodes.ask.value} by ${name}` },
    },
  });
const go = { message: "go" };
const thread = { configurable: { thread_id: "t" } };
const refusal = { code: "foreign_thread", kind: "usage", threadId: "t", owner: "desk" };

/** A thread of the agent `desk`, whose first turn waits, or has ended. */
async function threadOfDesk({ ended = false } = {}) {
  const saver = new StampingSaver();
  const { runtime } = await testRuntime([], { checkpointer: saver });
  const options = { runtime, threadId: "t" };
  await executeAgent(asks("desk"), go, options);
  if (ended) await executeAgent(asks("desk"), null, { ...options, answer: "Ada" });
  const before = JSON.stringify([saver.storage, saver.writes]);
  return {
    saver,
    runtime,
    options,
    expectNothingWritten: () => {
      expect(JSON.stringify([saver.storage, saver.writes])).toBe(before);
    },
  };
}

describe("another agent's thread", () => {
  it("is refused with both names, whatever is asked of it, and nothing is written", async () => {
    for (const ended of [true, false]) {
      const { options, runtime, expectNothingWritten } = await threadOfDesk({ ended });
      const refused = executeAgent(asks("shop"), go, options);
      await expect(refused).rejects.toBeInstanceOf(ForeignThreadError);
      await expect(refused).rejects.toMatchObject({
        ...refusal,
        agent: "shop",
        message:
          'Thread "t" belongs to agent "desk", and this is agent "shop". Use another thread, or pass acceptAgent: true to have "shop" continue it.',
      });
      const { threads } = runtime;
      const shop: AgentDefinition = asks("shop");
      const { config } = await (await compileAgent(asks("desk"), runtime)).getState(thread);
      const checkpointId = String(config.configurable?.["checkpoint_id"]);
      const calls = [
        () => executeAgent(shop, null, options),
        () => executeAgent(shop, null, { ...options, answer: "Bo" }),
        () => executeAgent(shop, null, { ...options, acceptChanges: true }),
        () => threads.replay(shop, { threadId: "t", checkpointId }),
        () => threads.recover(shop, { threadId: "t" }),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject(refusal);
      expectNothingWritten();
    }
  });

  it.each([
    ["a namespace", { checkpoint_ns: "x" }],
    ["what a run of ours carries", { __stratagraph_owner_checked: true }],
    ["a value of ours", { __stratagraph_owner_checked: { value: true } }],
    ["a reader", { checkpoint_ns: "x", __pregel_read: true, __pregel_checkpointer: {} }],
  ])("is refused although a client of a server sends %s", async (_name, sent) => {
    const { runtime, expectNothingWritten } = await threadOfDesk({ ended: true });
    const shop = await compileAgent(asks("shop"), runtime);
    const config = { configurable: { ...thread.configurable, ...sent } };
    await expect(shop.invoke({ input: { message: "go" } }, config)).rejects.toMatchObject(refusal);
    expectNothingWritten();
  });

  it("is taken over when that is accepted, a turn under way too, and is the other's from then on", async () => {
    const { options } = await threadOfDesk();
    const accepted = await executeAgent(asks("shop"), null, {
      ...options,
      answer: "Ada",
      acceptAgent: true,
    });
    expect(accepted.output).toEqual({ message: "Ada by shop" });
    const asked = await executeAgent(asks("shop"), go, options);
    expect(asked.status).toBe("AWAITING_HUMAN");
    await expect(executeAgent(asks("desk"), null, options)).rejects.toMatchObject({
      ...refusal,
      owner: "shop",
      agent: "desk",
    });
  });

  it("is refused by a compiled graph before anything is written, unless the run's config accepts it", async () => {
    const { runtime, expectNothingWritten } = await threadOfDesk();
    const shop = await compileAgent(asks("shop"), runtime);
    const inputs = [{ input: go }, null, new Command({ resume: "Ada" }), new Command({})];
    for (const graph of [shop, shop.withConfig({ tags: ["x"] }), shop.withConfig(thread)]) {
      for (const input of inputs) {
        await expect(graph.invoke(input as never, thread)).rejects.toMatchObject(refusal);
      }
      const events = graph.streamEvents(null, { ...thread, version: "v2" });
      await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal);
      await expect(graph.updateState(thread, { nodes: { a: 1 } })).rejects.toMatchObject(refusal);
    }
    const { config: named } = await shop.getState(thread);
    await expect(shop.invoke({ input: go }, named)).rejects.toMatchObject(refusal);
    expectNothingWritten();
    const accepting = { configurable: { ...thread.configurable, accept_agent: true } };
    const done = await shop.invoke(new Command({ resume: "Ada" }), accepting);
    expect(done).toMatchObject({ status: "COMPLETED", output: { message: "Ada by shop" } });
    expect(await shop.invoke({ input: go }, thread)).toMatchObject({ status: "AWAITING_HUMAN" });
  });

  it("is not refused where its definition has changed, or the thread does not say whose it is", async () => {
    const { options, runtime } = await threadOfDesk({ ended: true });
    const changed = await executeAgent(asks("desk", "Whose?"), go, options);
    expect(changed.interrupts[0]?.prompt).toBe("Whose?");

    const graph = await compileAgent(asks("desk"), runtime);
    const of = { configurable: { thread_id: "older" } };
    const { values } = await graph.getState(thread);
    const { agent: _unsaid, ...turn } = (values as { turn: { agent: string } }).turn;
    await graph.updateState(of, { status: "CREATED", turn, turn_number: 0 }, "finalize");
    const adopted = await executeAgent(asks("shop"), go, { ...options, threadId: "older" });
    expect(adopted.status).toBe("AWAITING_HUMAN");
    await expect(
      executeAgent(asks("desk"), null, { ...options, threadId: "older" }),
    ).rejects.toMatchObject({ owner: "shop" });
  });

  it("is not what an agent inside of another runs on", async () => {
    const { runtime } = await testRuntime(["one", "two", "three", "four"], {
      checkpointer: new MemorySaver(),
    });
    const options = { runtime, threadId: "t" };
    const outer = around("top", asker);
    const asked = await executeAgent(outer, go, options);
    expect(asked.status).toBe("AWAITING_HUMAN");
    await expect(executeAgent(asker, go, options)).rejects.toMatchObject({
      owner: "top",
      agent: "asker",
    });
    expect((await executeAgent(outer, null, { ...options, answer: "Ada" })).status).toBe(
      "COMPLETED",
    );
  });
});

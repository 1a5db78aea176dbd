import { describe, expect, it } from "vitest";
import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { agentNamespace, instanceIdOf } from "../../../src/memory/namespace.ts";
import { runWithMemory, type MemoryRun } from "../../helpers/run-with-memory.ts";

const memory_config = { long_term: { enabled: true } };
const question = { message: "What is the dog called?" };
const agent = defineAgent({ name: "helper", memory_config });

const down = (): never => {
  throw new Error("the model is down");
};

const look = defineTool({
  name: "look",
  description: "Looks.",
  input_schema: z.object({}),
  handler: () => 1,
});
const askingOptions = {
  name: "helper",
  memory_config,
  tools: [look],
  guardrail_config: { tool_rails: { require_approval: ["look"] } },
};
const asking = defineAgent(askingOptions);

/** Stores one entry that fits the question better than all before. */
async function rememberBetter(run: MemoryRun): Promise<void> {
  await run.remember(["What is the dog called? Bello."]);
}

describe("a turn with memories", () => {
  it("keeps them when it is resumed after a crash", async () => {
    const run = await runWithMemory([down, "Rex."]);
    await run.remember(["The dog is called Rex."]);
    const { runtime } = run;
    const options = { runtime, threadId: "t" };
    await expect(executeAgent(agent, question, options)).rejects.toThrow("down");
    await rememberBetter(run);
    await executeAgent(agent, null, options);
    expect(run.memorySection(1)).toBe(run.memorySection(0));
    expect(run.memorySection(1)).not.toContain("Bello");
  });

  it("counts a use once when its beginning runs again", async () => {
    const run = await runWithMemory(["Rex."], {
      change: (memory) => {
        let fails = true;
        return {
          async recordUses(uses) {
            await memory.recordUses(uses);
            if (!fails) return;
            fails = false;
            run.clock.advance(10_000);
            await new Promise(() => undefined);
          },
        };
      },
    });
    const ids = await run.remember(["The dog is called Rex."]);
    const { runtime } = run;
    await executeAgent(agent, question, { runtime, threadId: "t" });
    expect((await run.memory.get(ids))[0]?.access_count).toBe(1);
  });

  it("keeps them when a person answers, and its user where the answer names none", async () => {
    const run = await runWithMemory([{ calls: [{ name: "look", args: {} }] }, "Rex."]);
    await run.remember(["The dog is called Rex."], { user: "u-1" });
    const options = { runtime: run.runtime, threadId: "t" };
    await executeAgent(asking, question, { ...options, user: "u-1" });
    await executeAgent(asking, null, { ...options, answer: true });
    expect(run.memorySection(0)).toContain("Rex");
    expect(run.memorySection(1)).toBe(run.memorySection(0));
  });

  it("writes for its user when it is resumed without one", async () => {
    const run = await runWithMemory([
      { calls: [{ name: "look", args: {} }] },
      { calls: [{ name: "remember", args: { content: "Rex likes fish." } }] },
      "Noted.",
    ]);
    const own = defineAgent({ ...askingOptions, permissions: ["memory:write"] });
    const options = { runtime: run.runtime, threadId: "t" };
    await executeAgent(own, question, { ...options, user: "u-1" });
    await executeAgent(own, null, { ...options, answer: true });
    const [entry] = await run.memory.list({ source: "agent" });
    expect(entry?.namespace).toEqual(["agents", "helper", "users", "u-1"]);
  });

  it("is not resumed for another user", async () => {
    const run = await runWithMemory([{ calls: [{ name: "look", args: {} }] }, "Rex."]);
    const options = { runtime: run.runtime, threadId: "t" };
    await executeAgent(asking, question, { ...options, user: "u-1" });
    const other = { ...options, user: "u-2", answer: true };
    await expect(executeAgent(asking, null, other)).rejects.toMatchObject({
      code: "other_user",
      user: "u-1",
      given: "u-2",
    });
    const { status } = await executeAgent(asking, null, { ...options, user: "u-1", answer: true });
    expect(status).toBe("COMPLETED");
  });

  it("that began without a user is not resumed with one", async () => {
    const run = await runWithMemory([{ calls: [{ name: "look", args: {} }] }, "Rex."]);
    const options = { runtime: run.runtime, threadId: "t" };
    await executeAgent(asking, question, options);
    const other = { ...options, user: "u-2", answer: true };
    await expect(executeAgent(asking, null, other)).rejects.toMatchObject({ user: null });
  });

  it("takes another user for the next turn", async () => {
    const run = await runWithMemory(["Rex.", "Tom."]);
    await run.remember(["The dog of one"], { user: "u-1" });
    await run.remember(["The dog of two"], { user: "u-2" });
    const options = { runtime: run.runtime, threadId: "t" };
    await executeAgent(agent, question, { ...options, user: "u-1" });
    await executeAgent(agent, question, { ...options, user: "u-2" });
    expect(run.memorySection(0)).toContain("of one");
    expect(run.memorySection(1)).toContain("of two");
    expect(run.memorySection(1)).not.toContain("of one");
  });
});

describe("a past context", () => {
  it("has the memories of its turn, and not those found since", async () => {
    const run = await runWithMemory(["Rex."], { checkpointer: new MemorySaver() });
    await run.remember(["The dog is called Rex."]);
    const { runtime } = run;
    await executeAgent(agent, question, { runtime, threadId: "t" });
    await rememberBetter(run);
    const of = { threadId: "t", definition: agent, turn: 0, step: 0 };
    const past = await runtime.threads.context(of);
    expect(past.messages.map(({ text }) => text)).toContain(run.memorySection(0));
    expect(past.metadata.memories).toMatchObject([
      { type: "semantic", score: 0.8, fidelity: "whole" },
    ]);
    expect(past.metadata.tokens.memory).toBeGreaterThan(0);
  });

  it("loses an entry that was forgotten", async () => {
    const run = await runWithMemory(["Rex."]);
    const [first = ""] = await run.remember(["The dog is called Rex.", "The dog barks."]);
    const { runtime } = run;
    await executeAgent(agent, question, { runtime, threadId: "t" });
    await run.memory.forget({ ids: [first] });
    const past = await runtime.threads.context({
      threadId: "t",
      definition: agent,
      turn: 0,
      step: 0,
    });
    const text = past.messages.map((message) => message.text).join("\n");
    expect(text).not.toContain("is called Rex");
    expect(text).toContain("The dog barks.");
  });

  it("of the next turn is searched for, for the user that is given, and records no use", async () => {
    const run = await runWithMemory(["Rex."]);
    await run.remember([{ content: "The dog here", memory_type: "short_term", thread_id: "t" }], {
      user: "u-1",
    });
    const [id = ""] = await run.remember(["The dog of one"], { user: "u-1" });
    const { runtime } = run;
    await executeAgent(agent, { message: "Hi" }, { runtime, threadId: "t" });
    const context = (user?: string) =>
      runtime.threads.context({
        threadId: "t",
        definition: agent,
        input: question,
        ...(user !== undefined && { user }),
      });
    expect((await context()).metadata.memories).toEqual([]);
    expect((await context("u-1")).metadata.memories.map((one) => one.id)).toEqual([id]);
    expect((await run.memory.get([id]))[0]?.access_count).toBe(0);
  });

  it("of the next turn has none of the user of the last one", async () => {
    const run = await runWithMemory(["Hi."]);
    await run.remember(["The dog of one"], { user: "u-1" });
    const { runtime } = run;
    await executeAgent(agent, { message: "Hi" }, { runtime, threadId: "t", user: "u-1" });
    const next = { threadId: "t", definition: agent, input: question };
    expect((await runtime.threads.context(next)).metadata.memories).toEqual([]);
  });
});

describe("a fork and a replay", () => {
  it("read the same entries from the middle of the turn", async () => {
    const run = await runWithMemory([
      { calls: [{ name: "look", args: {} }] },
      "Rex.",
      "Rex again.",
    ]);
    await run.remember(["The dog is called Rex."]);
    const { runtime } = run;
    const own = defineAgent({ name: "helper", memory_config, tools: [look] });
    await executeAgent(own, question, { runtime, threadId: "t" });
    await rememberBetter(run);
    const saver = runtime.checkpointer as MemorySaver;
    const ids: string[] = [];
    for await (const { checkpoint } of saver.list({ configurable: { thread_id: "t" } })) {
      const { steps, current_step } = checkpoint.channel_values;
      if (Array.isArray(steps) && steps.length === 1 && !current_step) ids.push(checkpoint.id);
    }
    const checkpointId = ids.at(-1) ?? "";
    await runtime.threads.replay(own, { threadId: "t", checkpointId });
    expect(run.memorySection(2)).toBe(run.memorySection(0));
  });

  it("leave what became of the turn there", async () => {
    const run = await runWithMemory([
      { calls: [{ name: "look", args: {} }] },
      "Rex.",
      "Rex in the fork.",
    ]);
    const { runtime } = run;
    const options = { runtime, threadId: "t" };
    await executeAgent(asking, question, options);
    // As a fork copies it, which this saver does not have.
    const { storage, writes } = runtime.checkpointer as MemorySaver;
    storage["fork"] = structuredClone(storage["t"] ?? {});
    for (const [key, value] of Object.entries(writes)) {
      const [, ...place] = JSON.parse(key) as string[];
      writes[JSON.stringify(["fork", ...place])] = structuredClone(value);
    }
    await executeAgent(asking, null, { ...options, answer: true });
    const fork = await executeAgent(asking, null, { ...options, threadId: "fork", answer: true });
    expect(fork.output).toEqual({ message: "Rex in the fork." });
    const entries = await run.memory.list({ namespace: ["agents", "helper"], threadId: "fork" });
    expect(entries.map(({ content }) => content)).toContain("Rex in the fork.");
  });
});

describe("a recovery", () => {
  it("reports the entries of the agent in its thread that were accessed last", async () => {
    const run = await runWithMemory([down, "Rex."]);
    const { runtime } = run;
    const instance_id = instanceIdOf("helper", "t");
    const ids = await run.remember([
      ...Array.from({ length: 12 }, (_, at) => ({ content: `note ${at}`, instance_id })),
      "of another instance",
    ]);
    for (const [at, id] of ids.entries()) {
      run.clock.advance(1_000);
      await run.memory.recordUses([{ id, run: `r-${at}`, threadId: "t", score: 1 }]);
    }
    await expect(executeAgent(agent, question, { runtime, threadId: "t" })).rejects.toThrow("down");
    const recovery = await runtime.threads.recover(agent, { threadId: "t" });
    expect(recovery.reason).toBe("resumed");
    expect(recovery.memories.map(({ id }) => id)).toEqual(ids.slice(2, 12).toReversed());
    expect(agentNamespace("helper")).toEqual(["agents", "helper"]);
  });

  it("gives them to a turn that began with none, which keeps them", async () => {
    const run = await runWithMemory([down, { calls: [{ name: "look", args: {} }] }, "Rex."], {
      change: () => ({ search: () => Promise.reject(new Error("search is down")) }),
    });
    const { runtime } = run;
    await run.remember([
      { content: "Seen before.", instance_id: instanceIdOf("helper", "t") },
      "The dog is called Rex.",
    ]);
    const options = { runtime, threadId: "t" };
    await expect(executeAgent(asking, question, options)).rejects.toThrow("down");
    const { reason } = await runtime.threads.recover(asking, { threadId: "t" });
    expect(reason).toBe("resumed");
    expect(run.memorySection(0)).toBeUndefined();
    expect(run.memorySection(1)).toContain("Seen before.");
    expect(run.memorySection(1)).not.toContain("Rex");
    // The answer resumes the turn without the recovery.
    await executeAgent(asking, null, { ...options, answer: true });
    expect(run.memorySection(2)).toBe(run.memorySection(1));
  });

  it("goes through where the memory fails, and warns", async () => {
    const run = await runWithMemory([down, "Rex."], {
      change: () => ({ list: () => Promise.reject(new Error("store is down")) }),
    });
    const { runtime } = run;
    await expect(executeAgent(agent, question, { runtime, threadId: "t" })).rejects.toThrow("down");
    const recovery = await runtime.threads.recover(agent, { threadId: "t" });
    expect([recovery.reason, recovery.memories]).toEqual(["resumed", []]);
    expect(recovery.warnings).toContain("the memory was not read: store is down");
  });
});

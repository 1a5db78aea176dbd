import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { defineAgent, executeAgent } from "../../../src/index.ts";
import { systemIds } from "../../../src/clock.ts";
import type { CompileServices } from "../../../src/compile/compile-agent.ts";
import { createMemory } from "../../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../../src/memory/in-memory-store.ts";
import { defaultTenant } from "../../../src/memory/store.ts";
import { createThreads } from "../../../src/runtime/threads/create-threads.ts";
import type { Threads } from "../../../src/runtime/threads/threads.ts";
import { collect } from "../../helpers/collect.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const agent = defineAgent({ name: "plain" });

describe("threads of a runtime whose checkpointer has LangGraph's interface alone", () => {
  it("say which method needs more", async () => {
    const { runtime } = await testRuntime([]);
    const { threads } = runtime;
    const calls: Record<string, () => Promise<unknown>> = {
      list: () => threads.list(),
      history: () => threads.history("t"),
      stateAt: () => threads.stateAt({ threadId: "t" }),
      fork: () => threads.fork({ threadId: "t" }),
      verify: () => threads.verify("t"),
      prune: () => threads.prune({ threadId: "t", keep: "latest" }),
      export: () => collect(threads.export("t")),
      import: () => threads.import([]),
    };
    for (const [method, call] of Object.entries(calls)) {
      await expect(call()).rejects.toMatchObject({
        code: "no_archive",
        method,
        checkpointer: "MemorySaver",
      });
    }
  });

  it("are replayed, recovered, compared and deleted all the same", async () => {
    const saver = new MemorySaver();
    const { runtime } = await testRuntime(["One.", "Two."], { checkpointer: saver });
    await executeAgent(agent, { message: "go" }, { runtime, threadId: "t" });
    const { threads } = runtime;
    const thread = { configurable: { thread_id: "t" } };
    const [end, ...earlier] = (await collect(saver.list(thread))).map((one) => ({
      threadId: "t",
      checkpointId: one.checkpoint.id,
    }));
    const differences = await threads.diff(earlier[2]!, end!);
    expect(differences.find(({ channel }) => channel === "output")?.changes).toMatchObject([
      { text: 'null → {"message":"One."}' },
    ]);
    expect((await threads.recover(agent, { threadId: "t" })).reason).toBe("over");
    const replayed = await threads.replay(agent, earlier[2]!);
    expect(replayed.output).toEqual({ message: "Two." });
    await threads.delete("t");
    expect(await saver.getTuple(thread)).toBeUndefined();
  });

  it("are none without a checkpointer", async () => {
    const { runtime } = await testRuntime([], { checkpointer: false });
    await expect(runtime.threads.delete("t")).rejects.toMatchObject({ code: "no_checkpointer" });
    await expect(runtime.threads.list()).rejects.toMatchObject({ checkpointer: null });
  });
});

describe("a thread that is deleted", () => {
  async function remembered() {
    const { runtime } = await testRuntime(["One."]);
    const clock = new ManualClock();
    const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
    const memory = createMemory({ store, embeddings: null, clock });
    const namespace = ["agents", "plain"];
    await memory.add([
      { namespace, content: "said", thread_id: "t", memory_type: "short_term" },
      { namespace: ["agents", "other"], content: "by another agent", thread_id: "t" },
      { namespace, content: "fact", thread_id: "t" },
      { namespace, content: "elsewhere", thread_id: "t-2", memory_type: "short_term" },
    ]);
    const models: unknown[] = [];
    const run: CompileServices = {
      ...runtime,
      async memory(model) {
        models.push(model);
        return memory;
      },
    };
    const threads = createThreads({ run, noCheckpoint: (threadId) => new Error(`no ${threadId}`) });
    const left = async () => (await memory.list({})).map(({ content }) => content).toSorted();
    return { threads, left, models };
  }

  it("loses its short-term memories, and asks for no encoder", async () => {
    const { threads, left, models } = await remembered();
    expect(await threads.delete("t")).toEqual({ memories: 1, archived: 0 });
    expect(await left()).toEqual(["by another agent", "elsewhere", "fact"]);
    expect(models).toEqual(["none"]);
    expect(await threads.delete("t")).toEqual({ memories: 0, archived: 0 });
  });

  it("loses everything that was remembered from it on request", async () => {
    const { threads, left } = await remembered();
    expect(await threads.delete("t", { memory: true })).toEqual({ memories: 3, archived: 0 });
    expect(await left()).toEqual(["elsewhere"]);
  });
});

describe("a lock on threads", () => {
  async function locked() {
    const { runtime } = await testRuntime(["One.", "Two."]);
    const log: string[] = [];
    let isTaken = false;
    const services: CompileServices = {
      ...runtime,
      async lockThread(threadId) {
        if (isTaken) throw Object.assign(new Error("locked"), { code: "thread_locked" });
        log.push(`lock ${threadId}`);
        return { release: async () => void log.push(`release ${threadId}`) };
      },
    };
    const threads: Threads = createThreads({
      run: services,
      noCheckpoint: (threadId) => new Error(`no ${threadId}`),
    });
    const take = () => (isTaken = true);
    return { runtime: { ...runtime, ...services }, threads, log, take };
  }

  it("is held while a turn runs, and given back when it fails", async () => {
    const { runtime, threads, log } = await locked();
    await executeAgent(agent, { message: "go" }, { runtime, threadId: "t" });
    await expect(executeAgent(agent, null, { runtime, threadId: "t" })).rejects.toThrow(
      "nothing to resume",
    );
    await threads.recover(agent, { threadId: "t" });
    await expect(threads.recover(agent, { threadId: "none" })).rejects.toThrow("no none");
    const held = ["t", "t", "t", "none"].flatMap((id) => [`lock ${id}`, `release ${id}`]);
    expect(log).toEqual(held);
  });

  it("keeps a turn out that another process runs", async () => {
    const { runtime, threads, take } = await locked();
    await executeAgent(agent, { message: "go" }, { runtime, threadId: "t" });
    take();
    for (const call of [
      () => executeAgent(agent, { message: "on" }, { runtime, threadId: "t" }),
      () => threads.recover(agent, { threadId: "t" }),
      () => threads.delete("t"),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "thread_locked" });
    }
  });
});

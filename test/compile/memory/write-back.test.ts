import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { compileAgent, executeAgent } from "../../../src/app.ts";
import { defineAgent } from "../../../src/definition/define-agent.ts";
import type { MemoryEntry } from "../../../src/memory/entry.ts";
import { MemoryBusyError } from "../../../src/memory/errors.ts";
import type { ConsolidateOptions } from "../../../src/memory/memory.ts";
import type { GraphState } from "../../../src/state/channels.ts";
import { type MemoryRun, runWithMemory } from "../../helpers/run-with-memory.ts";
import { single } from "../../helpers/nested-agents.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const remembering = (longTerm: object = {}, over: object = {}) =>
  defineAgent({
    name: "helper",
    memory_config: { long_term: { enabled: true, ...longTerm } },
    execution_config: { max_attempts: 1 },
    ...over,
  });

const agent = remembering();
const introduction = { message: "My name is Ann. I moved to Bern last month." };

/** The entries of an agent, in the order of their keys, as type and content. */
async function left(run: MemoryRun, name = "helper", user?: string): Promise<string[]> {
  const namespace = ["agents", name, ...(user === undefined ? [] : ["users", user])];
  const entries = await run.memory.list({ namespace, exact: true }, { order: "oldest" });
  return entries.map(({ memory_type, content }: MemoryEntry) => `${memory_type}: ${content}`);
}

/** Options of a run on the thread `t`. */
const on = ({ runtime, onEvent }: MemoryRun) => ({ runtime, onEvent, threadId: "t" });

/** The bookkeeping of the thread's last turn. */
async function turnOf({ runtime }: MemoryRun): Promise<GraphState["turn"]> {
  const tuple = await runtime.checkpointer?.getTuple({ configurable: { thread_id: "t" } });
  return tuple?.checkpoint.channel_values["turn"] as GraphState["turn"];
}

const written = (run: MemoryRun) =>
  run.events.flatMap((event) => (event.type === "memory_written" ? [event.written] : []));

describe("the memory that a turn leaves", () => {
  it("holds what was said, what happened and the facts, with absolute dates", async () => {
    const run = await runWithMemory(["Welcome, Ann."]);
    await executeAgent(agent, introduction, on(run));
    expect(await left(run)).toEqual([
      "short_term: My name is Ann. I moved to Bern last month (2026-10).",
      "short_term: Welcome, Ann.",
      "episodic: Request: My name is Ann. I moved to Bern last month (2026-10).\nOutcome: answered. Welcome, Ann.",
      "semantic: My name is Ann",
      "semantic: I moved to Bern last month (2026-10)",
    ]);
    const counts = { short_term: 2, episodic: 1, semantic: 2, procedural: 0 };
    expect((await turnOf(run))?.memory_written).toEqual(counts);
    expect(run.events.slice(-3).map(({ type }) => type)).toEqual([
      "message",
      "memory_written",
      "done",
    ]);
    expect(written(run)).toEqual([counts]);
  });

  it("is that of the user whom the run names", async () => {
    const run = await runWithMemory(["Welcome."]);
    await executeAgent(agent, { message: "Hello." }, { ...on(run), user: "ann" });
    expect(await left(run)).toEqual([]);
    const [said] = await run.memory.list(
      { namespace: ["agents", "helper", "users", "ann"] },
      { order: "oldest" },
    );
    expect(said).toMatchObject({ content: "Hello.", thread_id: "t", metadata: { speaker: "ann" } });
  });

  it("is left by each turn of a thread", async () => {
    const run = await runWithMemory(["One.", "Two."]);
    for (const message of ["First.", "Second."]) {
      run.clock.advance(1000);
      await executeAgent(agent, { message }, on(run));
    }
    expect((await left(run)).filter((line) => line.startsWith("short_term"))).toEqual([
      "short_term: First.",
      "short_term: One.",
      "short_term: Second.",
      "short_term: Two.",
    ]);
  });

  it("is left by failed turns, with the reason", async () => {
    const run = await runWithMemory(["Hello."]);
    const failing = remembering({}, { validate: () => "it is too short" });
    await executeAgent(failing, introduction, on(run));
    const entries = await left(run);
    expect(entries).toHaveLength(4);
    expect(entries[1]).toMatch(
      /^episodic: Request: My name .*\nOutcome: failed, attempts_exhausted\. The only attempt failed: it is too short$/,
    );
    expect(written(run)).toEqual([{ short_term: 1, episodic: 1, semantic: 2, procedural: 0 }]);
  });

  it("is left by turns whose time is up", async () => {
    const run = await runWithMemory([
      (_, { signal }) => {
        run.clock.advance(10_000);
        signal?.throwIfAborted();
        return new AIMessage("late");
      },
    ]);
    const slow = remembering({}, { execution_config: { timeout_seconds: 5, max_attempts: 1 } });
    await executeAgent(slow, { message: "Go." }, on(run));
    expect(await left(run)).toEqual([
      "short_term: Go.",
      expect.stringMatching(/^episodic: Request: Go\.\nOutcome: failed, turn_timeout/),
    ]);
  });

  it("is none of cancelled turns", async () => {
    const cancel = new AbortController();
    const run = await runWithMemory([
      () => {
        cancel.abort(new Error("stop"));
        return new AIMessage("too late");
      },
    ]);
    const { status } = await executeAgent(agent, introduction, {
      ...on(run),
      signal: cancel.signal,
    });
    expect(status).toBe("CANCELLED");
    expect(await left(run)).toEqual([]);
  });

  it("is none of an agent without long-term memory", async () => {
    const run = await runWithMemory(["Hello."]);
    await executeAgent(defineAgent({ name: "helper" }), { message: "Hello." }, on(run));
    expect([await left(run), written(run)]).toEqual([[], []]);
    expect(await turnOf(run)).not.toHaveProperty("memory_written");
  });

  it("is left by nested agents that have one, in their own place", async () => {
    const run = await runWithMemory(["Inner answer.", "Outer answer."]);
    const outer = single({ agent: "helper" }, agent, {
      memory_config: { long_term: { enabled: true } },
    });
    await executeAgent(outer, { message: "Go." }, { ...on(run), user: "ann" });
    expect(await left(run, "helper", "ann")).toContain("short_term: Inner answer.");
    expect(await left(run, "top", "ann")).toContain("short_term: Go.");
    expect(written(run)).toHaveLength(2);
  });

  it("names attachments, and holds none of their contents", async () => {
    const run = await runWithMemory(["A lamp."]);
    const file = {
      type: "file",
      source_type: "text",
      mime_type: "text/plain",
      text: "secret plans",
      metadata: { name: "plan.txt", bytes: 12 },
    };
    const message = new HumanMessage({ content: [{ type: "text", text: "Read this." }, file] });
    const graph = await compileAgent(agent, run.runtime);
    await graph.invoke({ messages: [message] }, { configurable: { thread_id: "t" } });
    const entries = await left(run);
    expect(entries[0]).toBe("short_term: Read this.\n[file plan.txt]");
    expect(JSON.stringify(entries)).not.toContain("secret plans");
  });
});

describe("guardrails and the memory that a turn leaves", () => {
  const word = { type: "custom", name: "word" } as const;
  const railed = (rails: object, over: object = {}) =>
    remembering({}, { guardrail_config: rails, ...over });

  it("keep placeholders for redacted values", async () => {
    const run = await runWithMemory(["I noted <EMAIL_1>."]);
    const pii = railed({ input_rails: [{ type: "pii" }] });
    const message = "My e-mail address is ann@example.com.";
    await executeAgent(pii, { message }, on(run));
    const entries = await left(run);
    expect(entries).toContain("semantic: My e-mail address is <EMAIL_1>");
    expect(entries).toContain("short_term: I noted <EMAIL_1>.");
    expect(JSON.stringify(entries)).not.toContain("ann@example.com");
  });

  it("keep a refused input out of it", async () => {
    const rails = [wordRail("bomb", "block", ["input"])];
    const run = await runWithMemory([], { rails });
    const agentWithRail = railed({ input_rails: [word] });
    const { status } = await executeAgent(agentWithRail, { message: "My bomb is blue." }, on(run));
    expect(status).toBe("FAILED");
    expect([await left(run), written(run)]).toEqual([[], []]);
  });

  it("keep a withheld answer out of it", async () => {
    const rails = [wordRail("bomb", "block", ["output"])];
    const run = await runWithMemory(["A bomb."], { rails });
    const agentWithRail = railed({ output_rails: [word] });
    const { status } = await executeAgent(agentWithRail, { message: "What is it?" }, on(run));
    expect(status).toBe("FAILED");
    expect(await left(run)).toEqual([
      "short_term: What is it?",
      "episodic: Request: What is it?\nOutcome: failed, attempts_exhausted. A guardrail withheld the answer.",
    ]);
  });

  it("have the answer written as output rails left it", async () => {
    const rails = [wordRail("bomb", "redact", ["output"])];
    const run = await runWithMemory(["A bomb."], { rails });
    const agentWithRail = railed({ output_rails: [word] });
    await executeAgent(agentWithRail, { message: "What is it?" }, on(run));
    const entries = JSON.stringify(await left(run));
    expect(entries).toContain("WORD");
    expect(entries).not.toContain("bomb");
  });
});

describe("a second run of the end of a turn", () => {
  /** Ends the process before the checkpoint with the end of the turn is stored. */
  class CrashingSaver extends MemorySaver {
    isDown = true;
    override async put(...of: Parameters<MemorySaver["put"]>) {
      const { turn } = of[1].channel_values as Partial<GraphState>;
      if (this.isDown && turn?.memory_written !== undefined) throw new Error("the process ended");
      return super.put(...of);
    }

    override async putWrites(...of: Parameters<MemorySaver["putWrites"]>) {
      if (this.isDown && JSON.stringify(of[1]).includes("memory_written")) {
        throw new Error("the process ended");
      }
      return super.putWrites(...of);
    }
  }

  it("writes nothing twice, and asks no model again", async () => {
    const checkpointer = new CrashingSaver();
    const extract = { facts: [{ text: "Ann lives in Bern." }], summary: "Ann spoke." };
    const first = await runWithMemory(["Welcome.", JSON.stringify(extract)], { checkpointer });
    const extracting = remembering(
      { extraction_model: "test:extractor" },
      {
        memory_config: {
          long_term: { enabled: true, extraction_model: "test:extractor" },
          procedural: { enabled: true },
        },
      },
    );
    const start = executeAgent(extracting, introduction, on(first));
    await expect(start).rejects.toThrow("the process ended");
    const entries = await left(first);
    expect(entries).toHaveLength(4);
    checkpointer.isDown = false;
    const second = await runWithMemory([], { checkpointer });
    Object.assign(second.runtime, { memory: async () => first.memory });
    const { status } = await executeAgent(extracting, null, on(second));
    expect(status).toBe("COMPLETED");
    expect(await left(first)).toEqual(entries);
    expect(second.model.requests).toEqual([]);
    expect((await turnOf(second))?.memory_written).toEqual({
      short_term: 2,
      episodic: 1,
      semantic: 1,
      procedural: 0,
    });
  });
});

describe("a failing memory", () => {
  it("never fails the turn, and is recorded by a code without texts", async () => {
    const run = await runWithMemory(["Welcome."], {
      change: () => ({
        add: async () => {
          throw Object.assign(new Error("insert of 'My name is Ann' failed"), { code: "57P01" });
        },
      }),
    });
    const { status, output } = await executeAgent(agent, introduction, on(run));
    expect([status, output]).toEqual(["COMPLETED", { message: "Welcome." }]);
    expect((await turnOf(run))?.memory_written).toEqual({
      short_term: 0,
      episodic: 0,
      semantic: 0,
      procedural: 0,
      errors: ["57P01"],
    });
  });

  it.each([
    ["its own code", new MemoryBusyError(null), "memory_busy"],
    ["its name", new TypeError("no"), "TypeError"],
    ["no word", "no", "unknown"],
  ])("is recorded by %s", async (_, thrown, code) => {
    const run = await runWithMemory(["Welcome."], {
      change: () => ({ add: () => Promise.reject(thrown) }),
    });
    await executeAgent(agent, introduction, on(run));
    expect(written(run)[0]?.errors).toEqual([code]);
  });

  it("is waited for 10 seconds", async () => {
    const run = await runWithMemory(["Welcome."], {
      change: () => ({
        add: () => {
          queueMicrotask(() => run.clock.advance(10_000));
          return new Promise(() => {});
        },
      }),
    });
    const { status } = await executeAgent(agent, introduction, on(run));
    expect(status).toBe("COMPLETED");
    expect(written(run)[0]?.errors).toEqual(["memory_timeout"]);
  });
});

describe("an extraction model", () => {
  const extracting = remembering({ extraction_model: "test:extractor" });
  const extract = {
    facts: [
      {
        text: "Ann lives in Bern since last month.",
        said_by: "user",
        entities: ["Ann"],
        importance: 0.9,
      },
    ],
    entities: ["Bern"],
    summary: "Ann introduced herself yesterday.",
  };

  it("gives the facts, a summary and names, and its usage counts", async () => {
    const run = await runWithMemory(["Welcome.", JSON.stringify(extract)]);
    const { usage } = await executeAgent(extracting, introduction, on(run));
    const entries = await left(run);
    expect(entries.slice(2)).toEqual([
      expect.stringMatching(
        /^episodic: Ann introduced herself yesterday \(2026-11-22\)\.\nRequest: /,
      ),
      "semantic: Ann lives in Bern since last month (2026-10).",
    ]);
    expect(written(run)[0]).toMatchObject({ semantic: 1, extracted_by: "test:scripted" });
    expect(usage.llm_calls).toBe(2);
    expect(run.events.at(-1)).toMatchObject({ type: "done", usage: { llm_calls: 2 } });
  });

  it.each([
    ["fails", () => Promise.reject(new Error("no"))],
    ["answers something else", () => Promise.resolve(new AIMessage("I see."))],
    [
      "takes more than 20 seconds",
      (run: MemoryRun) => {
        queueMicrotask(() => run.clock.advance(20_000));
        return new Promise<AIMessage>(() => {});
      },
    ],
  ])("is replaced by rules if it %s", async (_, reply) => {
    const run: MemoryRun = await runWithMemory(["Welcome.", () => reply(run)]);
    const { status } = await executeAgent(extracting, introduction, on(run));
    expect(status).toBe("COMPLETED");
    expect(written(run)).toEqual([{ short_term: 2, episodic: 1, semantic: 2, procedural: 0 }]);
  });

  it("has half of the time that the turn has left", async () => {
    const run: MemoryRun = await runWithMemory([
      () => {
        run.clock.advance(4_000);
        return new AIMessage("Welcome.");
      },
      () => {
        queueMicrotask(() => run.clock.advance(3_000));
        return new Promise<AIMessage>(() => {});
      },
    ]);
    const short = remembering(
      { extraction_model: "test:extractor" },
      { execution_config: { timeout_seconds: 10 } },
    );
    const { status } = await executeAgent(short, introduction, on(run));
    expect(status).toBe("COMPLETED");
    expect(written(run)).toEqual([{ short_term: 2, episodic: 1, semantic: 2, procedural: 0 }]);
  });

  it("is not asked when the turn's time is up", async () => {
    const run: MemoryRun = await runWithMemory([
      (_, { signal }) => {
        run.clock.advance(10_000);
        signal?.throwIfAborted();
        return new AIMessage("late");
      },
    ]);
    const slow = remembering(
      { extraction_model: "test:extractor" },
      { execution_config: { timeout_seconds: 5, max_attempts: 1 } },
    );
    await executeAgent(slow, introduction, on(run));
    expect(run.model.requests).toHaveLength(1);
    expect(written(run)[0]).toMatchObject({ semantic: 2 });
  });
});

describe("automatic consolidation", () => {
  const result = { consolidated: 3, merged: 1, evicted: 2, archived: 2, left: 0, busy: 0 };

  async function consolidating(longTerm: object, consolidate: () => Promise<typeof result>) {
    const asked: ConsolidateOptions[] = [];
    const run = await runWithMemory(["Welcome."], {
      change: () => ({
        consolidate: (options) => {
          asked.push(options);
          return consolidate();
        },
      }),
    });
    await executeAgent(remembering(longTerm), introduction, on(run));
    return { asked, written: written(run)[0] };
  }

  it("runs when the thread's short-term entries have too many tokens", async () => {
    const settings = {
      max_tokens: 10,
      strategy: "age",
      weights: { recency: 1 },
      archive_evicted: false,
    };
    const made = await consolidating({ consolidation: settings }, async () => result);
    expect(made.asked).toEqual([
      {
        namespace: ["agents", "helper"],
        threadId: "t",
        maxTokens: 10,
        strategy: "age",
        weights: { recency: 1 },
        archiveEvicted: false,
        goal: introduction.message,
        signal: expect.any(AbortSignal) as unknown,
      },
    ]);
    const counts = { consolidated: 3, merged: 1, evicted: 2, archived: 2 };
    expect(made.written?.consolidation).toEqual(counts);
  });

  it.each([
    ["up to the limit", { max_tokens: 100 }],
    ["if it is off", { max_tokens: 10, automatic: false }],
    ["by default below 8,000 tokens", undefined],
  ])("does not run %s", async (_, consolidation) => {
    const made = await consolidating(
      { ...(consolidation && { consolidation }) },
      async () => result,
    );
    expect(made.asked).toEqual([]);
    expect(made.written).not.toHaveProperty("consolidation");
  });

  it("leaves it to another process that is at it", async () => {
    const made = await consolidating({ consolidation: { max_tokens: 10 } }, () =>
      Promise.reject(new MemoryBusyError("t")),
    );
    expect(made.written).toEqual({ short_term: 2, episodic: 1, semantic: 2, procedural: 0 });
  });

  it("may fail without failing the turn", async () => {
    const made = await consolidating({ consolidation: { max_tokens: 10 } }, () =>
      Promise.reject(new RangeError("no")),
    );
    expect(made.written).toMatchObject({ short_term: 2, errors: ["RangeError"] });
  });
});

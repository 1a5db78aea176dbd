import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, executeAgent, type GraphState } from "../../../src/index.ts";
import { ModelCallError } from "../../../src/models/errors.ts";
import type { ModelRequest } from "../../../src/models/agent-model.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";

/** 40 tokens. */
const answer = "bee ".repeat(40).trim();
const thread = { configurable: { thread_id: "t" } };
type Strategy = "fifo" | "summarize" | "hybrid";

/** Earlier turns are over 200 tokens from the fourth on. */
const agentWith = (strategy: Strategy, over: object = {}) =>
  defineAgent({
    name: "remembers",
    memory_config: { short_term: { max_tokens: 200, strategy } },
    ...over,
  });

const isSummary = ({ messages }: ModelRequest) =>
  messages.some(({ text }) => text.includes("Write a running summary"));

type Reply = Extract<ScriptedReply, (...args: never[]) => unknown>;

/** A model that answers every request, and summaries with `summary`. */
const answering = (summary: Reply): ScriptedReply[] =>
  Array.from(
    { length: 60 },
    (): Reply => (request, config) =>
      isSummary(request) ? summary(request, config) : new AIMessage(answer),
  );

const says = (text: string) => () => new AIMessage(text);

async function conversation(
  options: {
    strategy?: Strategy;
    summary?: Reply;
    agent?: ReturnType<typeof agentWith>;
    clock?: ManualClock;
  } = {},
) {
  const { strategy = "hybrid", summary = says("They spoke of bees."), clock } = options;
  const test = await testRuntime(answering(summary), clock ? { clock } : {});
  const { runtime, model } = test;
  const agent = options.agent ?? agentWith(strategy);
  const graph = await compileAgent(agent, runtime);
  const state = async () => (await graph.getState(thread)).values as GraphState;
  const say = async (message: string) => {
    const before = model.requests.length;
    const result = await executeAgent(agent, { message }, { runtime, threadId: "t" });
    return { result, asked: model.requests.slice(before), summary: (await state()).summary };
  };
  return { runtime, graph, state, say, clock: test.clock };
}

/** The turns of a thread for which a summary was asked. */
async function summarisedAt(
  turns: number,
  options: Parameters<typeof conversation>[0] = {},
): Promise<number[]> {
  const { say } = await conversation(options);
  const at: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const { asked } = await say(`request ${turn}`);
    const summaries = asked.filter(isSummary).length;
    expect(summaries).toBeLessThanOrEqual(1);
    if (summaries === 1) at.push(turn);
  }
  return at;
}

describe("a thread over its short-term memory", () => {
  it("has one summary made, and none again until it is over once more", async () => {
    // About 51 tokens a turn: over at four turns, and two are kept.
    expect(await summarisedAt(12)).toEqual([4, 6, 8, 10]);
    expect(await summarisedAt(6, { strategy: "summarize" })).toEqual([4]);
  });

  it("is not summarised under fifo", async () => {
    expect(await summarisedAt(8, { strategy: "fifo" })).toEqual([]);
  });

  it("keeps its records and messages, and says what the summary covers", async () => {
    const { say, state } = await conversation();
    for (let turn = 0; turn < 4; turn += 1) {
      expect((await say(`request ${turn}`)).summary).toBeNull();
    }
    const { summary, asked } = await say("request 4");
    expect(summary).toEqual({
      text: "They spoke of bees.",
      covers: { turns: 2, steps: 2, messages: 4 },
      model: "test:scripted",
      at: "2026-01-01T00:00:00.000Z",
    });
    const request = asked[0]?.messages.at(-1)?.text ?? "";
    expect(request).toContain("Request: request 0");
    expect(request).toContain("Request: request 1");
    expect(request).not.toContain("request 2");
    const { messages, steps } = await state();
    expect([messages.length, steps.length]).toEqual([10, 5]);
  });

  it("hands the former summary on to the next", async () => {
    let made = 0;
    const { say } = await conversation({
      summary: () => new AIMessage(`summary ${(made += 1)}`),
    });
    for (let turn = 0; turn < 6; turn += 1) await say(`request ${turn}`);
    const { summary, asked } = await say("request 6");
    expect(summary).toMatchObject({ text: "summary 2", covers: { turns: 4 } });
    const request = asked[0]?.messages.at(-1)?.text ?? "";
    expect(request).toContain("summary 1");
    expect(request).not.toContain("Request: request 1");
    expect(request).toContain("Turn 3\nRequest: request 2");
  });

  it("counts the call, and does not stream it", async () => {
    const tags: unknown[] = [];
    const { say } = await conversation({
      summary: (_request, config) => {
        tags.push(...(config.tags ?? []));
        return new AIMessage("They spoke.");
      },
    });
    for (let turn = 0; turn < 4; turn += 1) {
      expect((await say(`request ${turn}`)).result.usage.llm_calls).toBe(1);
    }
    expect((await say("request 4")).result.usage).toMatchObject({ llm_calls: 2, tokens_in: 20 });
    expect(tags).toContain("nostream");
  });

  it("is summarised once for all attempts of a turn, also where that fails", async () => {
    const agent = defineAgent({
      name: "strict",
      memory_config: { short_term: { max_tokens: 200 } },
      validate: (_output, state) => {
        const { asked } = state.attempt as { asked: number };
        return asked === 0 ? ["once more"] : [];
      },
      initialAttemptState: (_input, _execution, asked) => ({ asked }),
    });
    expect(await summarisedAt(6, { agent, summary: says("") })).toEqual([4, 5]);
  });
});

describe("the steps of earlier turns", () => {
  const searching = (strategy: Strategy) =>
    defineAgent({
      name: "searches",
      memory_config: { short_term: { max_tokens: 400, strategy } },
      tools: {
        search: {
          description: "Searches.",
          input_schema: z.object({}),
          handler: () => "hit ".repeat(400),
        },
      },
    });

  async function afterTwoTurns(strategy: Strategy) {
    const call: ScriptedReply = { calls: [{ name: "search", args: {} }] };
    const { runtime, model } = await testRuntime([call, "one", call, "two", "three", "four"]);
    const options = { runtime, threadId: "t" };
    const agent = searching(strategy);
    for (const message of ["1", "2", "3"]) await executeAgent(agent, { message }, options);
    return model.requests.filter(isSummary).length;
  }

  it("count whole under summarize, and in their shortest form under hybrid", async () => {
    expect(await afterTwoTurns("summarize")).toBe(1);
    expect(await afterTwoTurns("hybrid")).toBe(0);
  });
});

describe("a summary that fails", () => {
  const failures: [string, Reply][] = [
    [
      "is refused",
      () => {
        throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "Down." });
      },
    ],
    ["is empty", says("  ")],
  ];

  it.each(failures)(
    "that %s leaves the turn and the former summary as they were",
    async (_how, fail) => {
      let calls = 0;
      const { say } = await conversation({
        summary: (request, config) =>
          (calls += 1) === 1 ? new AIMessage("first") : fail(request, config),
      });
      for (let turn = 0; turn < 6; turn += 1) await say(`request ${turn}`);
      const { result, summary } = await say("request 6");
      expect(calls).toBe(2);
      expect(result).toMatchObject({ status: "COMPLETED", output: { message: answer } });
      expect(summary).toMatchObject({ text: "first" });
    },
  );

  const hanging = (clock: ManualClock, seconds: number) => async () => {
    clock.advance(seconds * 1000);
    return new Promise<never>(() => {});
  };

  it("is given up after 30 seconds, or half of the turn's time", async () => {
    const clock = new ManualClock();
    const signals: (AbortSignal | undefined)[] = [];
    const hang: Reply = async (_request, config) => {
      signals.push(config.signal);
      return hanging(clock, 30)();
    };
    const { say } = await conversation({ clock, summary: hang });
    for (let turn = 0; turn < 4; turn += 1) await say(`request ${turn}`);
    const { result, summary } = await say("request 4");
    expect([result.status, summary]).toEqual(["COMPLETED", null]);
    expect(signals[0]?.aborted).toBe(true);

    const short = agentWith("hybrid", { execution_config: { timeout_seconds: 20 } });
    const other = new ManualClock();
    const quick = await conversation({ clock: other, agent: short, summary: hanging(other, 10) });
    for (let turn = 0; turn < 4; turn += 1) await quick.say(`request ${turn}`);
    expect((await quick.say("request 4")).result.status).toBe("COMPLETED");
  });

  it("ends with the turn when that is cancelled or out of time", async () => {
    const clock = new ManualClock();
    const { say } = await conversation({ clock, summary: hanging(clock, 61) });
    for (let turn = 0; turn < 4; turn += 1) await say(`request ${turn}`);
    // The timer of the summary is due first: the turn is out of time before its next step.
    const { result } = await say("request 4");
    expect(result.status).toBe("FAILED");

    const controller = new AbortController();
    const cancelled = await conversation({
      summary: () => {
        controller.abort(new Error("stop"));
        return new Promise<never>(() => {});
      },
    });
    for (let turn = 0; turn < 4; turn += 1) await cancelled.say(`request ${turn}`);
    await expect(
      cancelled.graph.invoke(
        { input: { message: "request 4" } },
        { ...thread, signal: controller.signal },
      ),
    ).rejects.toThrow("stop");
  });
});

describe("a summary and time travel", () => {
  it("is not there in a fork from before it, and made there again", async () => {
    const { say, graph, state } = await conversation();
    for (let turn = 0; turn < 4; turn += 1) await say(`request ${turn}`);
    const before = (await graph.getState(thread)).config;
    expect((await say("request 4")).summary).not.toBeNull();
    expect(((await graph.getState(before)).values as GraphState).summary).toBeNull();

    await graph.updateState(before, { nodes: { note: "forked" } }, "finalize");
    expect((await state()).summary).toBeNull();
    const { asked, summary } = await say("another request");
    expect(asked.filter(isSummary)).toHaveLength(1);
    expect(summary).toMatchObject({ covers: { turns: 2, messages: 4 } });
  });

  it("is dropped where what it tells of was taken out of the state", async () => {
    const { say, graph, state, runtime } = await conversation();
    for (let turn = 0; turn < 5; turn += 1) await say(`request ${turn}`);
    const { summary } = await state();
    expect(summary).toMatchObject({ covers: { turns: 2, messages: 4 } });
    const wrong = { ...summary!, covers: { ...summary!.covers, messages: 3 } };
    await graph.updateState(thread, { summary: wrong });
    const next = await say("request 5");
    expect(next.asked.filter(isSummary)).toHaveLength(1);
    expect(next.asked[0]?.messages.at(-1)?.text).not.toContain("former_summary");
    expect(next.summary).toMatchObject({ covers: { turns: 3, steps: 3, messages: 6 } });

    const stale = { ...next.summary!, covers: { turns: 1, steps: 9, messages: 9 } };
    await graph.updateState(thread, { summary: stale });
    const roomy = defineAgent({ name: "remembers" });
    await executeAgent(roomy, { message: "request 6" }, { runtime, threadId: "t" });
    expect((await state()).summary).toBeNull();
  });

  it("takes nothing from whoever edits the state that is no summary", async () => {
    const { say, graph } = await conversation();
    await say("request 0");
    await expect(graph.updateState(thread, { summary: { text: "" } })).rejects.toMatchObject({
      code: "invalid_state_update",
    });
    await graph.updateState(thread, { summary: null });
  });
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool } from "../../src/index.ts";
import { canonicalHash } from "../../src/values/json.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

let runs: string[] = [];
const note = defineTool({
  name: "note",
  description: "Notes what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => {
    runs.push(text);
    return text;
  },
});

/** `note` runs, then `ask` waits, then `after` runs. */
function asking(config: object, edges: object[] = [{ from: "ask", to: "after" }]) {
  runs = [];
  return defineAgent({
    name: "asking",
    tools: [note],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "before",
      nodes: [
        { name: "before", type: "tool", config: { tool: "note", args: { text: "before" } } },
        {
          name: "ask",
          type: "human",
          config: { prompt: "Send '${nodes.before.result}'?", ...config },
        },
        {
          name: "after",
          type: "tool",
          config: { tool: "note", args: { text: "${string(nodes.ask.value)}" } },
        },
      ],
      edges: [{ from: "before", to: "ask" }, ...edges, { from: "after", to: "END" }],
    } as never,
  });
}

const approval = {
  kind: "approval",
  proposed: "Hi ${input.message}",
  writes: "execution.mail",
};
const eitherWay = [
  { from: "ask", to: "after", condition: "nodes.ask.approved" },
  { from: "ask", to: "END" },
];

describe("a human node", () => {
  it("waits, and the stored status says so", async () => {
    const thread = await waitingThread(asking({ kind: "approval", timeout_seconds: 60 }));
    const state = await thread.start();
    expect(state.status).toBe("AWAITING_HUMAN");
    expect(await thread.request()).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      kind: "approval",
      hash: canonicalHash({ prompt: "Send 'before'?", proposed: "" }),
      node: "ask",
      within: [],
      prompt: "Send 'before'?",
      proposed: "",
      schema: expect.objectContaining({ anyOf: expect.any(Array) }),
      expires_at: "2026-01-01T00:01:00.000Z",
    });
  });

  it("waits with that status at the entry point, too", async () => {
    const agent = defineAgent({
      name: "entry",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "human", config: { kind: "input" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    const thread = await waitingThread(agent);
    expect((await thread.start()).status).toBe("AWAITING_HUMAN");
    expect(await thread.request()).toMatchObject({
      prompt: "ask?",
      proposed: null,
      expires_at: null,
    });
    const state = await thread.answer("forty-two");
    expect(state).toMatchObject({ status: "COMPLETED", output: { message: "forty-two" } });
    expect(state.nodes["ask"]).toEqual({
      approved: true,
      value: "forty-two",
      reason: "",
      timed_out: false,
    });
  });

  it("gives and writes what was approved", async () => {
    const thread = await waitingThread(asking(approval));
    await thread.start("Ada");
    expect((await thread.request()).proposed).toBe("Hi Ada");
    const state = await thread.answer(true);
    expect(state.status).toBe("COMPLETED");
    expect(state.execution).toEqual({ mail: "Hi Ada" });
    expect(runs).toEqual(["before", "Hi Ada"]);
  });

  it("gives and writes what was edited", async () => {
    const thread = await waitingThread(asking({ ...approval, kind: "edit", proposed: "Hi" }));
    await thread.start();
    const state = await thread.answer("Hello");
    expect(state.nodes["ask"]).toMatchObject({ approved: true, value: "Hello" });
    expect(state.execution).toEqual({ mail: "Hello" });
    expect(runs).toEqual(["before", "Hello"]);
  });

  it("proposes what was said last on its branch", async () => {
    const agent = defineAgent({
      name: "review",
      workflow_graph: {
        entry_point: "draft",
        nodes: [
          { name: "draft", type: "llm", config: { prompt: "Draft" } },
          { name: "ask", type: "human", config: { kind: "edit" } },
        ],
        edges: [
          { from: "draft", to: "ask" },
          { from: "ask", to: "END" },
        ],
      },
    });
    const thread = await waitingThread(agent, repliesByPrompt({ Draft: "Dear all" }));
    await thread.start();
    expect((await thread.request()).proposed).toBe("Dear all");
    expect((await thread.answer("approve")).output).toEqual({ message: "Dear all" });
    expect(thread.model.requests).toHaveLength(1);
  });

  it("sends a rejection on where an edge asks about it, and writes nothing", async () => {
    const thread = await waitingThread(asking({ ...approval, proposed: "Hi" }, eitherWay));
    await thread.start();
    const state = await thread.answer({ decision: "reject", reason: "too short" });
    expect(state.nodes["ask"]).toEqual({
      approved: false,
      value: null,
      reason: "too short",
      timed_out: false,
    });
    expect(state.execution).toEqual({});
    expect(runs).toEqual(["before"]);
  });

  describe("a draft that is rejected", () => {
    const drafting = (max_iterations: number) =>
      defineAgent({
        name: "drafting",
        execution_config: { max_iterations, max_attempts: 3 },
        workflow_graph: {
          entry_point: "draft",
          nodes: [
            { name: "draft", type: "llm", config: { prompt: "Draft" } },
            { name: "ask", type: "human", config: { kind: "approval" } },
          ],
          edges: [
            { from: "draft", to: "ask" },
            { from: "ask", to: "END", condition: "nodes.ask.approved" },
            { from: "ask", to: "draft" },
          ],
        },
      });
    const replies = () => repliesByPrompt({ Draft: ["Hi", "Dear all", "Dear Ada", "Dear Bo"] });

    it("is drafted again with the reasons so far, each where it was given", async () => {
      const thread = await waitingThread(drafting(3), replies());
      await thread.start();
      await thread.answer({ decision: "reject", reason: "too short" });
      await thread.answer("no");
      const texts = thread.model.requests
        .at(-1)
        ?.messages.map(({ type, text }) => `${type}: ${text}`);
      expect(texts).toEqual([
        "human: go",
        "ai: Hi",
        'human: A person rejected this at "ask" with the reason:\ntoo short',
        "ai: Dear all",
        'human: A person rejected this at "ask" without a reason.',
        "human: Draft",
      ]);
      const done = await thread.answer("yes");
      expect([done.status, done.output]).toEqual(["COMPLETED", { message: "Dear Ada" }]);
    });

    it("ends the turn after the last draft, and asks nothing again", async () => {
      const thread = await waitingThread(drafting(2), replies());
      await thread.start();
      await thread.answer({ decision: "reject", reason: "too short" });
      const state = await thread.answer({ decision: "reject", reason: "too stiff" });
      expect(await thread.waiting()).toEqual([]);
      expect([state.status, state.turn?.failure]).toEqual([
        "FAILED",
        {
          cause: "human_rejected",
          message:
            'Node "ask" was rejected with the reason: too stiff. It is not tried again: node "draft" has run 2 times, as often as execution_config.max_iterations allows.',
        },
      ]);
    });
  });

  it("ends the turn with a rejection that no edge asks about", async () => {
    const thread = await waitingThread(asking({ ...approval, proposed: "Hi" }));
    await thread.start();
    const state = await thread.answer({ decision: "reject", reason: "too short" });
    expect(state.status).toBe("FAILED");
    expect(state.turn?.failure).toEqual({
      cause: "human_rejected",
      message:
        'Node "ask" was rejected with the reason: too short. To continue after a rejection, give it an edge with a condition on nodes.ask.approved.',
    });
    expect(runs).toEqual(["before"]);
  });

  const badAnswers = [
    ["seven", '"seven"'],
    [7.5, "got 7.5."],
    [{ decision: "maybe" }, 'got "maybe".'],
    [[7], "got [7]."],
  ] as const;

  it("asks again after bare answers that it cannot read", async () => {
    const thread = await waitingThread(asking({ kind: "input", schema: { type: "integer" } }));
    await thread.start();
    expect((await thread.request()).problem).toBeUndefined();
    for (const [bad, said] of badAnswers) {
      expect((await thread.answer(bad)).status).toBe("AWAITING_HUMAN");
      expect((await thread.request()).problem).toContain(said);
    }
    expect((await thread.again()).status).toBe("AWAITING_HUMAN");
    expect((await thread.answer(7)).status).toBe("COMPLETED");
    expect(runs).toEqual(["before", "7"]);
  });

  it("asks again after answers by id that it cannot read", async () => {
    const thread = await waitingThread(asking({ kind: "input", schema: { type: "integer" } }));
    await thread.start();
    for (const [bad, said] of [...badAnswers, [false, "got false."], [null, "got null."]]) {
      expect((await thread.answerNodes({ ask: bad })).status).toBe("AWAITING_HUMAN");
      expect((await thread.request()).problem).toContain(said);
    }
    expect((await thread.again()).status).toBe("AWAITING_HUMAN");
    expect((await thread.answerNodes({ ask: 7 })).status).toBe("COMPLETED");
    expect(runs).toEqual(["before", "7"]);
  });

  it("takes an answer by id after bare ones that it could not read", async () => {
    const thread = await waitingThread(asking({ kind: "input", schema: { type: "integer" } }));
    await thread.start();
    await thread.answer("six");
    await thread.answer("seven");
    expect((await thread.answerNodes({ ask: 8 })).status).toBe("COMPLETED");
    expect(runs).toEqual(["before", "8"]);
  });

  it("keeps waiting when it is run again without an answer", async () => {
    const thread = await waitingThread(asking({ ...approval, timeout_seconds: 60 }));
    await thread.start();
    thread.clock.advance(59_999);
    expect((await thread.again()).status).toBe("AWAITING_HUMAN");
    expect(await thread.waiting()).toHaveLength(1);
    expect(runs).toEqual(["before"]);
  });

  it("ends CANCELLED when it is cancelled while it waits", async () => {
    const thread = await waitingThread(asking(approval));
    await thread.start();
    const state = await thread.cancel();
    expect(state.status).toBe("CANCELLED");
    expect(await thread.waiting()).toEqual([]);
    expect(runs).toEqual(["before"]);
  });

  it("does not count the time that it waits as the turn's", async () => {
    const agent = asking(approval);
    const thread = await waitingThread(agent);
    await thread.start();
    thread.clock.advance(365 * 24 * 3600 * 1000);
    expect((await thread.answer(true)).status).toBe("COMPLETED");
  });
});

describe("a human node whose time is over", () => {
  const timed = (on_timeout: string | undefined, edges?: object[]) =>
    asking(
      {
        ...approval,
        proposed: "Hi",
        timeout_seconds: 60,
        ...(on_timeout !== undefined && { on_timeout }),
      },
      edges,
    );

  it.each([undefined, "fail"])("fails the turn by default (%s)", async (onTimeout) => {
    const thread = await waitingThread(timed(onTimeout, eitherWay));
    await thread.start();
    thread.clock.advance(60_000);
    const state = await thread.again();
    expect(state.status).toBe("FAILED");
    expect(state.turn?.failure).toEqual({
      cause: "human_timeout",
      message:
        'Node "ask" was not answered within its 60 s. Raise its timeout_seconds, or say with on_timeout what no answer means.',
    });
  });

  it("approves what was proposed where the definition says so", async () => {
    const thread = await waitingThread(timed("approve"));
    await thread.start();
    thread.clock.advance(60_000);
    const state = await thread.again();
    expect(state.nodes["ask"]).toEqual({
      approved: true,
      value: "Hi",
      reason: "no answer within 60 s",
      timed_out: true,
    });
    expect(state.execution).toEqual({ mail: "Hi" });
    expect(runs).toEqual(["before", "Hi"]);
  });

  it("rejects where the definition says so", async () => {
    const edges = [
      { from: "ask", to: "END", condition: "nodes.ask.timed_out" },
      { from: "ask", to: "after" },
    ];
    const thread = await waitingThread(timed("reject", edges));
    await thread.start();
    thread.clock.advance(60_000);
    expect((await thread.again()).nodes["ask"]).toMatchObject({ approved: false, timed_out: true });

    const uncared = await waitingThread(timed("reject"));
    await uncared.start();
    uncared.clock.advance(60_000);
    expect((await uncared.again()).turn?.failure?.cause).toBe("human_rejected");
  });

  it("takes no answer that comes too late", async () => {
    const thread = await waitingThread(timed("reject", eitherWay));
    await thread.start();
    thread.clock.advance(60_000);
    const state = await thread.answer(true);
    expect(state.nodes["ask"]).toMatchObject({ approved: false, timed_out: true });
    expect(runs).toEqual(["before"]);
  });

  it("takes an answer that comes in time after one that could not be read", async () => {
    const thread = await waitingThread(timed("fail"));
    await thread.start();
    await thread.answer("maybe");
    thread.clock.advance(59_000);
    expect((await thread.answer(true)).status).toBe("COMPLETED");
  });
});

/** `start` fans out to `left` and `right`; `join` waits for all. */
function fan(left: object, right: object) {
  runs = [];
  return defineAgent({
    name: "fan",
    tools: [note],
    workflow_graph: {
      entry_point: "start",
      nodes: [
        { name: "start", type: "tool", config: { tool: "note", args: { text: "start" } } },
        { name: "left", ...left },
        { name: "right", ...right },
        { name: "join", type: "tool", config: { tool: "note", args: { text: "join" } } },
      ],
      edges: [
        { from: "start", to: ["left", "right"] },
        { from: "left", to: "join" },
        { from: "right", to: "join" },
        { from: "join", to: "END" },
      ],
    } as never,
  });
}

describe("human nodes in parallel branches", () => {
  const input = (key: string) => {
    return { type: "human", config: { kind: "input", writes: `execution.${key}` } };
  };

  it("are answered one by one, each by its own id", async () => {
    const thread = await waitingThread(fan(input("left"), input("right")));
    await thread.start();
    expect((await thread.waiting()).map(({ node }) => node).toSorted()).toEqual(["left", "right"]);
    await thread.answerNodes({ right: "R" });
    expect((await thread.waiting()).map(({ node }) => node)).toEqual(["left"]);
    expect(runs).toEqual(["start"]);
    const state = await thread.answerNodes({ left: "L" });
    expect(state.status).toBe("COMPLETED");
    expect(state.execution).toEqual({ left: "L", right: "R" });
    expect(runs).toEqual(["start", "join"]);
  });

  it("are answered together by id", async () => {
    const thread = await waitingThread(fan(input("left"), input("right")));
    await thread.start();
    const state = await thread.answerNodes({ left: "L", right: "R" });
    expect(state.execution).toEqual({ left: "L", right: "R" });
    expect(runs).toEqual(["start", "join"]);
  });

  it("are asked again each by itself", async () => {
    const thread = await waitingThread(fan(input("left"), input("right")));
    await thread.start();
    await thread.answerNodes({ left: 1, right: 2 });
    expect((await thread.waiting()).map(({ problem }) => problem?.slice(-6))).toEqual([
      "got 1.",
      "got 2.",
    ]);
    await thread.answerNodes({ left: 3 });
    await thread.answerNodes({ left: "L" });
    expect((await thread.waiting()).map(({ node, problem }) => [node, problem?.slice(-6)])).toEqual(
      [["right", "got 2."]],
    );
    const state = await thread.answerNodes({ right: "R" });
    expect(state.execution).toEqual({ left: "L", right: "R" });
  });

  it("let what runs beside them run once", async () => {
    const tool = { type: "tool", config: { tool: "note", args: { text: "beside" } } };
    const thread = await waitingThread(fan(input("left"), tool));
    expect((await thread.start()).status).toBe("EXECUTING");
    expect(runs).toEqual(["start", "beside"]);
    await thread.answer(7);
    const state = await thread.answer("L");
    expect(state.status).toBe("COMPLETED");
    expect(runs).toEqual(["start", "beside", "join"]);
    expect(state.steps.map(({ node }) => node)).toEqual(["start", "right", "join"]);
  });

  it("end CANCELLED together", async () => {
    const thread = await waitingThread(fan(input("left"), input("right")));
    await thread.start();
    expect((await thread.cancel()).status).toBe("CANCELLED");
    expect(await thread.waiting()).toEqual([]);
  });
});

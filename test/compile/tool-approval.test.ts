import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool } from "../../src/index.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

let runs: string[] = [];
beforeEach(() => {
  runs = [];
});

const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({ to: z.string() }),
  requires_approval: true,
  handler: ({ to }) => {
    runs.push(`send ${to}`);
    return `sent to ${to}`;
  },
});
const look = defineTool({
  name: "look",
  description: "Looks something up.",
  input_schema: z.object({ what: z.string() }),
  handler: ({ what }) => {
    runs.push(`look ${what}`);
    return what;
  },
});

const mailer = defineAgent({ name: "mailer", tools: [send, look] });
const toAda = { id: "c1", name: "send", args: { to: "ada" } };
const toBob = { id: "c2", name: "send", args: { to: "bob" } };
const lookUp = { id: "c3", name: "look", args: { what: "x" } };

/** Who is called by whom, in order: every result has to follow the message with its call. */
function pairs(messages: readonly BaseMessage[]) {
  return messages.flatMap((message) => {
    if (ToolMessage.isInstance(message)) return [`result ${message.tool_call_id}`];
    if (!AIMessage.isInstance(message)) return [];
    return (message.tool_calls ?? []).map((call) => `call ${call.id} ${JSON.stringify(call.args)}`);
  });
}

describe("the approval of tool calls", () => {
  it("waits before any call of the step is run", async () => {
    const thread = await waitingThread(mailer, [{ calls: [lookUp, toAda, toBob] }, "done"]);
    expect((await thread.start()).status).toBe("AWAITING_HUMAN");
    expect(runs).toEqual([]);
    expect(await thread.request()).toMatchObject({
      kind: "tool_approval",
      node: "human",
      within: [],
      prompt: "May mailer make these 2 calls: send, send?",
      proposed: [
        { id: "c1", name: "send", args: { to: "ada" }, reason: "" },
        { id: "c2", name: "send", args: { to: "bob" }, reason: "" },
      ],
      expires_at: null,
    });
    const state = await thread.answer(true);
    expect(state.status).toBe("COMPLETED");
    expect(runs.toSorted()).toEqual(["look x", "send ada", "send bob"]);
    expect(state.usage).toMatchObject({ llm_calls: 2, tool_calls: 3 });
  });

  it("runs a call with the arguments that a person edited, and shows those everywhere", async () => {
    const thread = await waitingThread(mailer, [{ calls: [toAda] }, "done"]);
    const before = await thread.start();
    expect((await thread.request()).prompt).toBe("May mailer call send?");
    const state = await thread.answer({ decision: "edit", args: { to: "eve" } });
    expect(runs).toEqual(["send eve"]);
    expect(state.steps[0]?.tool_predictions).toEqual([
      { id: "c1", name: "send", args: { to: "eve" }, reason: "" },
    ]);
    expect(state.steps[0]?.tool_results[0]).toMatchObject({ args: { to: "eve" } });
    expect(pairs(thread.model.requests[1]?.messages ?? [])).toEqual([
      'call c1 {"to":"eve"}',
      "result c1",
    ]);
    expect(pairs(state.messages)).toEqual(['call c1 {"to":"eve"}', "result c1"]);
    expect(state.messages[1]?.id).toBe(before.messages[1]?.id);
  });

  it("leaves out what a provider wrote about calls that were edited since", async () => {
    const written = new AIMessage({
      id: "m1",
      content: [
        { type: "text", text: "I send it." },
        { type: "tool_use", id: "c1", name: "send", input: { to: "ada" } },
      ],
      tool_calls: [toAda, { ...toBob, type: "tool_call" }],
      additional_kwargs: { tool_calls: [] },
    });
    const thread = await waitingThread(mailer, [() => written, "done"]);
    await thread.start();
    const decisions = { c1: { decision: "edit", args: { to: "eve" } }, c2: "approve" };
    const state = await thread.answer({ decisions });
    const shown = state.messages[1] as AIMessage;
    expect([shown.id, shown.content, shown.additional_kwargs]).toEqual(["m1", "I send it.", {}]);
    expect(pairs(state.messages)).toEqual([
      'call c1 {"to":"eve"}',
      'call c2 {"to":"bob"}',
      "result c1",
      "result c2",
    ]);
  });

  it("tells the model of a rejection, with its reason, and runs the others", async () => {
    const thread = await waitingThread(mailer, [{ calls: [toAda, toBob, lookUp] }, "done"]);
    await thread.start();
    const state = await thread.answer([
      { id: "c2", decision: "approve" },
      { id: "c1", decision: "reject", reason: "Ada is away" },
    ]);
    expect(runs.toSorted()).toEqual(["look x", "send bob"]);
    expect(state.steps[0]?.tool_results.map(({ outcome, error }) => [outcome, error])).toEqual([
      ["error", "A person rejected this call: Ada is away"],
      ["success", null],
      ["success", null],
    ]);
    expect(thread.model.read(1).slice(-3)).toEqual([
      "tool: error: A person rejected this call: Ada is away",
      "tool: sent to bob",
      "tool: x",
    ]);
    expect(state.status).toBe("COMPLETED");
  });

  it("tells the model of a rejection without a reason", async () => {
    const thread = await waitingThread(mailer, [{ calls: [toAda] }, "done"]);
    await thread.start();
    await thread.answer("reject");
    expect(thread.model.read(1).at(-1)).toBe("tool: error: A person rejected this call.");
    expect(runs).toEqual([]);
  });

  it("asks again after an answer that it cannot read, or that the tool would refuse", async () => {
    const thread = await waitingThread(mailer, [{ calls: [toAda] }, "done"]);
    await thread.start();
    await thread.answer({ decisions: { c9: true } });
    expect((await thread.request()).problem).toBe('No call "c9" waits. Calls that wait: c1.');
    expect((await thread.answer({ decision: "edit", args: { to: 7 } })).status).toBe(
      "AWAITING_HUMAN",
    );
    expect((await thread.request()).problem).toBe(
      'Call "c1": the arguments do not fit tool "send": to: Invalid input: expected string, received number.',
    );
    expect(runs).toEqual([]);
    await thread.answer("approve");
    expect(runs).toEqual(["send ada"]);
  });

  it("asks about every step anew", async () => {
    const thread = await waitingThread(mailer, [{ calls: [toAda] }, { calls: [toBob] }, "done"]);
    await thread.start();
    expect((await thread.answer(true)).status).toBe("AWAITING_HUMAN");
    expect((await thread.request()).proposed).toMatchObject([{ id: "c2" }]);
    expect((await thread.answer(true)).status).toBe("COMPLETED");
    expect(runs).toEqual(["send ada", "send bob"]);
  });

  it("asks about the tools that the definition names, or about all", async () => {
    const rails = (require_approval: "all" | string[]) =>
      defineAgent({
        name: "railed",
        tools: [look],
        guardrail_config: { tool_rails: { require_approval } },
      });
    for (const required of ["all", ["look"]] as const) {
      const agent = rails(required === "all" ? required : [...required]);
      const thread = await waitingThread(agent, [{ calls: [lookUp] }, "done"]);
      expect((await thread.start()).status).toBe("AWAITING_HUMAN");
    }
    const free = await waitingThread(rails([]), [{ calls: [lookUp] }, "done"]);
    expect((await free.start()).status).toBe("COMPLETED");
  });

  it("asks nobody about a call that would be refused anyway", async () => {
    const misfit = { id: "c4", name: "send", args: { to: 7 } };
    const thread = await waitingThread(mailer, [
      { calls: [misfit] },
      { calls: [misfit, toAda] },
      "done",
    ]);
    await thread.start();
    expect((await thread.state()).steps[0]?.tool_results[0]?.outcome).toBe("error");
    expect((await thread.request()).proposed).toMatchObject([{ id: "c1" }]);
    expect((await thread.answer(true)).status).toBe("COMPLETED");
    expect(runs).toEqual(["send ada"]);
  });

  it("counts the calls of the step that come first against max_calls_per_turn", async () => {
    const agent = defineAgent({
      name: "limited",
      tools: [send, look],
      guardrail_config: { tool_rails: { max_calls_per_turn: 2 } },
    });
    const thread = await waitingThread(agent, [{ calls: [lookUp, toAda, toBob] }, "done"]);
    await thread.start();
    expect((await thread.request()).proposed).toMatchObject([{ id: "c1" }]);
    await thread.answer(true);
    expect(runs.toSorted()).toEqual(["look x", "send ada"]);
  });

  it("ends CANCELLED when it is cancelled while it waits", async () => {
    const thread = await waitingThread(mailer, [{ calls: [toAda] }]);
    await thread.start();
    expect((await thread.again()).status).toBe("AWAITING_HUMAN");
    expect((await thread.cancel()).status).toBe("CANCELLED");
    expect(await thread.waiting()).toEqual([]);
    expect(runs).toEqual([]);
  });
});

describe("the approval of a workflow's tool calls", () => {
  const thinking = {
    name: "loop",
    execution_config: { max_iterations: 5 },
    workflow_graph: {
      entry_point: "think",
      nodes: [
        { name: "think", type: "llm" as const, config: { prompt: "Think" } },
        { name: "act", type: "tool" as const },
      ],
      edges: [
        { from: "think", to: "act", condition: "size(last.tool_calls) > 0" },
        { from: "think", to: "END" },
        { from: "act", to: "think" },
      ],
    },
  };
  const loop = defineAgent({ ...thinking, tools: [send, look] });

  it("waits in the node before any call that was asked for is run", async () => {
    const script = repliesByPrompt({ Think: [{ calls: [lookUp, toAda, toBob] }, "done"] });
    const thread = await waitingThread(loop, script);
    expect((await thread.start()).status).toBe("AWAITING_HUMAN");
    expect(runs).toEqual([]);
    expect(await thread.request()).toMatchObject({
      kind: "tool_approval",
      node: "act",
      proposed: [{ id: "c1" }, { id: "c2" }],
    });
    await thread.answer("maybe");
    expect(runs).toEqual([]);
    const state = await thread.answer({
      decisions: {
        c1: { decision: "edit", args: { to: "eve" } },
        c2: { decision: "reject", reason: "no" },
      },
    });
    expect(state.status).toBe("COMPLETED");
    expect(runs.toSorted()).toEqual(["look x", "send eve"]);
    expect(pairs(state.messages)).toEqual([
      'call c3 {"what":"x"}',
      'call c1 {"to":"eve"}',
      'call c2 {"to":"bob"}',
      "result c3",
      "result c1",
      "result c2",
    ]);
    expect(thread.model.read(1)).toContain("tool: error: A person rejected this call: no");
    expect(state.steps.map(({ node, tool_results }) => [node, tool_results.length])).toEqual([
      ["think", 3],
      ["think", 0],
    ]);
  });

  it("keeps the edited arguments of a call that the turn's end cuts off", async () => {
    let start = () => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const hang = defineTool({
      name: "hang",
      description: "Never ends by itself.",
      input_schema: z.object({ n: z.number() }),
      requires_approval: true,
      execution: { timeout_ms: 600_000 },
      handler: () => {
        start();
        return new Promise(() => {});
      },
    });
    const agent = defineAgent({
      ...thinking,
      execution_config: { max_iterations: 5, timeout_seconds: 60 },
      tools: [hang],
    });
    const script = repliesByPrompt({ Think: [{ calls: [{ name: "hang", args: { n: 1 } }] }] });
    const thread = await waitingThread(agent, script);
    await thread.start();
    const ended = thread.answer({ decision: "edit", args: { n: 2 } });
    await started;
    thread.clock.advance(60_000);
    const { status, steps } = await ended;
    expect(status).toBe("FAILED");
    expect(steps.map(({ tool_predictions: [call] }) => call?.args)).toEqual([{ n: 2 }]);
    expect(steps[0]?.tool_results[0]).toMatchObject({ outcome: "timeout", args: { n: 2 } });
  });

  /** `mail` is a tool that the definition calls. */
  function calling(edges: object[]) {
    return defineAgent({
      name: "calling",
      tools: [send, look],
      execution_config: { max_attempts: 1 },
      workflow_graph: {
        entry_point: "mail",
        nodes: [
          {
            name: "mail",
            type: "tool",
            config: { tool: "send", args: { to: "${input.message}" } },
          },
          {
            name: "after",
            type: "tool",
            config: { tool: "look", args: { what: "${nodes.mail.outcome}" } },
          },
        ],
        edges: [...edges, { from: "after", to: "END" }],
      } as never,
    });
  }

  it("waits before a call that the definition makes, under an id that stays", async () => {
    const thread = await waitingThread(calling([{ from: "mail", to: "after" }]));
    expect((await thread.start("ada")).status).toBe("AWAITING_HUMAN");
    const [{ id = "" } = {}] = (await thread.request()).proposed as { id?: string }[];
    await thread.answer({ decisions: { [id]: "perhaps" } });
    const state = await thread.answer({
      decisions: { [id]: { decision: "edit", args: { to: "eve" } } },
    });
    expect(runs).toEqual(["send eve", "look success"]);
    expect(state.steps[0]).toMatchObject({
      tool_predictions: [{ id, args: { to: "eve" } }],
      tool_results: [{ id, args: { to: "eve" }, outcome: "success" }],
    });
  });

  it("gives a rejection to the edges that ask for the outcome, else ends the attempt", async () => {
    const edges = [
      { from: "mail", to: "after", condition: "nodes.mail.outcome != 'success'" },
      { from: "mail", to: "END" },
    ];
    const cared = await waitingThread(calling(edges));
    await cared.start("ada");
    const state = await cared.answer({ decision: "reject", reason: "no" });
    expect(state.nodes["mail"]).toEqual({
      result: null,
      outcome: "error",
      error: "A person rejected this call: no",
    });
    expect(runs).toEqual(["look error"]);

    const uncared = await waitingThread(calling([{ from: "mail", to: "after" }]));
    await uncared.start("ada");
    expect((await uncared.answer("reject")).turn?.failed_attempts[0]?.errors).toEqual([
      'tool "send" of node "mail" failed: A person rejected this call.',
    ]);
  });

  const mailTo = (to: string) => {
    return { name: to, type: "tool", config: { tool: "send", args: { to } } } as const;
  };
  const parallel = defineAgent({
    name: "parallel",
    tools: [send, look],
    workflow_graph: {
      entry_point: "start",
      nodes: [
        { name: "start", type: "tool", config: { tool: "look", args: { what: "start" } } },
        mailTo("ada"),
        mailTo("bob"),
        { name: "beside", type: "tool", config: { tool: "look", args: { what: "beside" } } },
        { name: "join", type: "tool", config: { tool: "look", args: { what: "join" } } },
      ],
      edges: [
        { from: "start", to: ["ada", "bob", "beside"] },
        { from: "ada", to: "join" },
        { from: "bob", to: "join" },
        { from: "beside", to: "join" },
        { from: "join", to: "END" },
      ],
    },
  });

  it("is given to each branch by its own id, and runs every call once", async () => {
    const thread = await waitingThread(parallel);
    expect((await thread.start()).status).toBe("EXECUTING");
    expect(runs).toEqual(["look start", "look beside"]);
    await thread.answerNodes({ bob: "maybe" });
    await thread.answerNodes({ bob: true });
    expect(runs).toEqual(["look start", "look beside", "send bob"]);
    expect((await thread.waiting()).map(({ node }) => node)).toEqual(["ada"]);
    await thread.again();
    expect(runs).toEqual(["look start", "look beside", "send bob"]);
    const state = await thread.answerNodes({ ada: true });
    expect(state.status).toBe("COMPLETED");
    expect(runs).toEqual(["look start", "look beside", "send bob", "send ada", "look join"]);
    expect(state.usage.tool_calls).toBe(5);
  });

  it("is given to all branches together by id", async () => {
    const thread = await waitingThread(parallel);
    await thread.start();
    const state = await thread.answerNodes({
      ada: true,
      bob: { decision: "edit", args: { to: "x" } },
    });
    expect(state.status).toBe("COMPLETED");
    expect(runs.toSorted()).toEqual([
      "look beside",
      "look join",
      "look start",
      "send ada",
      "send x",
    ]);
  });
});

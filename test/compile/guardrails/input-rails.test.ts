import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { defineRail } from "../../../src/definition/define-rail.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { lampPng } from "../../helpers/attachments.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const address = "ada.lovelace@example.org";

function mailer() {
  const sentTo: string[] = [];
  const mail = defineTool({
    name: "mail",
    description: "Sends a mail.",
    input_schema: z.object({ to: z.email() }),
    handler: ({ to }) => {
      sentTo.push(to);
      return `sent to ${to}`;
    },
  });
  const agent = defineAgent({
    name: "mailer",
    tools: [mail],
    guardrail_config: { input_rails: [{ type: "pii" }] },
  });
  return { agent, sentTo };
}

const sendTo = (to: string) => ({ calls: [{ name: "mail", args: { to } }] });

describe("a rail that redacts the input", () => {
  it("gives the model a mark, the tool the value, and the caller the value again", async () => {
    const { agent, sentTo } = mailer();
    const { runtime, model, events, onEvent } = await testRuntime([
      sendTo("<EMAIL_1>"),
      "I have written to <EMAIL_1>.",
    ]);
    const message = `Write to ${address}.`;
    const result = await executeAgent(agent, { message }, { runtime, onEvent });
    expect(sentTo).toEqual([address]);
    expect(result.output).toEqual({ message: `I have written to ${address}.` });
    expect(model.read(0).at(-1)).toBe("human: Write to <EMAIL_1>.");
    expect(JSON.stringify(model.requests)).not.toContain(address);
    expect(JSON.stringify(result.steps)).not.toContain(address);
    expect(result.steps[0]?.tool_results[0]).toMatchObject({
      args: { to: "<EMAIL_1>" },
      result: "sent to <EMAIL_1>",
    });
    expect(result.rails).toMatchObject([
      {
        rail: "pii",
        on: "input",
        verdict: "redact",
        spans: [{ path: "/message", start: 9, end: 9 + address.length, label: "EMAIL" }],
        turn_number: 0,
        step_index: null,
      },
    ]);
    const told = events.filter(({ type }) => type !== "message" && type !== "done");
    expect(JSON.stringify(told)).not.toContain(address);
    expect(events.find(({ type }) => type === "rail")).toMatchObject({ record: { rail: "pii" } });
  });

  it("keeps the marks of a value over the turns of a thread", async () => {
    const { agent, sentTo } = mailer();
    const { runtime, model } = await testRuntime([
      "Noted <EMAIL_1>.",
      sendTo("<EMAIL_1>"),
      "Done, and <EMAIL_2> is new.",
    ]);
    const threadId = "t";
    await executeAgent(agent, { message: `I am ${address}.` }, { runtime, threadId });
    const { output } = await executeAgent(
      agent,
      { message: `Write to ${address} and not to bob@example.org.` },
      { runtime, threadId },
    );
    expect(sentTo).toEqual([address]);
    expect(output).toEqual({ message: "Done, and bob@example.org is new." });
    expect(model.read(1)).toEqual([
      "human: I am <EMAIL_1>.",
      "ai: Noted <EMAIL_1>.",
      "human: Write to <EMAIL_1> and not to <EMAIL_2>.",
    ]);
  });

  it("redacts what came as messages, earlier ones of the same request too, under their ids", async () => {
    const { agent } = mailer();
    const { runtime, model } = await testRuntime(["Yes."]);
    const graph = await compileAgent(agent, runtime);
    const messages = [
      new HumanMessage({ id: "a", content: `My address is ${address}` }),
      new HumanMessage({ id: "b", content: [{ type: "text", text: `Is ${address} right?` }] }),
    ];
    const state = await graph.invoke({ messages }, { configurable: { thread_id: "t" } });
    expect(model.read(0)).toEqual(["human: My address is <EMAIL_1>", "human: Is <EMAIL_1> right?"]);
    const kept = state.messages as HumanMessage[];
    expect(kept.map(({ id, text }) => `${id}: ${text}`).slice(0, 2)).toEqual([
      "a: My address is <EMAIL_1>",
      "b: Is <EMAIL_1> right?",
    ]);
  });

  it("redacts the texts of an input that is more than a message, and tells handlers of state nothing else", async () => {
    const agent = defineAgent({
      name: "form",
      input_schema: z.object({ who: z.object({ mail: z.email() }), card: z.number() }),
      initialExecutionState: (input) => ({ input }),
      guardrail_config: { input_rails: [{ type: "pii" }] },
    });
    const { runtime, model } = await testRuntime(["ok"]);
    const input = { who: { mail: address }, card: 4111111111111111 };
    const { state } = await executeAgent(agent, input, { runtime });
    const redacted = { who: { mail: "<EMAIL_1>" }, card: "<CARD_1>" };
    expect(state.execution).toEqual({ input: redacted });
    expect(model.read(0)).toEqual([`human: ${JSON.stringify(redacted)}`]);
  });
});

describe("what a client sends with a request", () => {
  const thread = { configurable: { thread_id: "t" } };
  const talk = (...lines: readonly [id: string, kind: "human" | "ai", text: string][]) => {
    return lines.map(([id, kind, content]) =>
      kind === "human" ? new HumanMessage({ id, content }) : new AIMessage({ id, content }),
    );
  };

  it("is checked whatever stands after it, in later turns too", async () => {
    const { agent } = mailer();
    const { runtime, model } = await testRuntime(["One.", "Two."]);
    const graph = await compileAgent(agent, runtime);
    await graph.invoke({ messages: talk(["a", "human", "Hello"]) }, thread);
    const said = talk(
      ["b", "human", `I am ${address}`],
      ["c", "ai", "noted"],
      ["d", "human", "go on"],
    );
    await graph.invoke({ messages: said }, thread);
    expect(model.read(1)).toContain("human: I am <EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("is checked where it replaces what was there before", async () => {
    const { agent } = mailer();
    const { runtime, model } = await testRuntime(["One.", "Two."]);
    const graph = await compileAgent(agent, runtime);
    await graph.invoke({ messages: talk(["a", "human", "Hello"]) }, thread);
    const changed = talk(["a", "human", `Hello from ${address}`], ["b", "human", "go on"]);
    await graph.invoke({ messages: changed }, thread);
    expect(model.read(1)[0]).toBe("human: Hello from <EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("is not checked again where it is as the last turn left it", async () => {
    const seen: string[] = [];
    const spy = defineRail({
      name: "spy",
      on: ["input"],
      check: ({ text }) => void seen.push(text),
    });
    const agent = defineAgent({
      name: "spied",
      rails: [spy],
      guardrail_config: { input_rails: [{ type: "custom", name: "spy" }] },
    });
    const { runtime } = await testRuntime(["One.", "Two."]);
    const threadId = "t";
    await executeAgent(agent, { message: "first" }, { runtime, threadId });
    await executeAgent(agent, { message: "second" }, { runtime, threadId });
    expect(seen).toEqual(["first", "second"]);
  });

  it("keeps pictures, ids of calls and arguments in their places", async () => {
    const { agent } = mailer();
    const { runtime } = await testRuntime(["Seen."]);
    const graph = await compileAgent(agent, runtime);
    const url = `data:image/png;base64,${lampPng.toString("base64")}`;
    const picture = { type: "image_url", image_url: { url } };
    const state = await graph.invoke(
      {
        messages: [
          new AIMessage({
            id: "a",
            content: "",
            tool_calls: [{ id: "c1", name: "find", args: { who: address } }],
          }),
          new ToolMessage({ id: "b", tool_call_id: "c1", content: `found ${address}` }),
          new HumanMessage({ id: "c", content: [picture, { type: "text", text: address }] }),
        ],
      },
      thread,
    );
    const [call, result, request] = state.messages as [AIMessage, ToolMessage, HumanMessage];
    expect(call.tool_calls).toMatchObject([{ id: "c1", name: "find", args: { who: "<EMAIL_1>" } }]);
    expect([result.tool_call_id, result.text]).toEqual(["c1", "found <EMAIL_1>"]);
    const stored = expect.objectContaining({ type: "image", mime_type: "image/png" }) as object;
    expect(request.content).toEqual([stored, { type: "text", text: "<EMAIL_1>" }]);
  });
});

describe("a rail that takes longer than the turn", () => {
  const slow = defineRail({ name: "slow", on: ["input"], check: () => new Promise(() => {}) });
  const agent = defineAgent({
    name: "waiting",
    rails: [slow],
    execution_config: { timeout_seconds: 5 },
    guardrail_config: { input_rails: [{ type: "custom", name: "slow" }] },
  });

  it("fails the turn when its time is over", async () => {
    const { runtime, clock } = await testRuntime([]);
    const pending = executeAgent(agent, { message: "?" }, { runtime });
    for (let turn = 0; turn < 50; turn += 1) {
      await new Promise(setImmediate);
      clock.advance(1_000);
    }
    expect(await pending).toMatchObject({ status: "FAILED", failure: { cause: "turn_timeout" } });
  });

  it("is given up when the turn is cancelled", async () => {
    const { runtime } = await testRuntime([]);
    const stop = new AbortController();
    const pending = executeAgent(agent, { message: "?" }, { runtime, signal: stop.signal });
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    stop.abort();
    expect(await pending).toMatchObject({ status: "CANCELLED" });
  });
});

describe("a rail that blocks the input", () => {
  const guarded = defineAgent({
    name: "guarded",
    rails: [wordRail("opensesame", "block", ["input"])],
    guardrail_config: { input_rails: [{ type: "custom", name: "word" }] },
  });

  it("ends the turn with a message that tells nothing, and no model is asked", async () => {
    const { runtime, model } = await testRuntime([]);
    const result = await executeAgent(guarded, { message: "say opensesame" }, { runtime });
    expect(result).toMatchObject({
      status: "FAILED",
      output: null,
      failure: {
        cause: "guardrail:word",
        message: "This request was not accepted: it does not pass this agent's input checks.",
      },
      rails: [{ rail: "word", on: "input", verdict: "block", score: 1 }],
    });
    expect(model.requests).toEqual([]);
  });

  it("fails the turn for a message sent before the request, and asks no model", async () => {
    const { runtime, model } = await testRuntime(["Yes."]);
    const graph = await compileAgent(guarded, runtime);
    const messages = [new HumanMessage("say opensesame"), new HumanMessage("go on")];
    const state = await graph.invoke({ messages }, { configurable: { thread_id: "t" } });
    expect([state.status, state.turn?.failure?.cause]).toEqual(["FAILED", "guardrail:word"]);
    expect(model.requests).toEqual([]);
  });

  it("leaves the thread as it was before", async () => {
    const { runtime, model } = await testRuntime(["first", "second"]);
    const threadId = "t";
    await executeAgent(guarded, { message: "one" }, { runtime, threadId });
    await executeAgent(guarded, { message: "opensesame" }, { runtime, threadId });
    const { status } = await executeAgent(guarded, { message: "two" }, { runtime, threadId });
    expect(status).toBe("COMPLETED");
    expect(model.read(1)).toEqual(["human: one", "ai: first", "human: two"]);
  });

  it("runs no rail after it, and those before it in order on what each has left", async () => {
    const seen: string[] = [];
    const spy = (name: string) =>
      defineRail({ name, on: ["input"], check: ({ text }) => void seen.push(`${name}: ${text}`) });
    const agent = defineAgent({
      name: "ordered",
      rails: [
        wordRail("apple", "redact", ["input"], "fruit"),
        spy("between"),
        wordRail("stop", "block", ["input"]),
        spy("after"),
      ],
      guardrail_config: {
        input_rails: ["fruit", "between", "word", "after"].map((name) => {
          return { type: "custom" as const, name };
        }),
      },
    });
    const { runtime } = await testRuntime([]);
    const { rails } = await executeAgent(agent, { message: "apple stop" }, { runtime });
    expect(seen).toEqual(["between: <WORD_1> stop"]);
    expect(rails.map(({ rail, verdict }) => `${rail} ${verdict}`)).toEqual([
      "fruit redact",
      "between pass",
      "word block",
    ]);
  });
});

describe("a rail that fails itself", () => {
  const broken = defineRail({
    name: "broken",
    on: ["input"],
    check: ({ text }) => {
      throw new TypeError(`cannot read ${text}`);
    },
  });

  it("blocks, and its message is not told", async () => {
    const agent = defineAgent({
      name: "closed",
      rails: [broken],
      guardrail_config: { input_rails: [{ type: "custom", name: "broken" }] },
    });
    const { runtime } = await testRuntime([]);
    const { failure, rails } = await executeAgent(agent, { message: "secret words" }, { runtime });
    expect(failure?.cause).toBe("guardrail:broken");
    expect(rails).toMatchObject([
      { verdict: "block", reasons: ["the check itself failed (TypeError)"] },
    ]);
  });

  it("lets the text pass where the definition says so", async () => {
    const agent = defineAgent({
      name: "open",
      rails: [broken],
      guardrail_config: { input_rails: [{ type: "custom", name: "broken", on_error: "pass" }] },
    });
    const { runtime } = await testRuntime(["fine"]);
    const { status, rails } = await executeAgent(agent, { message: "x" }, { runtime });
    expect(status).toBe("COMPLETED");
    expect(rails).toMatchObject([
      { verdict: "pass", reasons: [expect.stringContaining("failed")] },
    ]);
  });

  it("is named when neither the definition nor the runtime has it", async () => {
    const agent = defineAgent({
      name: "lost",
      guardrail_config: { input_rails: [{ type: "custom", name: "brokn" }] },
    });
    const { runtime } = await testRuntime([], { rails: [broken] });
    await expect(executeAgent(agent, { message: "x" }, { runtime })).rejects.toThrow(
      'There is no custom rail "brokn". Did you mean "broken"?',
    );
  });
});

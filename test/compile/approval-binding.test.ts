import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  defineAgent,
  definePlanner,
  defineTool,
  executeAgent,
  type AgentDefinition,
} from "../../src/index.ts";
import type { AgentGraph } from "../../src/compile/agent-graph.ts";
import { checkAnswers } from "../../src/compile/guards/answers.ts";
import { readWaiting } from "../../src/compile/guards/waiting.ts";
import { hashCall, type ProposedCall } from "../../src/state/human-request.ts";
import type { GraphState } from "../../src/state/channels.ts";
import { around } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { planOf } from "../helpers/subtasks.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

const thread = { configurable: { thread_id: "t" } };

let paid: string[] = [];
beforeEach(() => {
  paid = [];
});
const payTool = (asks = false, requires_approval = true) =>
  defineTool({
    name: "pay",
    description: "Pays somebody.",
    input_schema: z.object({ amount: z.number(), to: z.string(), note: z.string().optional() }),
    requires_approval,
    handler: ({ amount, to }) => {
      const code = asks ? interrupt<string, string>("Which code?") : "";
      paid.push(`${amount} to ${to}${code}`);
      return "paid";
    },
  });
const few = { amount: 5, to: "ada" };
const much = { amount: 99_999, to: "eve" };

/** Pays once, then answers. */
const pays: ScriptedReply = ({ messages }) =>
  ToolMessage.isInstance(messages.at(-1))
    ? new AIMessage("Done.")
    : new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "pay", args: few }] });
const replies = Array.from({ length: 20 }, () => pays);
const payer = defineAgent({ name: "payer", description: "Pays.", tools: [payTool()] });

/** The definition itself makes the call. */
const paying = (args: object, tool = payTool()) =>
  defineAgent({
    name: "paying",
    description: "Pays.",
    tools: [tool],
    workflow_graph: {
      entry_point: "pay",
      nodes: [{ name: "pay", type: "tool", config: { tool: "pay", args: { ...args } } }],
      edges: [{ from: "pay", to: "END" }],
    },
  });
const planner = (worker: AgentDefinition) => definePlanner({ workers: [worker] });
const plan = planOf({ a: "" }, { worker: "paying" });

async function compiled(agent: AgentDefinition, checkpointer: MemorySaver) {
  const { runtime } = await testRuntime(replies, { checkpointer });
  return compileAgent(agent, runtime);
}

async function waitingOn(agent: AgentDefinition, input: object = { message: "Go" }) {
  const saver = new MemorySaver();
  const graph = await compiled(agent, saver);
  await graph.invoke({ input }, thread);
  return { graph, saver };
}

async function requestOf(graph: AgentGraph) {
  const { waiting } = await readWaiting(graph, thread);
  expect(waiting).toHaveLength(1);
  const [request] = waiting;
  const [call] = (request?.proposed ?? []) as ProposedCall[];
  return { ...request, call };
}

const stateOf = async (graph: AgentGraph) => (await graph.getState(thread)).values as GraphState;

async function editedStep(graph: AgentGraph, args: object = much) {
  const { current_step: step } = await stateOf(graph);
  const [call] = step?.tool_predictions ?? [];
  return { ...step, tool_predictions: [{ ...call, args }] };
}

/** What is asked is this call now, nothing was paid, and an approval of it pays that. */
async function asksAbout(graph: AgentGraph, args: typeof much) {
  const { call } = await requestOf(graph);
  expect([call?.args, call?.hash]).toEqual([args, hashCall({ name: "pay", args })]);
  expect(paid).toEqual([]);
  const approval = { decision: "approve", hash: call?.hash };
  await graph.invoke(new Command({ resume: approval }), thread);
  expect(paid).toEqual([`${args.amount} to ${args.to}`]);
  expect((await stateOf(graph)).status).toBe("COMPLETED");
}

describe("an approval", () => {
  it("names the call that it is for, and is refused for another", async () => {
    const { graph, saver } = await waitingOn(payer);
    const { id = "", hash, call } = await requestOf(graph);
    expect(call).toMatchObject({ args: few, hash: hashCall({ name: "pay", args: few }) });
    expect(hash).toBe(call?.hash);
    const before = JSON.stringify([saver.storage, saver.writes]);
    const other = hashCall({ name: "pay", args: much });
    for (const resume of [
      { decision: "approve", hash: other },
      { [id]: { decisions: { c1: { decision: "edit", args: much, hash: other } } } },
    ]) {
      await expect(graph.invoke(new Command({ resume }), thread)).rejects.toMatchObject({
        code: "approval_mismatch",
        interrupt: id,
        node: "human",
        problem: expect.stringContaining(`expected the hash ${hash}, got "${other}".`),
      });
    }
    expect(JSON.stringify([saver.storage, saver.writes])).toBe(before);
    await asksAbout(graph, few);
  });

  it("gets the hash of the request before it is handed on", async () => {
    const { graph } = await waitingOn(payer);
    const { waiting } = await readWaiting(graph, thread);
    const [{ id, hash } = { id: "" }] = waiting;
    const approved = { decisions: { c1: { decision: "approve", hash } } };
    for (const given of [{ bare: true }, { byId: { [id]: "yes" } }]) {
      const answers = checkAnswers(given, { threadId: "t", status: "AWAITING_HUMAN", waiting });
      expect(answers).toEqual({ [id]: approved });
    }
  });

  it("is for the call that was asked about, where an update comes with it", async () => {
    const { graph } = await waitingOn(paying({ amount: 99_999, to: "${input.message}" }));
    expect((await requestOf(graph)).call?.args).toEqual({ amount: 99_999, to: "Go" });
    const update = { input: { message: "eve" } };
    await graph.invoke(new Command({ resume: "approve", update }), thread);
    expect((await requestOf(graph)).problem).toContain("The answer is not for the pending request");
    await asksAbout(graph, much);
  });

  it("given without a hash after an edit, is refused until the edited call was asked about", async () => {
    const { graph } = await waitingOn(payer);
    const { call } = await requestOf(graph);
    await graph.updateState(thread, { current_step: await editedStep(graph) });
    const answer = (resume: unknown) => graph.invoke(new Command({ resume }), thread);
    await expect(answer({ decision: "approve", hash: call?.hash })).rejects.toMatchObject({
      code: "approval_mismatch",
    });
    await graph.updateState(thread, {
      current_step: await editedStep(graph, { ...much, note: "" }),
    });
    await expect(answer({ decision: "edit", args: few })).rejects.toMatchObject({
      code: "approval_mismatch",
      problem: "The pending request was edited after it was shown, and the answer names no hash.",
    });
    await graph.updateState(thread, { current_step: await editedStep(graph) });
    await expect(answer(true)).rejects.toMatchObject({ code: "approval_mismatch" });
    await asksAbout(graph, much);
  });

  it.each([
    [
      "an edit",
      (graph: AgentGraph, current_step: object) => graph.updateState(thread, { current_step }),
    ],
    [
      "an edit in the place of a node",
      (graph: AgentGraph, current_step: object) =>
        graph.updateState(thread, { current_step }, "reason"),
    ],
    [
      "a fork of the checkpoint",
      async (graph: AgentGraph, current_step: object) => {
        const { config } = await graph.getState(thread);
        await graph.updateState(config, { current_step });
      },
    ],
  ])("does not hold for a call that %s changes before it is made", async (_name, change) => {
    const { graph } = await waitingOn(payer);
    const resume = new Command({ resume: true });
    await graph.invoke(resume, { ...thread, interruptBefore: ["tools"] });
    expect([(await graph.getState(thread)).next, paid]).toEqual([["tools"], []]);
    const approvals = { c1: hashCall({ name: "pay", args: few }) };
    expect((await stateOf(graph)).turn?.approvals).toEqual(approvals);
    await change(graph, await editedStep(graph));
    await graph.invoke(null, thread);
    await asksAbout(graph, much);
  });

  it("holds for the same call, however the run goes on", async () => {
    const { graph } = await waitingOn(payer);
    await graph.invoke(new Command({ resume: true }), { ...thread, interruptBefore: ["tools"] });
    await graph.updateState(thread, { nodes: { edited: true } });
    await graph.invoke(null, thread);
    expect(paid).toEqual(["5 to ada"]);
    expect((await stateOf(graph)).turn?.approvals).toEqual({});
  });

  it("is asked for where an edit or a goto leads past it", async () => {
    const { graph } = await waitingOn(payer);
    await graph.invoke(new Command({ goto: "tools" }), thread);
    const { waiting } = await readWaiting(graph, thread);
    expect([waiting.map(({ node }) => node).toSorted(), paid]).toEqual([["human", "tools"], []]);
    await graph.updateState(thread, { status: "AWAITING_TOOL" });
    await graph.invoke(null, thread);
    expect(await requestOf(graph)).toMatchObject({ node: "tools" });
    await asksAbout(graph, few);
  });

  it("is given by an edit that acts for the person", async () => {
    const { graph } = await waitingOn(payer);
    await graph.updateState(thread, { current_step: await editedStep(graph) }, "human");
    await graph.invoke(null, thread);
    expect(paid).toEqual(["99999 to eve"]);
  });

  it.each([
    ["in a workflow", (args: object) => paying(args), { message: "Go" }],
    ["in an agent node", (args: object) => around("outer", paying(args)), { message: "Go" }],
    ["in a subtask of a plan", (args: object) => planner(paying(args)), { message: "Go", plan }],
  ])("is not for what another definition asks %s", async (_name, agent, input) => {
    const { graph, saver } = await waitingOn(agent(few), input);
    const { id = "" } = await requestOf(graph);
    const changed = await compiled(agent(much), saver);
    await changed.invoke(new Command({ resume: { [id]: "approve" } }), thread);
    const { call, problem } = await requestOf(changed);
    expect([call?.args, paid]).toEqual([much, []]);
    expect(problem).toContain("The answer is not for the pending request");
  });

  it("is not for what a human node proposes after its definition has changed", async () => {
    const approving = (proposed: string) =>
      defineAgent({
        name: "approving",
        workflow_graph: {
          entry_point: "ask",
          nodes: [{ name: "ask", type: "human", config: { kind: "approval", proposed } }],
          edges: [{ from: "ask", to: "END" }],
        },
      });
    const { graph, saver } = await waitingOn(approving("Pay 5."));
    const { hash } = await requestOf(graph);
    await expect(
      graph.invoke(new Command({ resume: { decision: "approve", hash: "0" } }), thread),
    ).rejects.toMatchObject({ code: "approval_mismatch" });
    const changed = await compiled(approving("Pay 99,999."), saver);
    await changed.invoke(new Command({ resume: { decision: "approve", hash } }), thread);
    const asked = await requestOf(changed);
    expect(asked).toMatchObject({ proposed: "Pay 99,999." });
    await changed.invoke(
      new Command({ resume: { decision: "approve", hash: asked.hash } }),
      thread,
    );
    expect((await stateOf(changed)).output).toEqual({ message: "Pay 99,999." });
  });
});

describe("a request for approval", () => {
  it("has the whole arguments, however it is read", async () => {
    const args = {
      ...much,
      note: "n".repeat(2 ** 20),
      lines: Array.from({ length: 500 }, (_, n) => n),
    };
    const tool = defineTool({
      name: "pay",
      description: "Pays somebody.",
      input_schema: { type: "object" },
      requires_approval: true,
      handler: () => "paid",
    });
    const { runtime } = await testRuntime([], { checkpointer: new MemorySaver() });
    const graph = await compileAgent(paying(args, tool), runtime);
    const chunks = await graph.stream(
      { input: { message: "Go" } },
      { ...thread, streamMode: ["updates", "values", "tasks", "debug"], subgraphs: true },
    );
    const seen: unknown[] = [];
    for await (const chunk of chunks) {
      const [, mode, payload] = chunk as unknown as [unknown, string, Record<string, unknown>];
      const { __interrupt__: interrupts } = payload;
      if (interrupts !== undefined) seen.push([mode, interrupts]);
    }
    const { tasks } = await graph.getState(thread);
    const result = await executeAgent(paying(args, tool), null, { runtime, threadId: "t" });
    const [task] = tasks;
    const requests = [
      ...seen.flatMap((one) =>
        (one as [string, { value: unknown }[]])[1].map(({ value }) => value),
      ),
      task?.interrupts[0]?.value,
      ...result.interrupts,
      ...(await readWaiting(graph, thread)).waiting,
    ];
    expect(requests.length).toBeGreaterThanOrEqual(5);
    for (const request of requests as { proposed: ProposedCall[] }[]) {
      const [call] = request.proposed;
      expect(call?.args).toEqual(args);
      expect(call?.hash).toBe(hashCall({ name: "pay", args }));
      expect(call?.order).toEqual(["amount", "to", "note", "lines"]);
    }
  });
});

describe("an approval inside of a graph that is not ours", () => {
  it("is bound to what was asked, also when the node asks for more", async () => {
    const waiting = await waitingThread(paying(few, payTool(true)));
    await waiting.start();
    await waiting.answer("approve");
    const saver = (await compileAgent(paying(few), waiting.runtime)).checkpointer as MemorySaver;
    const writes = (await saver.getTuple(thread))?.pendingWrites ?? [];
    const kept = writes.filter(
      ([, channel, value]) => channel === "__resume__" && Array.isArray(value),
    );
    const hash = hashCall({ name: "pay", args: few });
    expect(JSON.stringify(kept)).toContain(`{"decision":"approve","hash":"${hash}"}`);
    expect((await waiting.answer(" by mail")).status).toBe("COMPLETED");
    expect(paid).toEqual(["5 to ada by mail"]);
  });

  it("is not for what another definition asks", async () => {
    const checkpointer = new MemorySaver();
    await (await waitingThread(paying(few), [], { checkpointer })).start();
    const changed = await waitingThread(paying(much), [], { checkpointer });
    await changed.answer("approve");
    expect(await changed.request()).toMatchObject({
      proposed: [{ args: much }],
      problem: expect.stringContaining("The answer is not for the pending request"),
    });
    expect(paid).toEqual([]);
    await changed.answer("approve");
    expect(paid).toEqual(["99999 to eve"]);
  });
});

describe("an approval after an answer to something else", () => {
  it("is for the call alone, where the tool began to require it while its handler asked", async () => {
    const { graph, saver } = await waitingOn(paying(few, payTool(true, false)));
    const { id = "", kind } = await requestOf(graph);
    expect(kind).toBe("input");
    const changed = await compiled(paying(few, payTool(true)), saver);
    await changed.invoke(new Command({ resume: { [id]: "yes" } }), thread);
    expect(await requestOf(changed)).toMatchObject({
      kind: "tool_approval",
      problem: "It is unknown which request the answer was for.",
    });
    await changed.invoke(new Command({ resume: "approve" }), thread);
    expect([await requestOf(changed), paid]).toMatchObject([
      { kind: "input", prompt: "Which code?" },
      [],
    ]);
    await changed.invoke(new Command({ resume: " by mail" }), thread);
    expect(paid).toEqual(["5 to ada by mail"]);
    expect((await stateOf(changed)).status).toBe("COMPLETED");
  });
});

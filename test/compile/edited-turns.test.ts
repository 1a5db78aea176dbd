import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { Command, MemorySaver, type StateSnapshot } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  defineAgent,
  definePlanner,
  defineTool,
  type AgentDefinition,
} from "../../src/index.ts";
import type { AgentGraph } from "../../src/compile/agent-graph.ts";
import type { GraphState } from "../../src/state/channels.ts";
import { collect } from "../helpers/collect.ts";
import { codeWorker, plannerReplies } from "../helpers/run-plan.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { planOf } from "../helpers/subtasks.ts";

const thread = { configurable: { thread_id: "t" } };
const edit = { nodes: { edited: { by: "hand" } } };

let sent: string[] = [];
const send = (requires_approval: boolean) =>
  defineTool({
    name: "send",
    description: "Sends a mail.",
    input_schema: z.object({ to: z.string() }),
    requires_approval,
    handler: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });

/** Calls `send`, then answers `Done.`, as often as it is asked. */
const sendsOnce: ScriptedReply = ({ messages }) =>
  ToolMessage.isInstance(messages.at(-1))
    ? new AIMessage("Done.")
    : new AIMessage({
        content: "",
        tool_calls: [{ id: "c1", name: "send", args: { to: "ada" } }],
      });
const always = (reply: ScriptedReply) => Array.from({ length: 200 }, () => reply);

/** Sorts, then writes on two branches of different lengths, which meet. */
const sorter = (approves = false) =>
  defineAgent({
    name: "sorter",
    tools: [send(false)],
    workflow_graph: {
      entry_point: "sort",
      nodes: [
        {
          name: "sort",
          type: "router",
          config: { rules: [{ when: "true", choice: "both" }], default: "none" },
        },
        { name: "left", type: "llm", config: { prompt: "Left" } },
        { name: "more", type: "llm", config: { prompt: "More" } },
        approves
          ? { name: "right", type: "human", config: { kind: "approval", prompt: "Right?" } }
          : { name: "right", type: "tool", config: { tool: "send", args: { to: "bob" } } },
        { name: "join", type: "llm", config: { prompt: "Join" } },
      ],
      edges: [
        { from: "sort", to: ["left", "right"], condition: 'nodes.sort.choice == "both"' },
        { from: "sort", to: "END" },
        { from: "left", to: "more" },
        { from: "more", to: "join" },
        { from: "right", to: "join" },
        { from: "join", to: "END" },
      ],
    },
  });
const sorterReplies = repliesByPrompt(
  { Left: "left", More: "more", Join: "joined", Mend: "mended" },
  200,
);

async function started(agent: AgentDefinition, script: readonly ScriptedReply[]) {
  sent = [];
  const { runtime } = await testRuntime(script, { checkpointer: new MemorySaver() });
  const graph = await compileAgent(agent, runtime);
  await graph.invoke({ input: { message: "Go" } }, thread);
  return graph;
}

type Checkpoint = StateSnapshot & { readonly ran: readonly string[] };

/** The checkpoints after `initialize` with the nodes that ran before each, oldest first. */
async function checkpointsOf(graph: AgentGraph, config: object = thread): Promise<Checkpoint[]> {
  const history = (await collect(graph.getStateHistory(config))).toReversed();
  return history.flatMap((snapshot, index) => {
    const ran = history[index - 1]?.next ?? [];
    return (snapshot.metadata?.step ?? -1) < 1 ? [] : [{ ...snapshot, ran }];
  });
}

const stateOf = async (graph: AgentGraph, config: object) => {
  const { values, next } = await graph.getState(config);
  return { ...(values as GraphState), next };
};

/** Edits each checkpoint, as nobody in particular and as each node that ran before it. The last edits are not run yet. */
async function editEach(graph: AgentGraph, config: object = thread) {
  const edits: { next: string; config: object }[] = [];
  for (const checkpoint of await checkpointsOf(graph, config)) {
    const next = checkpoint.next.join(" + ");
    for (const asNode of [undefined, ...checkpoint.ran]) {
      const edited = await graph.updateState(checkpoint.config, edit, asNode);
      const after = await stateOf(graph, edited);
      expect({ asNode, next: after.next }).toEqual({ asNode, next: checkpoint.next });
      expect(after.nodes).toMatchObject(edit.nodes);
      if (asNode === checkpoint.ran[0]) edits.push({ next, config: edited });
    }
  }
  return edits;
}

/** Edits each checkpoint and runs it to its end. */
async function editAndRunEach(graph: AgentGraph) {
  const edits = await editEach(graph);
  for (const { next, config } of edits) {
    if (next === "") continue;
    await graph.invoke(null, config);
    expect(await stateOf(graph, thread)).toMatchObject({ status: "COMPLETED", next: [] });
  }
  return edits.map(({ next }) => next);
}

describe("updateState of an agent's graph", () => {
  it("keeps what is next at each checkpoint of the standard loop", async () => {
    const agent = defineAgent({ name: "mailer", tools: [send(false)] });
    const graph = await started(agent, always(sendsOnce));
    expect(await editAndRunEach(graph)).toEqual([
      "plan",
      "reason",
      "tools",
      "reason",
      "reflect",
      "finalize",
      "",
    ]);
    expect((await stateOf(graph, thread)).output).toEqual({ message: "Done." });
  });

  it("keeps what is next on parallel branches of a workflow", async () => {
    const graph = await started(sorter(), sorterReplies);
    expect(await editAndRunEach(graph)).toEqual([
      "plan",
      "sort",
      "left + right",
      "more",
      "join",
      "reflect",
      "finalize",
      "",
    ]);
    expect((await stateOf(graph, thread)).output).toEqual({ message: "joined" });
  });

  it("keeps what is next inside of a planner", async () => {
    const { runtime } = await testRuntime(plannerReplies({}, 200), {
      checkpointer: new MemorySaver(),
    });
    const planner = definePlanner({ workers: [codeWorker(() => "ok")] });
    const graph = await compileAgent(planner, runtime);
    const plan = planOf({ a: "", b: "a" });
    await graph.invoke({ input: { message: "Go", plan } }, thread);
    const before = (await checkpointsOf(graph)).find(({ next }) => next.includes("planner"));
    const namespace = `planner:${before?.tasks[0]?.id}`;
    const inside = { configurable: { thread_id: "t", checkpoint_ns: namespace } };
    expect((await editEach(graph, inside)).map(({ next }) => next)).toEqual([
      "begin",
      "decompose",
      "execute",
      "synthesise",
      "judge",
      "reflect",
      "finalize",
      "",
    ]);
  });

  /** A thread that waits for the approval of a call, whose arguments were edited. */
  async function withEditedCall(asNode?: string) {
    const agent = defineAgent({ name: "mailer", tools: [send(true)] });
    const graph = await started(agent, always(sendsOnce));
    const { current_step: step } = await stateOf(graph, thread);
    const [call] = step?.tool_predictions ?? [];
    const current_step = { ...step, tool_predictions: [{ ...call, args: { to: "bob" } }] };
    await graph.updateState(thread, { current_step }, asNode);
    const waits = { status: "AWAITING_HUMAN", next: ["human"] };
    expect(await stateOf(graph, thread)).toMatchObject(waits);
    return graph;
  }

  it("leaves a thread waiting for approval, which is asked for again", async () => {
    const graph = await withEditedCall();
    await graph.invoke(null, thread);
    const { tasks } = await graph.getState(thread);
    const proposed = [{ name: "send", args: { to: "bob" } }];
    expect(tasks[0]?.interrupts[0]?.value).toMatchObject({ proposed });
    await graph.invoke(new Command({ resume: true }), thread);
    expect(await stateOf(graph, thread)).toMatchObject({ status: "COMPLETED", next: [] });
    expect(sent).toEqual(["bob"]);
  });

  it("takes an answer for what was edited", async () => {
    const graph = await withEditedCall("reason");
    await expect(graph.invoke(new Command({ resume: "perhaps" }), thread)).rejects.toMatchObject({
      code: "invalid_answer",
    });
    await graph.invoke(new Command({ resume: false }), thread);
    expect(await stateOf(graph, thread)).toMatchObject({ status: "COMPLETED", next: [] });
    expect(sent).toEqual([]);
  });

  it("keeps a branch that waits, and what another has triggered beside it", async () => {
    const graph = await started(sorter(true), sorterReplies);
    expect((await graph.getState(thread)).next).toEqual(["right"]);
    await graph.updateState(thread, edit);
    // What `left` did is applied with the update, so that it does not run again.
    expect((await graph.getState(thread)).next).toEqual(["more", "right"]);
    await graph.invoke(null, thread);
    await graph.invoke(new Command({ resume: true }), thread);
    expect(await stateOf(graph, thread)).toMatchObject({
      status: "COMPLETED",
      output: { message: "joined" },
      nodes: { ...edit.nodes, right: { approved: true } },
    });
  });

  it("goes where the update moves the turn", async () => {
    const agent = defineAgent({ name: "mailer", tools: [send(false)] });
    const graph = await started(agent, always(sendsOnce));
    const asked = (await checkpointsOf(graph)).find(({ next }) => next.includes("tools"));
    const moved = { status: "EXECUTING", current_step: null };
    const edited = await graph.updateState(asked!.config, moved);
    expect((await graph.getState(edited)).next).toEqual(["reason"]);
    const goto = new Command({ update: edit, goto: "finalize" });
    const sentOn = await graph.updateState(asked!.config, goto, "reason");
    expect((await graph.getState(sentOn)).next).toEqual(["finalize"]);
  });

  it("goes on after a node that it acts for", async () => {
    const agent = defineAgent({ name: "mailer", tools: [send(true)] });
    const graph = await started(agent, always(sendsOnce));
    const nextAs = async (asNode: string) => {
      const at = await graph.getState(thread);
      const edited = await graph.updateState(at.config, edit, asNode);
      return stateOf(graph, edited);
    };
    expect(await nextAs("human")).toMatchObject({ status: "AWAITING_TOOL", next: ["tools"] });
    expect(await nextAs("tools")).toMatchObject({ status: "EXECUTING", next: ["reason"] });
    expect(await nextAs("plan")).toMatchObject({ next: ["reason"] });
    expect(await nextAs("initialize")).toMatchObject({ status: "PLANNING", next: ["plan"] });
  });

  it("takes the edge of a workflow node that it acts for", async () => {
    const graph = await started(sorter(true), sorterReplies);
    const at = await graph.getState(thread);
    await graph.invoke(null, await graph.updateState(at.config, edit, "left"));
    const before = await graph.getState(thread);
    expect(before.next).toEqual(["right"]);
    const right = { approved: true, value: null, reason: "", timed_out: false };
    await graph.updateState(thread, { nodes: { right } }, "right");
    await graph.invoke(null, thread);
    expect(await stateOf(graph, thread)).toMatchObject({
      status: "COMPLETED",
      output: { message: "joined" },
      nodes: { right },
    });
  });

  it("revives a thread that an edit has left with nothing next", async () => {
    const agent = defineAgent({ name: "mailer", tools: [send(true)] });
    const graph = await started(agent, always(sendsOnce));
    const lost = Object.getPrototypeOf(graph).bulkUpdateState as AgentGraph["bulkUpdateState"];
    await lost.call(graph, thread, [{ updates: [{ values: edit as never, asNode: "reason" }] }]);
    expect((await graph.getState(thread)).next).toEqual([]);
    await graph.updateState(thread, edit);
    expect((await graph.getState(thread)).next).toEqual(["human"]);
  });

  it("copies a checkpoint, with updates of what is next there too", async () => {
    const graph = await started(sorter(), sorterReplies);
    const fanned = (await checkpointsOf(graph)).find(({ next }) => next.length === 2);
    const copy = await graph.updateState(fanned!.config, null, "__copy__");
    expect((await graph.getState(copy)).next).toEqual(["left", "right"]);
    const pairs = [
      [{ nodes: { left: { text: "mine" } } }, "left"],
      [{ nodes: { right: { result: 1 } } }, "right"],
    ];
    const replaced = await graph.updateState(fanned!.config, pairs, "__copy__");
    expect((await graph.getState(replaced)).next).toEqual(["more"]);
    await graph.invoke(null, replaced);
    expect(await stateOf(graph, thread)).toMatchObject({
      status: "COMPLETED",
      nodes: { left: { text: "mine" } },
    });
  });
});

import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../../../src/compile/errors.ts";
import {
  compileAgent,
  defineAgent,
  defineRail,
  defineTool,
  executeAgent,
} from "../../../src/index.ts";
import type { Inbox, InboxMessage } from "../../../src/compile/run/run-config.ts";
import type { ExecuteOptions } from "../../../src/runtime/execute-agent.ts";
import { type TestRun, testRuntime } from "../../helpers/run-agent.ts";

const looks = { calls: [{ name: "look", args: {} }] };

/** An inbox that keeps everything, as before the end of a run. */
function testInbox() {
  const kept: InboxMessage[] = [];
  let reads = 0;
  const inbox: Inbox = { read: async () => ((reads += 1), [...kept]) };
  return {
    say: (content: string) => void kept.push({ id: `m${kept.length}`, content }),
    options: { inbox } as ExecuteOptions,
    reads: () => reads,
  };
}

const lookTool = (handler: () => unknown) =>
  defineTool({ name: "look", description: "Looks.", input_schema: { type: "object" }, handler });
const read = ({ model }: TestRun, call: number) =>
  model.read(call).filter((text) => !text.startsWith("system:"));

describe("messages into a turn", () => {
  it("stand before the step that read them first, in every later context", async () => {
    const { say, options } = testInbox();
    let looked = 0;
    const look = lookTool(() => say(`said ${(looked += 1)}`));
    const run = await testRuntime([looks, looks, "Done.", "Bye."], { tools: [look] });
    const agent = defineAgent({ name: "a", tools: ["look"] });
    const first = await executeAgent(
      agent,
      { message: "go" },
      { ...options, runtime: run.runtime },
    );
    const people = (call: number) =>
      read(run, call).map((text) =>
        text.startsWith("human:") ? text.slice(7) : text.split(":")[0],
      );
    expect(people(1)).toEqual(["go", "ai", "tool", "said 1"]);
    expect(people(2)).toEqual(["go", "ai", "tool", "said 1", "ai", "tool", "said 2"]);
    const { threadId } = first;
    await executeAgent(agent, { message: "next" }, { ...options, threadId, runtime: run.runtime });
    const last = read(run, 3).filter((text) => text.startsWith("human:"));
    expect(last).toEqual(["human: go", "human: said 1", "human: said 2", "human: next"]);
  });

  it("stay before the refusal of the answer that followed them", async () => {
    const { say, options } = testInbox();
    const run = await testRuntime(["no", "yes"]);
    const agent = defineAgent({
      name: "a",
      execution_config: { max_attempts: 2 },
      validate: ({ message }: { message: string }) => (message === "no" ? "say yes" : undefined),
    });
    say("be polite");
    await executeAgent(agent, { message: "go" }, { ...options, runtime: run.runtime });
    const asked = read(run, 1);
    expect(asked.slice(0, 3)).toEqual(["human: go", "human: be polite", "ai: no"]);
    expect(asked[3]).toContain("say yes");
  });

  it("are in a cancelled turn that resumes, once", async () => {
    const { say, options } = testInbox();
    const cancelling = new AbortController();
    let looked = 0;
    const look = lookTool(() => {
      if ((looked += 1) === 1) say("said");
      else if (looked === 2) cancelling.abort();
    });
    const run = await testRuntime([looks, looks, "Done."], { tools: [look] });
    const agent = defineAgent({ name: "a", tools: ["look"] });
    const given = { ...options, threadId: "t", runtime: run.runtime };
    const cancelled = await executeAgent(
      agent,
      { message: "go" },
      { ...given, signal: cancelling.signal },
    );
    expect(cancelled.status).toBe("CANCELLED");
    const resumed = await executeAgent(agent, null, given);
    expect(resumed.status).toBe("COMPLETED");
    expect(read(run, 2).filter((text) => text === "human: said")).toHaveLength(1);
  });

  it("are not read by an agent that runs in a node", async () => {
    const { say, options, reads } = testInbox();
    const inner = defineAgent({ name: "inner" });
    const run = await testRuntime(["Done."]);
    const agent = defineAgent({
      name: "outer",
      agents: [inner],
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "agent", config: { agent: "inner", input: { message: "go" } } },
        ],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    say("said");
    const result = await executeAgent(
      agent,
      { message: "go" },
      { ...options, runtime: run.runtime },
    );
    expect([result.status, reads()]).toEqual(["COMPLETED", 0]);
    expect(read(run, 0).join()).not.toContain("said");
  });

  it("are evidence for the answer", async () => {
    const { say, options } = testInbox();
    const evidence: (readonly string[])[] = [];
    const rail = defineRail({
      name: "reads",
      on: ["output"],
      check: (_subject, context) => void evidence.push(context.evidence),
    });
    const run = await testRuntime(["Ann."], { rails: [rail] });
    const agent = defineAgent({
      name: "a",
      guardrail_config: { output_rails: [{ type: "custom", name: "reads" }] },
    });
    say("I am Ann.");
    await executeAgent(agent, { message: "Who am I?" }, { ...options, runtime: run.runtime });
    expect(evidence).toEqual([["Who am I?", "I am Ann."]]);
  });

  it("begin no turn", async () => {
    const { runtime } = await testRuntime(["Done."]);
    const graph = await compileAgent(defineAgent({ name: "a" }), runtime);
    const additional_kwargs = {
      within_turn: { turn_number: 0, attempt_number: 0, step_index: 0 },
    };
    const messages = [new HumanMessage({ content: "go", additional_kwargs })];
    const invoked = graph.invoke({ messages }, { configurable: { thread_id: "t" } });
    await expect(invoked).rejects.toThrow(InvalidInputError);
  });
});

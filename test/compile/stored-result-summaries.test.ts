import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent, ModelCallError } from "../../src/index.ts";
import { testRuntime, type TestRun } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const pages = defineTool({
  name: "read",
  description: "Reads a page.",
  input_schema: z.object({ page: z.number() }),
  handler: ({ page }) => `page ${page}: ${"lorem ipsum dolor ".repeat(400)}`,
});
const read = (page: number) => ({ calls: [{ id: `c${page}`, name: "read", args: { page } }] });
const reader = defineAgent({
  name: "reader",
  tools: [pages],
  context_config: { whole_results: "last_step", summarize_results: { threshold_tokens: 500 } },
});
const threadId = "t";
const down = () => {
  throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "It is down." });
};
const bytes = (messages: readonly BaseMessage[] | undefined) =>
  messages?.map(({ type, content }) => [type, content]);
const turn = ({ runtime }: TestRun, message: string) =>
  executeAgent(reader, { message }, { runtime, threadId });

/** A thread whose first turn is over, in a runtime that is gone. */
async function begun(script: readonly ScriptedReply[]) {
  const checkpointer = new MemorySaver();
  const restarted = (more: readonly ScriptedReply[]) => testRuntime(more, { checkpointer });
  const first = await testRuntime(script, { checkpointer });
  await turn(first, "Read 1 and 2.");
  return { first, restarted };
}

describe("summaries of results", () => {
  const script = [read(1), read(2), "One is fine.", "Both read."];

  it("are the same after a restart, and are not paid for again", async () => {
    const more = ["Two is fine.", "Yes."];
    const { first: control } = await begun([...script, ...more]);
    await turn(control, "Sure?");
    const { restarted } = await begun(script);
    const second = await restarted(more);
    const { output } = await turn(second, "Sure?");
    expect(output).toEqual({ message: "Yes." });
    expect(second.model.requests.map(({ messages }) => bytes(messages))).toEqual(
      control.model.requests.slice(4).map(({ messages }) => bytes(messages)),
    );
    expect(second.model.read(1).join("\n")).toContain("[summarised] One is fine.");
  });

  it("are shown to who looks at the thread from elsewhere as they were read", async () => {
    const { first, restarted } = await begun(script);
    const { runtime, model } = await restarted([]);
    const made = await runtime.threads.context({ threadId, definition: reader, step: 2 });
    expect(bytes(made.messages)).toEqual(bytes(first.model.requests[3]?.messages));
    expect(made.metadata.summaries).toMatchObject([
      { callId: "c1", outcome: "cached", model: "test:scripted" },
    ]);
    expect(made.metadata.notes.join()).not.toContain("not kept");
    expect(model.requests).toEqual([]);
  });

  it("are said not to be kept where they failed, or are still to be made", async () => {
    const { first, restarted } = await begun([read(1), read(2), down, "Both read.", "Again."]);
    const { runtime, model } = await restarted([]);
    const made = await runtime.threads.context({ threadId, definition: reader, step: 2 });
    expect(bytes(made.messages)).toEqual(bytes(first.model.requests[3]?.messages));
    expect(made.metadata.summaries).toEqual([]);
    expect(made.metadata.notes).toContain(
      "A summary of the result of c1 is not kept: it is shown as a preview.",
    );
    expect(made.asksBefore).toBe(0);
    const next = await runtime.threads.context({
      threadId,
      definition: reader,
      input: { message: "Sure?" },
    });
    expect(next.metadata.notes).toContain(
      "Summaries of the results of c1, c2 are not kept: they are shown as previews.",
    );
    expect(model.requests).toEqual([]);
  });

  it("are those that were there when the step was made, not later ones", async () => {
    const { first, restarted } = await begun([read(1), read(2), down, "Both read.", "Again."]);
    const second = await restarted(["One is fine.", "Two is fine.", "Yes."]);
    await turn(second, "Sure?");
    const { runtime } = await restarted([]);
    const before = await runtime.threads.context({
      threadId,
      definition: reader,
      turn: 0,
      step: 2,
    });
    expect(bytes(before.messages)).toEqual(bytes(first.model.requests[3]?.messages));
    const after = await runtime.threads.context({ threadId, definition: reader, turn: 1, step: 0 });
    expect(bytes(after.messages)).toEqual(bytes(second.model.requests[2]?.messages));
  });

  it("are kept with a thread also where another thread had them made", async () => {
    const { first, restarted } = await begun([...script, read(1), read(2), "Both read."]);
    const other = { runtime: first.runtime, threadId: "other" };
    await executeAgent(reader, { message: "Read 1 and 2." }, other);
    const { runtime } = await restarted([]);
    const made = await runtime.threads.context({
      threadId: "other",
      definition: reader,
      step: 2,
    });
    expect(bytes(made.messages)).toEqual(bytes(first.model.requests[6]?.messages));
    expect(made.messages.map(({ text }) => text)).toContain("[summarised] One is fine.");
  });
});

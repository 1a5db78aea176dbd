import { AIMessage } from "@langchain/core/messages";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  ModelCallError,
  compileAgent,
  defineAgent,
  defineTool,
  executeAgent,
  type AgentDefinition,
} from "../../src/index.ts";
import { synthesisRequest } from "../../src/context/prompts.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const pages = defineTool({
  name: "read",
  description: "Reads a page.",
  input_schema: z.object({ page: z.number() }),
  handler: ({ page }) => `page ${page}: ${"lorem ipsum dolor ".repeat(200)}THE SECRET OF ${page}.`,
});
const read = (page: number) => ({ calls: [{ name: "read", args: { page } }] });
const agentWith = (whole_results: "turn" | "last_step" | "none") =>
  defineAgent({
    name: "reader",
    tools: [pages],
    context_config: { whole_results },
    execution_config: { max_attempts: 1 },
  });
const shortens = agentWith("last_step");
const verdict = z.object({ verdict: z.string() });

/** A loop of an llm node and its tools. */
function flow(own: { readonly node?: object; readonly agent?: object } = {}) {
  return defineAgent({
    name: "flow",
    tools: [pages],
    context_config: { whole_results: "last_step" },
    execution_config: { max_iterations: 5, max_attempts: 1 },
    workflow_graph: {
      entry_point: "think",
      nodes: [
        { name: "think", type: "llm", ...own.node },
        { name: "act", type: "tool" },
      ],
      edges: [
        { from: "think", to: "act", condition: "size(nodes.think.tool_calls) > 0" },
        { from: "think", to: "END" },
        { from: "act", to: "think" },
      ],
    },
    ...own.agent,
  });
}

async function run(
  script: readonly ScriptedReply[],
  agent: AgentDefinition<{ message: string }, object> = shortens,
  toolCalling = true,
) {
  const made = await testRuntime(script, { toolCalling });
  const { runtime, onEvent } = made;
  const result = await executeAgent(agent, { message: "go" }, { runtime, onEvent });
  return { ...made, ...result };
}

describe("an answer that was made from shortened results", () => {
  it("is written once more from the whole ones, without tools", async () => {
    const unseen: boolean[] = [];
    const seen = (id: string, text: string): ScriptedReply => {
      return (_request, config) => {
        unseen.push(config.tags?.includes("nostream") ?? false);
        return new AIMessage({ id, content: text });
      };
    };
    const { steps, output, model, events } = await run([
      read(1),
      read(2),
      seen("first", "From previews."),
      seen("second", "From all."),
    ]);
    expect(output).toEqual({ message: "From all." });
    expect(steps).toHaveLength(3);
    expect(steps[2]).toMatchObject({
      thought: "From all.",
      usage: { llm_calls: 2, tokens_in: 20 },
    });
    expect(unseen).toEqual([true, false]);
    expect(model.requests[3]?.tools).toBeUndefined();
    const whole = `page 1: ${"lorem ipsum dolor ".repeat(200)}THE SECRET OF 1.`;
    expect(model.read(2).join("\n")).not.toContain(whole);
    expect(model.read(3).join("\n")).toContain(whole);
    expect(model.read(3).at(-1)).toBe(`human: ${synthesisRequest}`);
    expect(events.filter(({ type }) => type === "thought")).toMatchObject([{ text: "From all." }]);
    expect(events.find(({ type }) => type === "message")).toMatchObject({ text: "From all." });
  });

  it("is written from whole results where planning keeps none whole", async () => {
    const { output, usage, model } = await run([read(1), "Preview.", "All."], agentWith("none"));
    expect(output).toEqual({ message: "All." });
    expect(usage.llm_calls).toBe(3);
    const whole = `page 1: ${"lorem ipsum dolor ".repeat(200)}THE SECRET OF 1.`;
    expect(model.read(1).join("\n")).not.toContain(whole);
    expect(model.read(2).join("\n")).toContain(whole);
  });

  it("stays where nothing was shortened", async () => {
    const { output, usage } = await run([read(1), read(2), "From all."], agentWith("turn"));
    expect(output).toEqual({ message: "From all." });
    expect(usage.llm_calls).toBe(3);
  });

  it("stays where the second call gives none, and is paid for all the same", async () => {
    const { output, steps } = await run([read(1), read(2), "From previews.", " "]);
    expect(output).toEqual({ message: "From previews." });
    expect(steps[2]).toMatchObject({ thought: "From previews.", usage: { llm_calls: 2 } });
  });

  it("is continued without being streamed where its beginning was not streamed", async () => {
    const unseen: boolean[] = [];
    const cut = (content: string, finish_reason = "length"): ScriptedReply => {
      return (_request, config) => {
        unseen.push(config.tags?.includes("nostream") ?? false);
        return new AIMessage({ content, response_metadata: { finish_reason } });
      };
    };
    const agent = defineAgent({
      name: "reader",
      tools: [pages],
      context_config: { whole_results: "last_step" },
      execution_config: { max_attempts: 1 },
      llm_config: { continue_truncated: true },
    });
    const kept = await run([read(1), read(2), cut("From"), cut(" "), cut(" previews.")], agent);
    expect(kept.output).toEqual({ message: "From previews." });
    expect(unseen.splice(0)).toEqual([true, false, true]);
    const written = await run(
      [read(1), read(2), cut("From previews.", "stop"), cut("From"), cut(" all.")],
      agent,
    );
    expect(written.output).toEqual({ message: "From all." });
    expect(unseen).toEqual([true, false, false]);
  });

  it("stays where no model answers the second call", async () => {
    const fails = () => {
      throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "It is down." });
    };
    const { output, status } = await run([read(1), read(2), "From previews.", fails]);
    expect(status).toBe("COMPLETED");
    expect(output).toEqual({ message: "From previews." });
  });

  it("is lost with a turn that is cancelled while it is written", async () => {
    const controller = new AbortController();
    const { runtime } = await testRuntime([
      read(1),
      read(2),
      "From previews.",
      () => {
        controller.abort();
        throw new ModelCallError({ ref: "test:scripted", reason: "outage", message: "Aborted." });
      },
    ]);
    const options = { runtime, signal: controller.signal };
    const { status, output } = await executeAgent(shortens, { message: "go" }, options);
    expect({ status, output }).toEqual({ status: "CANCELLED", output: null });
  });

  it("is not written where another call comes instead", async () => {
    const { usage, steps } = await run([read(1), read(2), read(3), "From previews.", "From all."]);
    expect(usage).toMatchObject({ llm_calls: 5, tool_calls: 3 });
    expect(steps.map((step) => step.usage.llm_calls)).toEqual([1, 1, 1, 2]);
  });

  it("keeps what was noted beside it", async () => {
    const noted = {
      text: "From previews.",
      calls: [{ name: "note_step", args: { synthesis: "all is read" } }],
    };
    const { steps } = await run([read(1), read(2), noted, "From all."]);
    expect(steps[2]).toMatchObject({ thought: "From all.", synthesis: "all is read" });
  });

  it("is written in the text form too, where calls are no answer", async () => {
    const act = (page: number) => `Thought: on\nAction: read\nAction Input: {"page": ${page}}`;
    const first = "Thought: done\nFinal Answer: From previews.";
    const script = [act(1), act(2), first];
    const text = await run([...script, "Thought: all\nFinal Answer: From all."], shortens, false);
    expect(text.output).toEqual({ message: "From all." });
    const calls = await run([...script, act(3)], shortens, false);
    expect(calls.output).toEqual({ message: "From previews." });
  });

  it("is written at an llm node", async () => {
    const { output, usage } = await run([read(1), read(2), "From previews.", "From all."], flow());
    expect(output).toEqual({ message: "From all." });
    expect(usage.llm_calls).toBe(4);
  });
});

describe("an answer that has to fit a schema", () => {
  const first = '{"verdict": "guilty"}';
  const inLoop = defineAgent({
    name: "judge",
    tools: [pages],
    output_schema: verdict,
    context_config: { whole_results: "last_step" },
    execution_config: { max_attempts: 1 },
  });
  const ofNode = { config: { output_schema: z.toJSONSchema(verdict) } };

  it.each([
    ["the agent's, in the standard loop", inLoop],
    ["an llm node's own", flow({ node: ofNode, agent: { output_schema: verdict } })],
    [
      "the agent's, at an llm node that answers for the turn",
      flow({ agent: { output_schema: verdict } }),
    ],
  ])("stays where what was written instead does not fit it: %s", async (_, agent) => {
    for (const second of ["Sorry, I cannot.", '{"verdict": 7}']) {
      const { output, status, steps } = await run([read(1), read(2), first, second], agent);
      expect({ output, status }).toEqual({ output: { verdict: "guilty" }, status: "COMPLETED" });
      expect(steps[2]).toMatchObject({ thought: first, usage: { llm_calls: 2 } });
    }
  });

  it.each([
    ["in the standard loop", inLoop],
    ["at an llm node", flow({ node: ofNode, agent: { output_schema: verdict } })],
  ])("is replaced by another that fits, and where it did not fit itself, %s", async (_, agent) => {
    const second = '{"verdict": "free"}';
    for (const before of [first, "Guilty."]) {
      const { output } = await run([read(1), read(2), before, second], agent);
      expect(output).toEqual({ verdict: "free" });
    }
  });

  it("is replaced where neither fits", async () => {
    const { steps, status } = await run([read(1), read(2), "Guilty.", "Free."], inLoop);
    expect(status).toBe("FAILED");
    expect(steps[2]?.thought).toBe("Free.");
  });

  it("keeps the message that said it", async () => {
    const { runtime } = await testRuntime([
      read(1),
      read(2),
      () => new AIMessage({ id: "first", content: first }),
      () => new AIMessage({ id: "second", content: "Sorry, I cannot." }),
    ]);
    const graph = await compileAgent(inLoop, runtime);
    const config = { configurable: { thread_id: "t" } };
    const { messages } = await graph.invoke({ input: { message: "go" } }, config);
    expect(messages.at(-1)).toMatchObject({ id: "first", content: first });
  });
});

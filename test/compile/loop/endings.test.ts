import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../src/index.ts";
import type { AgentSpecInput } from "../../../src/definition/schema/agent.ts";
import { runOnWire, tokensIn } from "../../helpers/wire/agent.ts";
import { wireServer } from "../../helpers/wire/server.ts";
import { refOf } from "../../models/wire/providers.ts";

const text = "The answer is 42, since six times seven is 42.";
const loops = ["standard loop", "llm node"] as const;
type Loop = (typeof loops)[number];

/** An agent of one step, as the standard loop or as a workflow of one node. */
function agentWith(llm_config: AgentSpecInput["llm_config"] = {}, loop: Loop = "standard loop") {
  return defineAgent({
    name: "mathematician",
    llm_config: { default_model: refOf("openai"), ...llm_config },
    execution_config: { max_attempts: 3 },
    ...(loop === "llm node" && {
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "llm", config: { prompt: "${input.message}" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    }),
  });
}

describe.each(loops)("a reply in a %s", (loop) => {
  it.each([
    ["refusal", "model_refusal", "I can't help with that."],
    ["content_filter", "content_filter", ""],
  ] as const)("that ends with %s fails the turn after one call", async (finish, cause, said) => {
    await using server = await wireServer({ text: said || "I withheld", finish });
    const { result, seen } = await runOnWire(agentWith({}, loop), server);
    expect(server.requests).toHaveLength(1);
    expect(result).toMatchObject({
      status: "FAILED",
      output: null,
      failure: { cause },
      usage: { llm_calls: 1, tokens_in: 100, tokens_out: 20 },
      steps: [
        {
          thought: said,
          finish_reason: finish,
          model: refOf("openai"),
          usage: { llm_calls: 1, tokens_in: 100, tokens_out: 20 },
          model_calls: [{ model: refOf("openai"), outcome: finish }],
        },
      ],
    });
    expect(result.failure?.message).toContain(said);
    expect(JSON.stringify(result)).not.toContain("I withheld");
    expect(result.steps).toHaveLength(1);
    expect(seen.filter(({ type }) => type === "step")).toHaveLength(1);
    expect(seen.some(({ type }) => type === "message")).toBe(false);
  });

  it("that ends at the output limit is an incomplete answer", async () => {
    await using server = await wireServer({ text, finish: "length" });
    const { result, seen } = await runOnWire(agentWith({}, loop), server);
    expect(result).toMatchObject({
      status: "COMPLETED",
      output: { message: text },
      incomplete: true,
      incomplete_reason: "length",
      steps: [{ finish_reason: "length", model_calls: [{ outcome: "length" }] }],
    });
    expect(seen.find(({ type }) => type === "message")).toMatchObject({
      text,
      incomplete: true,
      incomplete_reason: "length",
    });
    expect(server.requests).toHaveLength(1);
  });

  it("that ends at the output limit is continued once, if that is enabled", async () => {
    await using server = await wireServer(
      { text: "The answer is", finish: "length" },
      { text: " 42." },
    );
    const agent = agentWith({ continue_truncated: true }, loop);
    const { result, seen } = await runOnWire(agent, server);
    expect(result).toMatchObject({
      output: { message: "The answer is 42." },
      incomplete: false,
      incomplete_reason: null,
      usage: { llm_calls: 2 },
    });
    expect(result.steps[0]?.model_calls?.map(({ outcome }) => outcome)).toEqual(["length", "stop"]);
    expect(tokensIn(seen).join("")).toBe("The answer is 42.");
    const messages = server.requests[1]?.body["messages"] as readonly object[];
    expect(messages.slice(-2)).toMatchObject([
      { role: "assistant", content: "The answer is" },
      { role: "user" },
    ]);
  });

  it.each([
    ["cut off again", { text: " 42", finish: "length" }, "The answer is 42"],
    ["refused", { text: "No.", finish: "refusal" }, "The answer is"],
    ["not available", { refuse: "server" }, "The answer is"],
  ] as const)("whose continuation is %s stays incomplete", async (_, entry, message) => {
    await using server = await wireServer({ text: "The answer is", finish: "length" }, entry);
    const agent = agentWith({ continue_truncated: true }, loop);
    const { result } = await runOnWire(agent, server);
    expect(result).toMatchObject({
      status: "COMPLETED",
      output: { message },
      incomplete_reason: "length",
    });
    expect(server.requests).toHaveLength(2);
  });

  it("that is cut off before an answer is repeated with feedback", async () => {
    await using server = await wireServer(
      { reasoning: { text: "I multiply" }, text: "", finish: "length" },
      { text },
    );
    const { result } = await runOnWire(agentWith({}, loop), server);
    expect(result).toMatchObject({ output: { message: text }, incomplete: false });
    expect(result.steps).toMatchObject([{ finish_reason: "length" }, { thought: text }]);
    expect(result.steps[0]?.problem).toContain("cut off at the output limit");
    expect(JSON.stringify(server.requests[1]?.body)).toContain("cut off at the output limit");
  });

  it("that breaks off is made again, and its tokens are void", async () => {
    await using server = await wireServer({ text, cut: "destroyed" }, { text });
    const { result, seen } = await runOnWire(agentWith({}, loop), server, { maxRetries: 1 });
    expect(result).toMatchObject({ output: { message: text }, usage: { llm_calls: 2 } });
    const shown = seen.filter(({ type }) => /token|model_wait|message_reset/.test(type));
    const reset = shown.findIndex(({ type }) => type === "message_reset");
    expect(shown[reset]).toMatchObject({ attempt: 2, reason: "outage" });
    expect(shown[reset + 1]).toMatchObject({ type: "model_wait", reason: "outage" });
    const attempts = (of: typeof shown) =>
      of.flatMap((one) => (one.type === "token" ? [one.of.attempt] : []));
    const [before, after] = [shown.slice(0, reset), shown.slice(reset)];
    expect(new Set(attempts(before))).toEqual(new Set([1]));
    expect(new Set(attempts(after))).toEqual(new Set([2]));
    expect(text.startsWith(tokensIn(before).join(""))).toBe(true);
    expect(tokensIn(after).join("")).toBe(text);
    expect(result.steps[0]?.model_calls).toMatchObject([
      { outcome: "outage" },
      { outcome: "stop" },
    ]);
  });

  it("of a fallback is reported by an event", async () => {
    await using server = await wireServer({ refuse: "rate_limit" }, { text });
    const agent = agentWith({ fallback_model: refOf("anthropic") }, loop);
    const { result, seen } = await runOnWire(agent, server);
    expect(seen.filter(({ type }) => type === "model_fallback")).toMatchObject([
      { from: refOf("openai"), to: refOf("anthropic"), reason: "rate_limit" },
    ]);
    expect(result.steps).toMatchObject([
      { model: refOf("anthropic"), fallback: { from: refOf("openai"), reason: "rate_limit" } },
    ]);
  });
});

describe("the requests of a step", () => {
  it("are those of a router's choice too", async () => {
    await using server = await wireServer(
      { refuse: "server" },
      { text: '{"choice": "ask", "reason": "It is a sum."}' },
      { text },
    );
    const agent = defineAgent({
      name: "desk",
      llm_config: { default_model: refOf("openai"), structured_output: "prompt" },
      workflow_graph: {
        entry_point: "sort",
        nodes: [
          {
            name: "sort",
            type: "router",
            config: {
              prompt: "${input.message}",
              choices: [
                { name: "ask", description: "A sum." },
                { name: "end", description: "Anything else." },
              ],
            },
          },
          { name: "ask", type: "llm", config: { prompt: "${input.message}" } },
        ],
        edges: [
          { from: "sort", to: "ask", condition: 'nodes.sort.choice == "ask"' },
          { from: "sort", to: "END", condition: 'nodes.sort.choice == "end"' },
          { from: "ask", to: "END" },
        ],
      },
    });
    const { result } = await runOnWire(agent, server, { maxRetries: 1 });
    expect(result.steps[0]?.model_calls?.map(({ outcome }) => outcome)).toEqual(["outage", "stop"]);
  });
});

describe("an answer of a schema", () => {
  const output = { city: "Paris", country: "France" };
  const written = '{ "city": "Paris", "country": "France" }';
  const agent = defineAgent({
    name: "geographer",
    output_schema: z.object({ city: z.string(), country: z.string() }),
    llm_config: { default_model: refOf("openai") },
  });

  it("is shown while it is streamed", async () => {
    await using server = await wireServer({ text: written });
    const { result, partial } = await runOnWire(agent, server);
    expect(result.output).toEqual(output);
    expect(partial).toEqual([{}, { city: "Paris" }, output]);
  });

  it("begins anew when its reply breaks off", async () => {
    await using server = await wireServer({ text: written, cut: "closed" }, { text: written });
    const { result, partial } = await runOnWire(agent, server, { maxRetries: 1 });
    expect(result.output).toEqual(output);
    expect(partial).toEqual([{}, { city: "Paris" }, {}, { city: "Paris" }, output]);
  });
});

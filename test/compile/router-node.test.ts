import { AIMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/app.ts";
import { RouterChoiceError } from "../../src/compile/errors.ts";
import { readChoice } from "../../src/compile/nodes/router.ts";
import { routerAnswer } from "../../src/context/prompts.ts";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { boundTokens, messageTokens } from "../../src/models/usage/message-tokens.ts";
import { openAIServer } from "../helpers/openai-server.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { z } from "zod";
import { noUsage } from "../../src/state/usage.ts";

const desk = [
  { name: "billing", description: "Invoices and\n  payments" },
  { name: "technical", description: "Something does not work" },
];

const request =
  "Choose the one of these that fits best:\n" +
  "- billing: Invoices and payments\n" +
  "- technical: Something does not work\n" +
  'Reply with one JSON object: {"choice": "billing" | "technical", "reason": string (why, in one sentence)}';

/** An agent that is one router, and answers with what it gave. */
function router(config: object) {
  return defineAgent({
    name: "desk",
    output_schema: z.object({ choice: z.string(), reason: z.string() }),
    workflow_graph: {
      entry_point: "triage",
      nodes: [{ name: "triage", type: "router", config }],
      edges: [{ from: "triage", to: "END" }],
      output: { choice: "${nodes.triage.choice}", reason: "${nodes.triage.reason}" },
    },
  });
}

function chose(choice: string, reason: string): ScriptedReply {
  return { calls: [{ name: "choose", args: { choice, reason } }] };
}

async function route(
  config: object,
  script: readonly ScriptedReply[],
  options: { toolCalling?: boolean; message?: string } = {},
) {
  const test = await testRuntime(script, options);
  const { runtime, onEvent } = test;
  const input = { message: options.message ?? "I was charged twice" };
  const result = await executeAgent(router(config), input, { runtime, onEvent });
  return { ...test, result };
}

describe("a router by rule", () => {
  const rules = [
    { when: 'input.message == "a"', choice: "first" },
    { when: 'input.message.startsWith("a")', choice: "second" },
  ];

  it("takes the first rule that holds, and asks no model", async () => {
    const { result, model } = await route({ rules, default: "rest" }, [], { message: "a" });
    expect(result.output).toEqual({ choice: "first", reason: 'input.message == "a"' });
    expect(result.steps).toEqual([]);
    expect(model.requests).toEqual([]);
  });

  it("takes the default when none holds", async () => {
    const { result } = await route({ rules, default: "rest" }, [], { message: "b" });
    expect(result.output).toEqual({
      choice: "rest",
      reason: "No rule holds, so the default is taken.",
    });
  });

  it("fails by name, with what the rules saw, when it has no default", async () => {
    const { result } = await route({ rules }, [], { message: "b" });
    expect(result.status).toBe("FAILED");
    expect(result.failure).toEqual({
      cause: "no_choice",
      message:
        'Router "triage" chose none of "first", "second". None of its rules holds: ' +
        `'input.message == "a"', 'input.message.startsWith("a")', where input.message is "b". Give it a default.`,
    });
  });
});

describe("a router by model", () => {
  it("has the model call a function whose arguments are the choice", async () => {
    const { result, model } = await route({ choices: desk }, [chose("billing", "About money.")]);
    expect(result.output).toEqual({ choice: "billing", reason: "About money." });
    expect(model.read(0)).toEqual(["human: I was charged twice", `human: ${request}`]);
    expect(model.requests[0]?.answer).toEqual({
      name: "choose",
      description: "Gives the choice and the reason for it.",
      schema: {
        type: "object",
        properties: {
          choice: { type: "string", enum: ["billing", "technical"] },
          reason: { type: "string", description: "Why, in one sentence." },
        },
        required: ["choice", "reason"],
      },
    });
    expect(model.requests[0]?.tools).toBeUndefined();
  });

  it("reads the choice from text where the model calls no tools", async () => {
    const said = 'Thought: money\nFinal Answer: {"choice": "billing", "reason": "Money."}';
    const { result } = await route({ choices: desk }, [said], { toolCalling: false });
    expect(result.output).toEqual({ choice: "billing", reason: "Money." });
  });

  it("asks about its prompt, after the conversation", async () => {
    const prompt = "Who takes this: ${input.message}?";
    const { model } = await route({ choices: desk, prompt }, [chose("billing", "")]);
    expect(model.read(0)).toEqual([
      "human: I was charged twice",
      "human: Who takes this: I was charged twice?",
      `human: ${request}`,
    ]);
  });

  it("leaves one record, with its usage, and says what it thought", async () => {
    const { result, events } = await route({ choices: desk }, [chose("billing", "Money.")]);
    expect(result.steps).toEqual([
      expect.objectContaining({
        step_index: 0,
        node: "triage",
        mode: "fast",
        thought: "Money.",
        next_action: "finish",
        tool_predictions: [],
        tool_results: [],
        problem: "",
        model: "test:scripted",
        usage: { ...noUsage, tokens_in: 10, tokens_out: 5, llm_calls: 1, cost_usd: 0.001 },
      }),
    ]);
    expect(result.usage).toMatchObject({ tokens_in: 10, llm_calls: 1 });
    const seen = events.map(({ type }) => type);
    expect(seen.filter((type) => type === "thought" || type === "step" || type === "node")).toEqual(
      ["thought", "step", "node"],
    );
  });

  it("streams none of its tokens", async () => {
    const tags: unknown[] = [];
    await route({ choices: desk }, [
      (_, config) => {
        tags.push(config.tags);
        return new AIMessage('{"choice": "billing", "reason": ""}');
      },
    ]);
    expect(tags).toEqual([expect.arrayContaining(["nostream"])]);
  });

  it.each([
    ["other letter case", '{"choice": "Billing", "reason": "x"}'],
    ["no reason", '{"choice": "billing"}'],
    ["the name alone", "billing"],
    ["the name in bold, with a full stop", "**Billing**."],
    ["the name as JSON", '"billing"'],
  ])("puts up with %s", async (_, said) => {
    const { result, model } = await route({ choices: desk }, [said]);
    expect(result.output).toMatchObject({ choice: "billing" });
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    ["another choice", chose("sales", "x"), '{"choice":"sales","reason":"x"}', "Invalid option"],
    ["prose", "That is for billing, I think.", "That is for billing, I think.", "no JSON object"],
    ["a list", '["billing"]', '["billing"]', "expected object"],
  ] as const)("asks once more after %s", async (_, first, said, problem) => {
    const { result, model } = await route({ choices: desk }, [first, chose("billing", "Money.")]);
    expect(result.output).toEqual({ choice: "billing", reason: "Money." });
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.answer).toBe(model.requests[0]?.answer);
    expect(model.read(1).slice(0, 3)).toEqual([...model.read(0), `ai: ${said}`]);
    expect(model.read(1)[3]).toContain("human: That answer was not accepted:\n- ");
    expect(model.read(1)[3]).toContain(problem);
    expect(model.read(1)[3]).toContain('{"choice": "billing" | "technical", "reason": string');
    expect(result.steps).toHaveLength(1);
    expect(result.steps[0]).toMatchObject({
      thought: "Money.",
      problem: expect.stringContaining(problem),
      usage: { tokens_in: 20, llm_calls: 2 },
    });
  });

  it("asks once more after nothing at all", async () => {
    const { model } = await route({ choices: desk }, ["", chose("billing", "")]);
    expect(model.read(1)).toHaveLength(3);
    expect(model.read(1)[2]).toContain("- The answer is empty; it must be JSON.");
  });

  it("takes the default, and says why, when the second reply chooses nothing either", async () => {
    const { result } = await route({ choices: desk, default: "technical" }, ["Hm.", "Hm?"]);
    const reason =
      "The model made no choice (The answer has no JSON object or array.), so the default is taken.";
    expect(result.output).toEqual({ choice: "technical", reason });
    expect(result.steps[0]).toMatchObject({ thought: reason, next_action: "finish" });
  });

  it("fails by name without a default, and keeps the record", async () => {
    const { result, events } = await route({ choices: desk }, ["Hm.", chose("sales", "x")]);
    expect(result.failure).toEqual({
      cause: "no_choice",
      message:
        'Router "triage" chose none of "billing", "technical". ' +
        String.raw`Its model answered "Hm.", then "{\"choice\":\"sales\",\"reason\":\"x\"}". Give it a default.`,
    });
    expect(result.usage).toMatchObject({ llm_calls: 2 });
    expect(result.steps).toEqual([
      expect.objectContaining({
        thought: '{"choice":"sales","reason":"x"}',
        next_action: "continue",
        problem: expect.stringContaining("no JSON object or array.\nchoice: Invalid option"),
        usage: expect.objectContaining({ llm_calls: 2 }),
      }),
    ]);
    expect(events.filter(({ type }) => type === "step")).toHaveLength(1);
  });

  it("tries its rules first where it has both", async () => {
    const config = {
      rules: [{ when: 'input.message.contains("!")', choice: "urgent" }],
      choices: desk,
    };
    const ruled = await route(config, [], { message: "Help!" });
    expect(ruled.result.output).toMatchObject({ choice: "urgent" });
    const asked = await route(config, [chose("technical", "x")], { message: "Help" });
    expect(asked.result.output).toMatchObject({ choice: "technical" });
  });

  it("names rules and answers where it has both and no default", async () => {
    const rules = [{ when: "size(input.message) > 99", choice: "long" }];
    const { result } = await route({ rules, choices: desk }, ["a", "b"], { message: "x" });
    expect(result.failure?.message).toContain(
      `'size(input.message) > 99', where input.message is "x". Its model answered "a", then "b".`,
    );
  });
});

const echo = defineTool({
  name: "echo",
  description: "Gives back what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => text,
});

describe("a router among other nodes", () => {
  it("is read by no other node, and numbers its record like any step", async () => {
    const agent = defineAgent({
      name: "desk",
      workflow_graph: {
        entry_point: "look",
        nodes: [
          { name: "look", type: "tool", config: { tool: "echo", args: { text: "looked" } } },
          { name: "triage", type: "router", config: { choices: desk } },
          { name: "note", type: "tool", config: { tool: "echo", args: { text: "noted" } } },
          { name: "reply", type: "llm" },
        ],
        edges: [
          { from: "look", to: ["triage", "note"] },
          { from: "triage", to: "reply", condition: 'nodes.triage.choice == "billing"' },
          { from: "triage", to: "END" },
          { from: "note", to: "reply" },
          { from: "reply", to: "END" },
        ],
        output: "${nodes.reply.text}",
      },
      tools: [echo],
    });
    const { runtime, model } = await testRuntime([chose("billing", "Money."), "Paid back."]);
    const result = await executeAgent(agent, { message: "Charged twice" }, { runtime });
    expect(result.output).toEqual({ message: "Paid back." });
    const records = result.steps.map(({ node, step_index }) => `${step_index} ${node}`);
    expect(records.toSorted()).toEqual(["0 look", "1 note", "2 triage", "3 reply"]);
    expect(model.read(1).join("\n")).not.toMatch(/Money\.|Choose the one|neither a tool call/);
  });

  it("chooses anew each time round", async () => {
    const agent = defineAgent({
      name: "loop",
      workflow_graph: {
        entry_point: "triage",
        nodes: [
          { name: "triage", type: "router", config: { choices: desk } },
          { name: "work", type: "tool", config: { tool: "echo", args: { text: "worked" } } },
        ],
        edges: [
          { from: "triage", to: "work", condition: 'nodes.triage.choice == "technical"' },
          { from: "triage", to: "END" },
          { from: "work", to: "triage" },
        ],
      },
      tools: [echo],
      execution_config: { max_iterations: 5 },
    });
    const again = chose("technical", "Not yet.");
    const { runtime, model } = await testRuntime([again, again, again, chose("billing", "Done.")]);
    const result = await executeAgent(agent, { message: "Go" }, { runtime });
    expect(result).toMatchObject({ status: "COMPLETED", output: { message: "billing" } });
    expect(result.steps.map(({ step_index }) => step_index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(model.read(3).filter((text) => text.includes("worked"))).toHaveLength(3);
  });
});

describe("a router whose context is full", () => {
  const budget = 2000;
  const choosing = (shownWords: number) =>
    defineAgent({
      name: "desk",
      workflow_graph: {
        entry_point: "look",
        nodes: [
          {
            name: "look",
            type: "tool",
            config: { tool: "echo", args: { text: "word ".repeat(shownWords) } },
          },
          { name: "triage", type: "router", config: { choices: desk } },
        ],
        edges: [
          { from: "look", to: "triage" },
          { from: "triage", to: "END" },
        ],
        output: "${nodes.triage.choice}",
      },
      tools: [echo],
      context_config: { budget },
    });

  it("keeps both of its requests within the budget, with the schema that is bound to them", async () => {
    const sizes: number[] = [];
    const message = "Charged twice. ".repeat(200);
    for (let words = 0; words <= 1000; words += 40) {
      const { runtime, model } = await testRuntime(["no ".repeat(5000), chose("billing", "")]);
      const agent = choosing(words);
      const { output } = await executeAgent(agent, { message }, { runtime });
      expect(output).toEqual({ message: "billing" });
      expect(model.read(1).at(-3)).toBe(model.read(0).at(-1));
      expect(model.read(1).at(-2)).toBe(
        `ai: ${"no ".repeat(667).slice(0, 2000)}… [cut: 13,000 more characters]`,
      );
      const { count } = model.profile;
      for (const { messages, answer } of model.requests) {
        const bound = answer === undefined ? 0 : boundTokens(answer, count);
        sizes.push(messages.reduce((sum, one) => sum + messageTokens(one, count), bound));
      }
    }
    expect(sizes.filter((size) => size > budget)).toEqual([]);
    expect(Math.max(...sizes)).toBeGreaterThan(budget - 100);
  });
});

describe("a router over a real protocol", () => {
  it("forces the function, streams nothing, and reads what comes back", async () => {
    await using server = await openAIServer({
      calls: [{ name: "choose", args: { choice: "technical", reason: "It broke." } }],
    });
    const runtime = await createRuntime({
      env: { OPENAI_BASE_URL: server.url },
      checkpointer: false,
      defaultModel: "openai:gpt-4o-mini",
    });
    const result = await executeAgent(router({ choices: desk }), { message: "Help" }, { runtime });
    expect(result.output).toEqual({ choice: "technical", reason: "It broke." });
    const { body } = server.requests[0] ?? {};
    expect(body).toMatchObject({
      tool_choice: "required",
      tools: [{ type: "function", function: { name: "choose" } }],
    });
    expect(body?.messages.at(-1)).toEqual({ role: "user", content: request });
  });

  it("works with a server that takes no tools", async () => {
    await using server = await openAIServer(
      { status: 400, message: "This model does not support tools" },
      { text: 'I say {"choice": "technical", "reason": "It broke."}' },
    );
    const runtime = await createRuntime({
      env: { OPENAI_BASE_URL: server.url },
      checkpointer: false,
      defaultModel: "openai:local",
    });
    const result = await executeAgent(router({ choices: desk }), { message: "Help" }, { runtime });
    expect(result.output).toMatchObject({ choice: "technical" });
  });
});

it("chooses offline, by the words of the descriptions", async () => {
  const runtime = await createRuntime({ env: {}, checkpointer: false });
  const agent = router({ choices: desk });
  for (const [message, choice] of [
    ["I was charged twice", "billing"],
    ["The app does not work any more", "technical"],
  ] as const) {
    const result = await executeAgent(agent, { message }, { runtime });
    expect(result.output).toMatchObject({ choice });
  }
});

describe("whatever a model says to whatever choices", () => {
  const choices = fc.uniqueArray(fc.record({ name: fc.string(), description: fc.string() }), {
    minLength: 1,
    maxLength: 4,
    selector: ({ name }) => name,
  });
  const reply = (names: readonly string[]) => {
    const choice = fc.oneof(fc.constantFrom(...names), fc.string(), fc.jsonValue());
    const args = fc.oneof(
      fc.record({ choice, reason: fc.oneof(fc.string(), fc.jsonValue()) }),
      fc.dictionary(fc.string(), fc.jsonValue()),
    );
    return fc.oneof(
      fc.tuple(fc.constantFrom("choose", "other"), args).map(([name, given]) => {
        return new AIMessage({ content: "", tool_calls: [{ id: "1", name, args: given }] });
      }),
      args.map((given) => new AIMessage(JSON.stringify(given))),
      fc.oneof(fc.string(), fc.constantFrom(...names)).map((text) => new AIMessage(text)),
      fc.string().map((text) => {
        const broken = { id: "1", name: "choose", args: text, error: "broken" };
        return new AIMessage({ content: "", invalid_tool_calls: [broken] });
      }),
    );
  };

  it("reads one of them, or a problem", () => {
    const cases = choices.chain((some) =>
      fc.tuple(fc.constant(some), reply(some.map(({ name }) => name))),
    );
    fc.assert(
      fc.property(cases, ([some, message]) => {
        const names = some.map(({ name }) => name);
        const read = readChoice(message, routerAnswer(some), names);
        expect(read.ok ? names.includes(read.choice) : read.problem !== "").toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("ends with one of them, or with a RouterChoiceError", async () => {
    const cases = choices.chain((some) => {
      const one = reply(some.map(({ name }) => name));
      return fc.tuple(fc.constant(some), one, one, fc.boolean());
    });
    await fc.assert(
      fc.asyncProperty(cases, async ([some, first, second, toolCalling]) => {
        const script = [() => first, () => second];
        const { result } = await route({ choices: some }, script, { toolCalling });
        const names = some.map(({ name }) => name);
        const { choice } = (result.output ?? {}) as { choice?: string };
        expect(
          result.status === "COMPLETED" ? names.includes(choice ?? "") : result.failure?.cause,
        ).toBe(result.status === "COMPLETED" ? true : "no_choice");
      }),
      { numRuns: 40 },
    );
  });
});

it("carries what a caller needs to know of a choice that was not made", () => {
  const facts = {
    node: "triage",
    choices: ["a"],
    rules: ["input.n > 1"],
    seen: { "input.n": 0 },
    answers: ["?"],
  };
  expect(new RouterChoiceError(facts)).toMatchObject({ ...facts, code: "no_choice", kind: "run" });
});

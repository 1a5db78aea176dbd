import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reasoningText } from "../../../src/models/replies/reasoning.ts";
import type { WireFinish } from "../../helpers/wire/script.ts";
import { type DialectName, wireServer } from "../../helpers/wire/server.ts";
import { ask, calculator, chatOn, modelOn, ways, withTools } from "./providers.ts";

const providers = [
  "openai",
  "anthropic",
  "google",
  "mistral",
  "groq",
  "ollama",
  "bedrock",
] as const;
const rows = providers.flatMap((provider) => ways.map((way) => [provider, way] as const));

describe.each(rows)("%s, %s", (provider, way) => {
  it("replies with text", async () => {
    await using server = await wireServer({ text: "The answer is 42." });
    const { message, tokens } = await ask(way, await chatOn(provider, server));
    expect(message).toMatchObject({ content: "The answer is 42.", text: "The answer is 42." });
    expect(tokens).toEqual(way === "whole" ? [] : ["The", " answer", " is", " 42."]);
    expect(server.requests).toHaveLength(1);
  });

  it("makes several tool calls after a text", async () => {
    await using server = await wireServer({ text: "Let me see.", calls: twoCalls });
    const { message } = await ask(way, withTools(await chatOn(provider, server), [calculator]));
    expect(message.text).toBe("Let me see.");
    expect(message.invalid_tool_calls ?? []).toEqual([]);
    expect(message.tool_calls).toMatchObject(twoCalls);
    const ids = message.tool_calls?.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids?.every((id) => typeof id === "string" && id !== "")).toBe(true);
  });

  it("makes one tool call without a text", async () => {
    await using server = await wireServer({ calls: twoCalls.slice(0, 1) });
    const { message } = await ask(way, withTools(await chatOn(provider, server), [calculator]));
    expect(message.text).toBe("");
    expect(message.tool_calls).toMatchObject(twoCalls.slice(0, 1));
  });

  it("takes its own calls back with their results", async () => {
    const reasoning = { text: "I multiply.", signature: "c2lnbmF0dXJl" };
    await using server = await wireServer({ reasoning, calls: twoCalls }, { text: "42 and 2." });
    const chat = withTools(await chatOn(provider, server), [calculator]);
    const { message } = await ask(way, chat);
    const [first, second] = message.tool_calls ?? [];
    const results = [
      new ToolMessage({ content: "42", tool_call_id: first?.id ?? "", name: "calculator" }),
      new ToolMessage({ content: "2", tool_call_id: second?.id ?? "", name: "calculator" }),
    ];
    const asked: BaseMessage[] = [new HumanMessage("What is 6 * 7?"), message, ...results];
    expect((await ask(way, chat, asked)).message.text).toBe("42 and 2.");
    const sent = JSON.stringify(server.requests[1]?.body);
    expect(sent).toContain("6 * 7");
    expect(sent).toContain("1 + 1");
    expect(sent.includes(reasoning.signature)).toBe(signsReasoning.has(provider));
  });

  it("reports its tokens", async () => {
    const usage = { input: 100, output: 20, cached: 40, reasoning: 12 };
    const reasoning = { text: "I multiply." };
    await using server = await wireServer({ text: "It is 42.", reasoning, usage });
    const { message } = await ask(way, await chatOn(provider, server));
    expect(message.usage_metadata).toMatchObject({
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      ...(readsCache.has(provider) && { input_token_details: { cache_read: 40 } }),
      ...(countsReasoning.has(provider) && { output_token_details: { reasoning: 12 } }),
    });
  });

  it("shows its reasoning apart from the text", async () => {
    await using server = await wireServer({
      text: "It is 42.",
      reasoning: { text: "I multiply six by seven.", signature: "c2lnbmF0dXJl" },
    });
    const { message } = await ask(way, await chatOn(provider, server));
    expect(message.text).toBe("It is 42.");
    expect(reasoningText(message)).toBe("I multiply six by seven.");
    expect(typeof message.content).toBe(signsReasoning.has(provider) ? "object" : "string");
  });
});

const twoCalls = [
  { name: "calculator", args: { expression: "6 * 7" } },
  { name: "calculator", args: { expression: "1 + 1" } },
];

/** Providers whose reasoning is blocks of the content, with signatures that are sent back. */
const signsReasoning = new Set<DialectName>(["anthropic", "google", "bedrock"]);
/** Providers whose figures say how much of the request was read from a cache, or how much of the reply was thought. */
const readsCache = new Set<DialectName>(["openai", "anthropic", "google", "groq", "bedrock"]);
const countsReasoning = new Set<DialectName>(["openai", "google", "groq"]);

describe("a finish reason", () => {
  const ends: readonly (readonly [DialectName, WireFinish | "calls", string])[] = [
    ["anthropic", "stop", "end_turn"],
    ["anthropic", "calls", "tool_use"],
    ["anthropic", "length", "max_tokens"],
    ["anthropic", "refusal", "refusal"],
    ["google", "stop", "STOP"],
    ["google", "calls", "STOP"],
    ["google", "length", "MAX_TOKENS"],
    ["google", "content_filter", "SAFETY"],
    ["google", "prompt_blocked", "PROHIBITED_CONTENT"],
    ["mistral", "stop", "stop"],
    ["mistral", "calls", "tool_calls"],
    ["mistral", "length", "length"],
    ["groq", "stop", "stop"],
    ["groq", "calls", "tool_calls"],
    ["groq", "length", "length"],
    ["bedrock", "stop", "end_turn"],
    ["bedrock", "calls", "tool_use"],
    ["bedrock", "length", "max_tokens"],
    ["bedrock", "content_filter", "content_filtered"],
    ["bedrock", "prompt_blocked", "guardrail_intervened"],
  ];
  const each = ends.flatMap((end) => ways.map((way) => [...end, way] as const));

  it.each(each)("of %s for %s is %s (%s)", async (provider, end, reason, way) => {
    const calls = { calls: twoCalls };
    await using server = await wireServer(
      end === "calls" ? calls : { text: "The answer", finish: end },
    );
    const chat = await chatOn(provider, server);
    const { message } = await ask(way, end === "calls" ? withTools(chat, [calculator]) : chat);
    expect(message.response_metadata).toMatchObject({ finish_reason: reason });
    const isEmpty = end === "calls" || (provider === "google" && end === "prompt_blocked");
    expect(message.text).toBe(isEmpty ? "" : "The answer");
  });

  it.each([
    ["openai", "length", { finish_reason: "length" }, "whole"],
    ["openai", "content_filter", { finish_reason: "content_filter" }, "whole"],
    ["ollama", "length", { done_reason: "length" }, "whole"],
    ["ollama", "length", { done_reason: "length" }, "streamed"],
  ] as const)("of %s for %s is %j (%s)", async (provider, finish, metadata, way) => {
    await using server = await wireServer({ text: "The answer", finish });
    const { message } = await ask(way, await chatOn(provider, server));
    expect(message.response_metadata).toMatchObject(metadata);
  });
});

describe("a request", () => {
  const image = "iVBORw0KGgo=";

  it.each(providers)("of %s holds an image", async (provider) => {
    await using server = await wireServer({ text: "A square." });
    const question = new HumanMessage({
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } },
      ],
    });
    await ask("whole", await chatOn(provider, server), [question]);
    expect(JSON.stringify(server.requests[0]?.body)).toContain(image);
  });

  it.each([
    ["anthropic", { temperature: 0.2, max_tokens: 64_000 }, "temperature"],
    ["google", { temperature: 0.2, max_tokens: 64, top_p: 0.9 }, "generationConfig"],
    ["bedrock", { temperature: 0.2, max_tokens: 64, top_p: 0.9 }, "inferenceConfig"],
    ["mistral", { temperature: 0.2, max_tokens: 64, top_p: 0.9, seed: 7 }, "random_seed"],
    ["groq", { temperature: 0.2, max_tokens: 64, top_p: 0.9, seed: 7 }, "seed"],
  ] as const)("of %s has the options under its names", async (provider, options, name) => {
    await using server = await wireServer({ text: "ok" });
    await ask("whole", await chatOn(provider, server, options));
    const body = server.requests[0]?.body ?? {};
    const nested = body[name];
    const said = typeof nested === "object" ? { ...nested } : body;
    const values = Object.values(said);
    expect(Object.keys(body)).toContain(name);
    for (const value of Object.values(options)) expect(values).toContain(value);
  });

  it.each(providers.filter((provider) => provider !== "ollama"))(
    "of %s goes where base_url says",
    async (provider) => {
      await using elsewhere = await wireServer();
      await using server = await wireServer({ text: "ok" });
      const path = provider === "openai" ? "/v1" : "/";
      const options = { base_url: `${server.url(provider)}${path}` };
      const { message } = await ask("whole", await chatOn(provider, elsewhere, options));
      expect(message.text).toBe("ok");
      expect(elsewhere.requests).toEqual([]);
    },
  );

  it.each(providers)("of %s may have to be answered by one value", async (provider) => {
    const args = { city: "Paris" };
    const reply =
      provider === "ollama" ? { text: JSON.stringify(args) } : { calls: [{ name: "place", args }] };
    await using server = await wireServer(reply);
    const model = await modelOn(provider, server);
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    } as const;
    const answer = { name: "place", description: "A place.", schema };
    const { message } = await model.call({ messages: [new HumanMessage("Where?")], answer }, {});
    const isText = provider === "ollama";
    expect(message.text).toBe(isText ? JSON.stringify(args) : "");
    expect(message.tool_calls).toMatchObject(isText ? [] : [{ name: "place", args }]);
    expect(forcedIn(provider, server.requests[0]?.body ?? {})).toBe(true);
  });
});

/** Whether the request makes the model answer with the value. */
function forcedIn(provider: DialectName, body: Readonly<Record<string, unknown>>): boolean {
  switch (provider) {
    case "anthropic":
      return JSON.stringify(body["tool_choice"]) === '{"type":"any"}';
    case "google":
      return JSON.stringify(body["toolConfig"]).includes('"mode":"ANY"');
    case "bedrock":
      return JSON.stringify(body["toolConfig"]).includes('"toolChoice":{"any":{}}');
    case "ollama":
      return typeof body["format"] === "object";
    case "mistral":
      return body["tool_choice"] === "any";
    default:
      return body["tool_choice"] === "required";
  }
}

import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { LlmConfig } from "../../../src/definition/schema/agent.ts";
import { type DialectName, wireServer } from "../../helpers/wire/server.ts";
import { calculator, modelOn } from "./providers.ts";

const messages = [new SystemMessage("Be brief."), new HumanMessage("What is 6 * 7?")];
const tools = [calculator];

/** What a request has for the options, and what it has not. */
const rows: readonly (readonly [DialectName, LlmConfig, object])[] = [
  ["openai", { reasoning_effort: "low" }, { reasoning_effort: "low" }],
  ["openai", { verbosity: "low" }, { verbosity: "low" }],
  ["openai", { parallel_tool_calls: false }, { parallel_tool_calls: false }],
  ["openai", { provider_options: { user: "u-1" } }, { user: "u-1" }],
  ["openai", { seed: 7 }, { seed: 7 }],
  [
    "anthropic",
    { reasoning_effort: "low", max_tokens: 8_000 },
    { thinking: { type: "enabled", budget_tokens: 2_048 } },
  ],
  ["anthropic", { reasoning_effort: "none" }, { thinking: { type: "disabled" } }],
  [
    "anthropic",
    { parallel_tool_calls: false },
    { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  ],
  [
    "anthropic",
    {},
    { system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
  ],
  [
    "anthropic",
    { provider_options: { metadata: { user_id: "u" } } },
    { metadata: { user_id: "u" } },
  ],
  [
    "google",
    { reasoning_effort: "medium" },
    { generationConfig: { thinkingConfig: { thinkingBudget: 8_192, includeThoughts: true } } },
  ],
  ["google", { provider_options: { topK: 3 } }, { generationConfig: { topK: 3 } }],
  ["groq", { reasoning_effort: "xhigh" }, { reasoning_effort: "high" }],
  ["groq", { parallel_tool_calls: true }, { parallel_tool_calls: true }],
  ["groq", { provider_options: { presencePenalty: 0.5 } }, { presence_penalty: 0.5 }],
  ["mistral", { provider_options: { safePrompt: true } }, { safe_prompt: true }],
  ["ollama", { reasoning_effort: "low" }, { think: true }],
  ["ollama", { reasoning_effort: "none" }, { think: false }],
  [
    "ollama",
    { provider_options: { top_k: 5, keep_alive: "1h" } },
    { options: { top_k: 5 }, keep_alive: "1h" },
  ],
  ["bedrock", { provider_options: { top_k: 5 } }, { additionalModelRequestFields: { top_k: 5 } }],
];

describe("an option", () => {
  it.each(rows)("of %s, %j, is sent", async (provider, options, sent) => {
    await using server = await wireServer({ text: "42" });
    const model = await modelOn(provider, server, { config: options });
    await model.call({ messages, tools }, {});
    expect(server.requests[0]?.body).toMatchObject(sent);
  });

  it("that is about caches marks nothing where it is false", async () => {
    await using server = await wireServer({ text: "42" });
    const model = await modelOn("anthropic", server, { config: { prompt_cache: false } });
    await model.call({ messages, tools }, {});
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain("cache_control");
  });

  const refused: readonly (readonly [DialectName, Record<string, string | number>, string])[] = [
    ["openai", { messages: "x" }, "cannot be set: Stratagraph sets it itself"],
    ["anthropic", { system: "x" }, "cannot be set: Stratagraph sets it itself"],
    ["google", { topk: 3 }, "is not known; expected one of topK, safetySettings"],
    ["ollama", { format: "json" }, "cannot be set: Stratagraph sets it itself"],
  ];
  it.each(refused)("of %s, %j, is refused", async (provider, provider_options, problem) => {
    await using server = await wireServer();
    await expect(modelOn(provider, server, { config: { provider_options } })).rejects.toThrow(
      problem,
    );
  });
});

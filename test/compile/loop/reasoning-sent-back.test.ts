import { describe, expect, it } from "vitest";
import { defineAgent } from "../../../src/index.ts";
import { runOnWire, tokensIn } from "../../helpers/wire/agent.ts";
import type { WireReply } from "../../helpers/wire/script.ts";
import { type DialectName, wireServer, type WireServer } from "../../helpers/wire/server.ts";
import { refOf } from "../../models/wire/providers.ts";

const signature = "c2lnbmF0dXJl";
const thinking: WireReply = {
  reasoning: { text: "I multiply six by seven.", signature },
  calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
};
const answer: WireReply = { text: "It is 42." };

function agentOn(provider: DialectName, fallback?: DialectName) {
  return defineAgent({
    name: "mathematician",
    tools: ["calculator"],
    llm_config: {
      default_model: refOf(provider),
      ...(fallback !== undefined && { fallback_model: refOf(fallback) }),
    },
  });
}

/** What a provider gets back with the results of a call that it thought about. */
const sent: readonly (readonly [DialectName, unknown])[] = [
  ["openai", { role: "assistant", reasoning_content: "I multiply six by seven." }],
  [
    "anthropic",
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "I multiply six by seven.", signature },
        { type: "tool_use", name: "calculator" },
      ],
    },
  ],
  [
    "google",
    {
      role: "model",
      parts: [
        { text: "I multiply six by seven.", thought: true },
        { functionCall: { name: "calculator" }, thoughtSignature: signature },
      ],
    },
  ],
  [
    "bedrock",
    {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "I multiply six by seven.", signature } } },
        { toolUse: { name: "calculator" } },
      ],
    },
  ],
];

describe("what a model thought before a call", () => {
  it.each(sent)("goes back to %s with the result", async (provider, message) => {
    await using server = await wireServer(thinking, answer);
    const { result, seen } = await runOnWire(agentOn(provider), server);
    expect(result.status).toBe("COMPLETED");
    expect(result.output).toEqual({ message: "It is 42." });
    expect(result.steps.map(({ reasoning }) => reasoning?.text)).toEqual([
      "I multiply six by seven.",
      undefined,
    ]);
    expect(tokensIn(seen).join("")).toBe("It is 42.");
    const reasoned = seen.filter(({ type }) => type === "reasoning");
    expect(reasoned.map((one) => ("text" in one ? one.text : "")).join("")).toBe(
      "I multiply six by seven.",
    );
    expect(server.requests).toHaveLength(2);
    expect(modelMessages(server)).toMatchObject([message]);
  });

  it.each(["mistral", "groq", "ollama"] as const)(
    "does not go back to %s, and is recorded",
    async (provider) => {
      await using server = await wireServer(thinking, answer);
      const { result } = await runOnWire(agentOn(provider), server);
      expect(result.output).toEqual({ message: "It is 42." });
      expect(result.steps[0]?.reasoning).toEqual({ text: "I multiply six by seven." });
      expect(JSON.stringify(server.requests[1]?.body)).not.toContain("I multiply six by seven.");
    },
  );

  it.each([
    ["openai", "anthropic"],
    ["anthropic", "openai"],
    ["anthropic", "google"],
    ["google", "anthropic"],
    ["bedrock", "anthropic"],
  ] as const)("of %s does not go to its fallback of %s", async (provider, fallback) => {
    await using server = await wireServer(thinking, { refuse: "server" }, answer);
    const { result } = await runOnWire(agentOn(provider, fallback), server);
    expect(result.output).toEqual({ message: "It is 42." });
    expect(result.steps.map(({ model }) => model)).toEqual([refOf(provider), refOf(fallback)]);
    const [own, other] = server.requests.slice(1).map(({ body }) => JSON.stringify(body));
    const isSigned = provider !== "openai";
    expect(own).toContain(isSigned ? signature : "I multiply six by seven.");
    expect(other).not.toContain(signature);
    expect(other).not.toContain("I multiply six by seven.");
  });
});

/** The messages of the model itself in the second request. */
function modelMessages(server: WireServer): readonly unknown[] {
  const body = server.requests[1]?.body ?? {};
  const messages = (body["messages"] ?? body["contents"] ?? []) as readonly {
    readonly role: string;
  }[];
  return messages.filter(({ role }) => role === "assistant" || role === "model");
}

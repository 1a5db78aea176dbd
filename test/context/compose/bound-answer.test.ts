import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { composeContext } from "../../../src/context/compose/compose-context.ts";
import {
  type ComposeOptions,
  ContextOverflowError,
} from "../../../src/context/reasoning-context.ts";
import { loopTranscript } from "../../../src/context/transcript.ts";
import { boundTokens } from "../../../src/models/usage/message-tokens.ts";
import { modelProfile } from "../../../src/models/model-profile.ts";

const profile = modelProfile("openai:gpt-4o");
const answer = {
  name: "choose",
  description: "Gives the choice.",
  schema: { type: "object", properties: { choice: { type: "string", enum: ["a", "b"] } } },
};
const tools = [{ name: "look", description: "Looks.", input_schema: { type: "object" } }];

function composed(bound: Pick<ComposeOptions, "answer" | "tools">, budget = 4000) {
  return composeContext({
    profile,
    goal: "planning",
    settings: { budget, whole: "turn" },
    form: "report",
    opening: [],
    transcript: loopTranscript({
      conversation: [new HumanMessage("word ".repeat(500))],
      steps: [],
    }),
    ...bound,
  }).metadata.tokens;
}

describe("an answer that is bound beside the messages", () => {
  it("is counted with the tools", () => {
    const [none, offered] = [composed({}), composed({ tools })];
    const size = boundTokens(answer, profile.count);
    expect(size).toBeGreaterThan(20);
    expect(composed({ answer })).toEqual({
      ...none,
      tools: size,
      total: none.total + size,
      raw: none.raw + size,
    });
    expect(composed({ answer, tools }).tools).toBe(offered.tools + size);
  });

  it("takes its part of the budget", () => {
    const { total } = composed({});
    const size = boundTokens(answer, profile.count);
    expect(composed({}, total).total).toBe(total);
    expect(composed({ answer }, total + size).total).toBe(total + size);
    expect(() => composed({ answer }, total + size - 1)).toThrow(ContextOverflowError);
  });
});

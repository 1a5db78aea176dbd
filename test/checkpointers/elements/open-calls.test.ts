import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  freezeElement,
  hasOpenCalls,
  isDeeplyFrozen,
  reopen,
} from "../../../checkpointers/elements/freeze.ts";
import { firstDifference } from "../../helpers/first-difference.ts";

function answer(): AIMessage {
  const tool_calls = [{ id: "c", name: "search", args: { for: ["a"] } }];
  return new AIMessage({ id: "1", content: "", tool_calls });
}

describe("hasOpenCalls", () => {
  it("is for answers with calls alone", () => {
    expect(hasOpenCalls(answer())).toBe(true);
    expect(hasOpenCalls(new AIMessage("done"))).toBe(false);
    expect(hasOpenCalls(new HumanMessage("?"))).toBe(false);
    expect(hasOpenCalls({ tool_calls: [{}] })).toBe(false);
    expect(hasOpenCalls(undefined)).toBe(false);
  });
});

describe("reopen", () => {
  it("copies a frozen message so that it can be written to, and leaves the original", () => {
    const message = answer();
    freezeElement(message);
    const copy = reopen(message);
    expect(firstDifference(reopen(answer()), answer())).toBeNull();
    expect(JSON.stringify(copy)).toBe(JSON.stringify(message));
    copy.tool_calls = [];
    copy.lc_kwargs["name"] = "bot";
    expect(message.tool_calls).toHaveLength(1);
    expect(message.lc_kwargs["name"]).toBeUndefined();
    expect(isDeeplyFrozen(message)).toBe(true);
  });
});

import { createHash } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { conversationDigest, newMessages } from "../../../src/compile/loop/end-turn.ts";

const said = new HumanMessage({ id: "1", content: "one" });
const calls = [{ id: "c", name: "n", args: { of: 1 } }];
const answer = new AIMessage({ id: "2", content: "two", tool_calls: calls });
const later = new HumanMessage({ id: "3", content: "three" });

describe("newMessages", () => {
  it("returns the messages after the conversation of the last turn", () => {
    const digest = conversationDigest([said, answer]);
    expect(newMessages([said, answer, later], digest)).toEqual([later]);
  });

  it("returns all messages of a conversation that was changed, reordered or shortened", () => {
    const frozen = Object.freeze(new HumanMessage({ id: "1", content: "one" }));
    const other = Object.freeze(new HumanMessage({ id: "1", content: "other" }));
    const digest = conversationDigest([frozen, answer]);
    expect(newMessages([frozen, answer, later], digest)).toEqual([later]);
    expect(newMessages([other, answer, later], digest)).toHaveLength(3);
    expect(newMessages([answer, frozen, later], digest)).toHaveLength(3);
    expect(newMessages([frozen], digest)).toHaveLength(1);
  });

  it("reads a message that can change each time", () => {
    const message = new HumanMessage({ id: "1", content: "one" });
    const digest = conversationDigest([message, answer]);
    message.content = "other";
    expect(newMessages([message, answer, later], digest)).toHaveLength(3);
  });

  it("accepts the digests of earlier versions", () => {
    const hash = createHash("sha256")
      .update(JSON.stringify(["1", "human", "one", []]))
      .update(JSON.stringify(["2", "ai", "two", [["c", "n", { of: 1 }]]]));
    const digest = `2:${hash.digest("hex")}`;
    expect(newMessages([said, answer, later], digest)).toEqual([later]);
    expect(newMessages([said, later, answer], digest)).toHaveLength(3);
  });
});

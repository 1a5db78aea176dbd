import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { editedMessages } from "../../../src/compile/loop/step.ts";

const callOf = (id: string, amount: number) => ({ id, name: "pay", args: { amount } });

it("puts a person's arguments into the newest message that has the call, and keeps the rest of it", () => {
  const usage_metadata = { input_tokens: 7, output_tokens: 2, total_tokens: 9 };
  const response_metadata = { model_name: "m" };
  const calling = (id: string) =>
    new AIMessage({
      id,
      name: "clerk",
      content: "I pay.",
      tool_calls: [callOf("a", 10), callOf("b", 20)],
      usage_metadata,
      response_metadata,
    });
  const kept = callOf("a", 10);
  const messages = [calling("1"), new HumanMessage("Wait."), calling("2")];
  const edited = editedMessages(
    [kept, callOf("b", 20)] as never,
    [kept, callOf("b", 5)] as never,
    messages,
  );
  // `a` has the same arguments object before and after.
  expect(edited).toEqual([
    new AIMessage({
      id: "2",
      name: "clerk",
      content: "I pay.",
      tool_calls: [callOf("a", 10), callOf("b", 5)],
      usage_metadata,
      response_metadata,
    }),
  ]);
});

it("adds nothing to a message that has no id, name or usage", () => {
  const message = new AIMessage({ content: "", tool_calls: [callOf("b", 20)] });
  const [edited] = editedMessages([callOf("b", 20)] as never, [callOf("b", 5)] as never, [message]);
  expect(edited).toEqual(new AIMessage({ content: "", tool_calls: [callOf("b", 5)] }));
});

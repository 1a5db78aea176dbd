import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createModels } from "../../../src/models/create-models.ts";
import { OfflineRulesModel } from "../../../src/models/offline/offline-model.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { toolbox } from "./tools.ts";

const request = [new HumanMessage("What is 6 * 7?")];

describe("offline:rules", () => {
  it("calls bound tools, counts tokens and costs nothing", async () => {
    const model = await createModels({ env: {}, clock: new ManualClock() }).resolve({});
    const reply = await model.call({ messages: request, tools: toolbox }, {});
    expect(reply).toMatchObject({
      model: "offline:rules",
      message: {
        content: "[offline:rules] Calling calculator.",
        tool_calls: [{ id: "call_1", name: "calculator", args: { expression: "6 * 7" } }],
      },
      usage: { tokens_in: 4, llm_calls: 1, cost_usd: 0 },
    });
  });

  it("streams word by word what it says in one piece", async () => {
    const chat = new OfflineRulesModel();
    const whole = await chat.invoke([new HumanMessage("Hello  there")]);
    const words: string[] = [];
    let streamed = null;
    for await (const chunk of await chat.stream([new HumanMessage("Hello  there")])) {
      if (chunk.text !== "") words.push(chunk.text);
      streamed = streamed === null ? chunk : streamed.concat(chunk);
    }
    expect(words.slice(0, 3)).toEqual(["[offline:rules]", " I", " am"]);
    expect(streamed?.text).toBe(whole.text);
    expect(streamed?.usage_metadata).toMatchObject({ ...whole.usage_metadata });
  });

  it("streams tool calls", async () => {
    const bound = new OfflineRulesModel().bindTools(
      toolbox.map(({ name, description, input_schema }) => ({
        type: "function",
        function: { name, description, parameters: input_schema },
      })),
    );
    let streamed = null;
    for await (const chunk of await bound.stream(request)) {
      streamed = streamed === null ? chunk : streamed.concat(chunk);
    }
    expect(streamed?.tool_calls).toEqual([
      { type: "tool_call", id: "call_1", name: "calculator", args: { expression: "6 * 7" } },
    ]);
  });

  it("says the same every time", async () => {
    const model = await createModels({ env: {}, clock: new ManualClock() }).resolve({});
    const replies = await Promise.all(
      [1, 2, 3].map(() => model.call({ messages: request, tools: toolbox }, {})),
    );
    const said = replies.map(({ message }) => [message.text, message.tool_calls]);
    expect(said[1]).toEqual(said[0]);
    expect(said[2]).toEqual(said[0]);
  });
});

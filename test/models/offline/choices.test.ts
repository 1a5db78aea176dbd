import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/models/offline/decide.ts";
import { OfflineRulesModel } from "../../../src/models/offline/offline-model.ts";

type Choices = Readonly<Record<string, string>>;

const desk: Choices = {
  billing: "Questions about invoices and payments",
  technical: "The product does not work as it should",
  sales: "Questions before buying",
  refund: "Someone wants their money back",
};

const withRest: Choices = {
  technical: "Bugs, crashes, errors",
  billing: "Charges, payment methods",
  other: "Anything else",
};

function functionFor(choices: Choices) {
  const properties = {
    choice: { type: "string", enum: Object.keys(choices) },
    reason: { type: "string" },
  };
  const parameters = { type: "object", properties, required: ["choice", "reason"] };
  return { name: "choose", description: "Gives the choice.", parameters };
}

function list(choices: Choices): string {
  const lines = Object.entries(choices).map(([name, about]) => `- ${name}: ${about}`);
  const names = Object.keys(choices).map((name) => JSON.stringify(name));
  return `Choose:\n${lines.join("\n")}\nReply with one JSON object: {"choice": ${names.join(" | ")}, "reason": string}`;
}

/** What is chosen by calling the function, and in text. */
function choose(choices: Choices, ...said: string[]) {
  const messages = [...said, list(choices)].map((text) => new HumanMessage(text));
  const called = decide(messages, [], functionFor(choices)).calls[0]?.args;
  expect(JSON.parse(decide(messages, []).text)).toEqual(called);
  return called;
}

describe("the offline model's choice", () => {
  it.each([
    ["I was charged twice", "billing"],
    ["My invoice is wrong", "billing"],
    ["My app crashes when I log in", "technical"],
    ["It has not worked since the update", "technical"],
    ["I would like to buy ten licences", "sales"],
    ["Can I get a refund for my order?", "refund"],
    ["I want my money back", "refund"],
  ])("for %j is %s", (request, choice) => {
    expect(choose(desk, request)).toMatchObject({ choice });
  });

  it("says that it goes by words", () => {
    expect(choose(desk, "I was charged twice")).toEqual({
      choice: "billing",
      reason: "[offline:rules] billing, by word overlap: what was asked has charged, twice.",
    });
  });

  it("is the first when nothing speaks for any, or as much for two", () => {
    expect(choose(desk, "Hello")).toEqual({
      choice: "billing",
      reason:
        "[offline:rules] billing, by word overlap: nothing that was asked speaks for any choice.",
    });
    expect(choose({ b: "red things", a: "blue things" }, "red and blue")).toMatchObject({
      choice: "b",
    });
  });

  it("is the one for everything else when nothing speaks for any", () => {
    expect(choose(withRest, "What are your opening hours?")).toMatchObject({ choice: "other" });
    expect(choose(withRest, "Wrong charge")).toMatchObject({ choice: "billing" });
  });

  it("goes by what was said before when the request says nothing", () => {
    expect(choose(desk, "Can I get a refund?", "Who is to take this?")).toMatchObject({
      choice: "refund",
    });
  });

  it("tells names apart of which one begins like the other", () => {
    const choices = { bill: "Asks for a copy of a document", billing: "Has paid too often" };
    expect(choose(choices, "Why have I paid this?")).toMatchObject({ choice: "billing" });
  });

  it("counts what all descriptions say as little", () => {
    const choices = { a: "customer asks about cats", b: "customer asks about dogs customers have" };
    expect(choose(choices, "The customer asks: dogs?")).toMatchObject({ choice: "b" });
  });
});

describe("a function that the offline model has to call", () => {
  const tool = {
    type: "function" as const,
    function: functionFor(desk),
  };
  const messages = [new HumanMessage("I want my money back"), new HumanMessage(list(desk))];

  it.each(["any", "required", "choose"])(
    "is called when tool_choice is %s",
    async (tool_choice) => {
      const model = new OfflineRulesModel().bindTools([tool], { tool_choice });
      const reply = (await model.invoke(messages)) as AIMessage;
      expect(reply.tool_calls).toMatchObject([
        { id: "call_1", name: "choose", args: { choice: "refund" } },
      ]);
      expect(reply.text).toBe("[offline:rules] Calling choose.");
    },
  );

  it("is called in a stream as well", async () => {
    const model = new OfflineRulesModel().bindTools([tool], { tool_choice: "any" });
    let whole = null;
    for await (const chunk of await model.stream(messages)) {
      whole = whole === null ? chunk : whole.concat(chunk);
    }
    expect(whole?.tool_calls).toMatchObject([{ name: "choose", args: { choice: "refund" } }]);
  });

  it("gets arguments of its schema's form, whatever it is about", () => {
    const parameters = {
      type: "object",
      properties: { total: { type: "number" }, tags: { type: "array", items: { type: "string" } } },
      required: ["total", "tags"],
    };
    const said = [new HumanMessage("The total is 12"), new HumanMessage("Do not call a tool yet.")];
    expect(decide(said, [], { name: "sum", description: "", parameters })).toEqual({
      text: "[offline:rules] Calling sum.",
      calls: [{ id: "call_1", name: "sum", args: { total: 12, tags: [] } }],
    });
  });
});

import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type EarlierTurn,
  summaryRequest,
} from "../../../src/context/summarise/running-summary.ts";
import { decide } from "../../../src/models/offline/decide.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";
import { toolbox } from "./tools.ts";

const tools = toolbox.map(({ name, description, input_schema }) => ({
  name,
  description,
  parameters: input_schema,
}));

function turn(asked: string, answered: string, ...results: Parameters<typeof toolResult>[0][]) {
  const tool_results = results.map((over, i) => toolResult({ id: `call_${i}`, ...over }));
  const tool_predictions = tool_results.map(({ id, name, args }) => ({
    id,
    name,
    args,
    reason: "",
  }));
  return {
    asked: [new HumanMessage(asked)],
    steps: results.length === 0 ? [] : [stepRecord({ tool_predictions, tool_results })],
    answered: answered === "" ? [] : [new AIMessage(answered)],
  };
}

function summarise(
  turns: readonly EarlierTurn[],
  former: string | null = null,
  characters = 4_000,
) {
  const material = { former, turns, firstTurn: 0, maxCharacters: characters };
  const room = { maxTokens: 1e9, count: (text: string) => text.length };
  const messages: readonly BaseMessage[] = summaryRequest(material, room);
  return decide(messages, tools);
}

describe("the offline model, asked for a running summary", () => {
  it("tells each turn in a line, without a call", () => {
    const turns = [
      turn("What is 6 * 7?", "[offline:rules] 42", {
        name: "calculator",
        args: { expression: "6 * 7" },
        result: 42,
      }),
      turn("Read notes.txt\nand tell me what it says.", "[offline:rules] There is no such file.", {
        name: "read_file",
        args: { path: "notes.txt" },
        outcome: "failure",
        error: "not found",
      }),
      turn("Thanks", ""),
    ];
    expect(summarise(turns)).toEqual({
      text: [
        "user asked: What is 6 * 7?; calculator: 42; answered: 42",
        "user asked: Read notes.txt and tell me what it says.; read_file failed: failure: not found; " +
          "answered: There is no such file.",
        "user asked: Thanks",
      ].join("\n"),
      calls: [],
    });
  });

  it("keeps what the former summary says", () => {
    expect(summarise([turn("And now?", "Done.")], "The user wants a report.").text).toBe(
      "The user wants a report.\nuser asked: And now?; answered: Done.",
    );
  });

  it("lets the oldest go first where there is no room", () => {
    const turns = Array.from({ length: 200 }, (_, i) => turn(`Question ${i}?`, `Answer ${i}.`));
    const lines = summarise(turns).text.split("\n");
    expect(lines.at(-1)).toBe("user asked: Question 199?; answered: Answer 199.");
    expect(lines).toHaveLength(24);
  });

  it("is bounded by what it is asked for, and by 1,200 characters", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ maxLength: 400 }), fc.string({ maxLength: 400 })), {
          minLength: 1,
          maxLength: 30,
        }),
        fc.option(fc.string({ maxLength: 3_000 })),
        fc.integer({ min: 200, max: 4_000 }),
        (said, former, characters) => {
          const turns = said.map(([asked, answered]) => turn(asked, answered));
          const { text } = summarise(turns, former, characters);
          expect(text.length).toBeLessThanOrEqual(Math.min(1_200, characters));
          expect(summarise(turns, former, characters).text).toBe(text);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("reads other forms of a conversation, too", () => {
    const request =
      "Write a running summary of this.\n<conversation>\nUser: What is it?\nAssistant: A tool.\nIt cuts.\nUser: Thanks\n</conversation>";
    expect(decide([new SystemMessage("You summarise."), new HumanMessage(request)], tools)).toEqual(
      {
        text: "user asked: What is it?; answered: A tool. It cuts.\nuser asked: Thanks",
        calls: [],
      },
    );
  });

  it("takes a person's request for a summary as any other", () => {
    const asked = new HumanMessage("Write a running summary of notes.txt: read it first.");
    expect(decide([asked], tools).calls).toMatchObject([
      { name: "read_file", args: { path: "notes.txt" } },
    ]);
  });
});

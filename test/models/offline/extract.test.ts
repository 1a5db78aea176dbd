import { HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resultSummaryRequest } from "../../../src/context/summarise/result-summary.ts";
import { decide } from "../../../src/models/offline/decide.ts";
import { toolResult } from "../../helpers/step-record.ts";
import { toolbox } from "./tools.ts";

const tools = toolbox.map(({ name, description, input_schema }) => ({
  name,
  description,
  parameters: input_schema,
}));

function extract(question: string, result: string, goal = "decide the next step"): string {
  const request = `Extract from this tool result what matters.\n\nGoal: ${goal}\nQuestion: ${question}\n\nResult:\n${result}`;
  const { text, calls } = decide([new HumanMessage(request)], tools);
  expect(calls).toEqual([]);
  return text;
}

describe("the offline model, asked to extract from a result", () => {
  it("gives the sentences that share words with the question", () => {
    const text =
      "The office opens at nine. The cafeteria is closed. Refunds take ten days. A refund needs the receipt.";
    expect(extract("How do refunds work?", text)).toBe(
      "Refunds take ten days.\nA refund needs the receipt.",
    );
  });

  it("gives those of the goal as well", () => {
    expect(extract("What is it?", "Roses are red.\nThe invoice is 12.", "pay the invoice")).toBe(
      "The invoice is 12.",
    );
  });

  it("gives whole rows of a list", () => {
    const rows = [
      { id: "A-1", service: "billing", state: "up" },
      { id: "A-2", service: "search", state: "down" },
      { id: "A-3", service: "search", state: "up" },
    ];
    const found =
      '{"id":"A-2","service":"search","state":"down"}\n{"id":"A-3","service":"search","state":"up"}';
    expect(extract("Is search working?", JSON.stringify(rows))).toBe(found);
    expect(extract("Is search working?", JSON.stringify({ total: 3, rows }))).toBe(found);
  });

  it("reads results in tags, and sections over several lines", () => {
    const request =
      "Extract from this tool result.\nGoal:\nwrite the answer\nQuestion:\nWho owns\nthe house?\nResult:\n<result>\nThe sky is blue.\nThe house is Ada's.\n</result>";
    expect(decide([new HumanMessage(request)], []).text).toBe("The house is Ada's.");
  });

  it("keeps to the words and the question of a context's own request", () => {
    const rows = Array.from(
      { length: 40 },
      (_, i) => `Service ${i} answers, the next step is open.`,
    );
    const result = toolResult({ result: [...rows, "Billing is down since 9:00."].join("\n") });
    const about = { goal: "planning", maxCharacters: 210 } as const;
    const room = { maxTokens: 10_000, count: (text: string) => text.length };
    const text = (question: string) =>
      decide(resultSummaryRequest(result, { ...about, question }, room), tools).text;
    expect(text("What of billing?")).toBe("Billing is down since 9:00.");
    expect(text("Which services?").length).toBeLessThanOrEqual(180);
    expect(text("Why?").split("\n")[0]).toBe("Service 0 answers, the next step is open.");
  });

  it("says so where nothing does, with the beginning", () => {
    expect(extract("Why?", "Roses are red.")).toBe(
      "Nothing in it shares words with the question. It begins: Roses are red.",
    );
  });

  it("gives as many as there is room for, each cut where it is long", () => {
    const rows = extract("Which hits?", `hit ${"a".repeat(400)}\n`.repeat(9)).split("\n");
    expect(rows.map((row) => row.length)).toEqual([300, 300]);
    expect(extract("Which hits?", "A hit.\n".repeat(20)).split("\n")).toHaveLength(8);
  });

  it("is bounded, whatever the result, and the same each time", () => {
    fc.assert(
      fc.property(fc.array(fc.lorem({ maxCount: 40 })), fc.lorem(), (lines, question) => {
        const text = extract(question, lines.join("\n"));
        expect(text.length).toBeLessThanOrEqual(800);
        expect(extract(question, lines.join("\n"))).toBe(text);
      }),
      { numRuns: 50 },
    );
  });

  it("takes a person's request to extract something as any other", () => {
    const asked = new HumanMessage("Extract from this tool result: read notes.txt");
    expect(decide([asked], tools).calls).toMatchObject([{ name: "read_file" }]);
  });
});

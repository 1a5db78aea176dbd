import { expect, it } from "vitest";
import { resultSummaryRequest } from "../../../src/context/summarise/result-summary.ts";
import type { ToolResult } from "../../../src/state/step-record.ts";

const result = { id: "1", name: "find", args: {}, outcome: "success", result: "data" } as const;
const room = { maxTokens: 100, count: (text: string) => text.length };

function requestFor(question: string): string {
  const about = { goal: "synthesis", question, maxCharacters: 700 } as const;
  const [, request] = resultSummaryRequest(result as unknown as ToolResult, about, room);
  return request!.text;
}

it("tells a question of 2,000 characters whole, and cuts a longer one", () => {
  const whole = `${"q".repeat(1999)}?`;
  expect(requestFor(whole)).toContain(`Question: ${whole}\n`);
  expect(requestFor(`${whole}?`)).toContain(`Question: ${whole}… [cut: 1 more characters`);
});

it("asks for a seventh as many words as characters, for the goal, and ends with the result", () => {
  const request = requestFor("How many?");
  expect(request).toContain("in at most 100 words.");
  expect(request).toContain("\nGoal: write the answer\nQuestion: How many?\n");
  expect(request).toMatch(/\nResult:\ndata$/);
});

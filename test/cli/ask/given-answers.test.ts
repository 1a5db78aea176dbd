import { describe, expect, it } from "vitest";
import { readAnswer, readEdit } from "../../../src/cli/ask/given-answers.ts";
import { answerSchema } from "../../../src/state/answer-schema.ts";
import type { PendingRequest } from "../../../src/state/human-request.ts";

function request(
  kind: "approval" | "input" | "edit",
  schema: object | null,
  proposed: unknown = null,
) {
  return {
    id: "",
    kind,
    node: "ask",
    within: [],
    prompt: "",
    proposed,
    schema: answerSchema({ kind, schema: schema as Record<string, unknown> | null }),
    expires_at: null,
  } satisfies PendingRequest;
}

describe("an answer as it is typed", () => {
  it.each([
    ["a text that is JSON as well, where a text is asked for", request("input", null), "42", "42"],
    ["JSON, where that is asked for", request("input", { type: "integer" }), "42", 42],
    ["a text, where anything is taken and it is no JSON", request("input", {}), "four", "four"],
    ["JSON, where anything is taken", request("input", {}), "[4]", [4]],
    ["a word", request("approval", null), "approve", "approve"],
    ["true", request("approval", null), "true", true],
    [
      "a decision, even where a text is asked for",
      request("input", null),
      '{"decision":"reject","reason":"no"}',
      { decision: "reject", reason: "no" },
    ],
  ])("is %s", (_name, asked, typed, answer) => {
    expect(readAnswer(asked, typed)).toEqual({ ok: true, answer });
  });

  it("says what is wrong with the form that is asked for", () => {
    expect(readAnswer(request("input", { type: "integer" }), "4.5")).toMatchObject({
      ok: false,
      answer: 4.5,
      problem: expect.stringContaining("got 4.5"),
    });
  });

  it("is never a decision where it takes the place of what is proposed", () => {
    const edit = (value: unknown) => ({ ok: true, answer: { decision: "edit", value } });
    expect(readEdit(request("edit", null, "Hi"), "approve")).toEqual(edit("approve"));
    expect(readEdit(request("edit", null, "Hi"), "42")).toEqual(edit("42"));
    expect(readEdit(request("edit", null, { n: 1 }), '{"n":2}')).toEqual(edit({ n: 2 }));
  });
});

import { createStyle } from "../../../../src/cli/view/terminal.ts";
import { describe, expect, it } from "vitest";
import { railLines } from "../../../../src/cli/view/run/lines.ts";
import { answerTemplate } from "../../../../src/cli/view/run/request-lines.ts";

const none = new Map<string, unknown>();
const node = {
  type: "object",
  properties: { name: { type: "string" }, next: { $ref: "#/$defs/node" } },
  required: ["name", "next"],
};

describe("the template of an answer", () => {
  it.each([
    ["a number", { type: "number" }, "<number>"],
    ["one of some", { enum: ["s", 2, null] }, "<s | 2 | null>"],
    ["a list", { type: "array", items: { type: ["null", "integer"] } }, '["<integer>"]'],
    ["anything", {}, "<JSON>"],
    [
      "what is required",
      { type: "object", properties: { a: { const: 1 }, b: {} }, required: ["a"] },
      '{"a":1}',
    ],
    [
      "all where nothing is required",
      { properties: { a: { anyOf: [{ type: "boolean" }, { type: "null" }] } } },
      '{"a":"<boolean>"}',
    ],
  ])("shows %s", (_what, schema, text) => {
    expect(answerTemplate(schema, none)).toBe(text);
  });

  it("follows references as deep as there is room, and no circle", () => {
    const definitions = new Map<string, unknown>([
      ["#/$defs/node", node],
      ["#/$defs/round", { $ref: "#/$defs/round" }],
    ]);
    expect(answerTemplate({ $ref: "#/$defs/node" }, definitions)).toBe(
      '{"name":"<string>","next":{"name":"<string>","next":{"name":"<string>","next":"<object>"}}}',
    );
    expect(answerTemplate({ $ref: "#/$defs/round" }, definitions)).toBe("<JSON>");
  });

  it("stays short whatever the schema holds", () => {
    const wide = (levels: number): object =>
      levels === 0
        ? { type: "string" }
        : {
            type: "object",
            properties: Object.fromEntries(
              Array.from({ length: 50 }, (_, at) => [`field_${at}`, wide(levels - 1)]),
            ),
          };
    expect(answerTemplate(wide(3), none).length).toBeLessThanOrEqual(300);
    const long = { type: "object", properties: { ["x".repeat(500)]: {} } };
    expect(answerTemplate(long, none)).toBe("<object>");
  });
});

describe("the line of a guardrail", () => {
  const style = createStyle(false);

  it("names a memory as what a guardrail checked", () => {
    const record = {
      turn_number: 0,
      attempt_number: 0,
      step_index: null,
      call_id: null,
      memory_id: "a",
      timestamp: "",
      rail: "injection",
      on: "input" as const,
      verdict: "block" as const,
      score: 1,
      spans: [],
      reasons: ["an attack"],
      time_ms: 1,
    };
    expect(railLines(record, 80, style)).toEqual([
      "▲ guardrail injection blocked a memory: an attack",
    ]);
  });
});

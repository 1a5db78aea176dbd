import { describe, expect, it } from "vitest";
import { checkFromJsonSchema } from "../../src/definition/schema/json-schema.ts";
import { argumentRuleScope } from "../../src/definition/check/expressions.ts";
import { compileExpression } from "../../src/expression/expression.ts";
import { hashCall } from "../../src/state/human-request.ts";
import { type ArgumentRule, proposeCall } from "../../src/tools/admit-call.ts";

const input = checkFromJsonSchema({
  type: "object",
  properties: { note: { type: "string" }, speed: { enum: ["slow", "fast"] } },
  required: ["note", "to", "memo"],
});
const rule = (tool: string, check: string): ArgumentRule => {
  const compiled = compileExpression(check, argumentRuleScope({}), "bool");
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  return { tool, condition: compiled.value, message: undefined, action: "block" };
};
const rules = [
  rule("pay", "args.memo != '' && input.message != ''"),
  rule("other", "args.note != ''"),
];

describe("a proposed call", () => {
  it("shows first what rules read, then numbers and choices, then what is required, long texts last", () => {
    const long = "Refund ".repeat(100);
    const args = {
      note: long,
      extra: "x",
      to: "eve",
      lines: [long],
      speed: "fast",
      amount: 99_999,
      sure: true,
      memo: long,
    };
    const call = proposeCall({ id: "c1", name: "pay", args, reason: "" }, { input }, rules);
    expect(call.order).toEqual("memo speed amount sure to extra note lines".split(" "));
    expect(call.args).toBe(args);
    expect(call.hash).toBe(hashCall({ name: "pay", args }));
  });
});

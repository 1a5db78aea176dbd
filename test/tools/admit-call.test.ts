import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { admitCall, type CallBounds, type OuterBounds } from "../../src/tools/admit-call.ts";

const names = ["read", "pay", "send"];
const tools = new Map(
  names.map((name) => [
    name,
    defineTool({
      name,
      description: "Does it.",
      input_schema: z.object({ amount: z.number() }),
      permissions: [`${name}:do`],
      handler: () => "",
    }),
  ]),
);

const subset = fc.subarray(names);
const rule = fc.record({
  tool: fc.constantFrom(...names),
  most: fc.integer({ min: 0, max: 9 }),
  action: fc.constantFrom("block", "flag"),
});
const bounds: fc.Arbitrary<CallBounds> = fc.record({
  allowed: fc.oneof(subset, fc.constant("all" as const)),
  grants: fc.oneof(
    subset.map((own) => own.map((name) => `${name}:do`)),
    fc.constant(["*"]),
  ),
  argumentRules: fc.array(rule, { maxLength: 2 }).map((rules) =>
    rules.map(({ tool, most, action }) => ({
      tool,
      message: undefined,
      action,
      condition: {
        source: `args.amount <= ${most}`,
        references: [],
        evaluate: (values: Record<string, unknown>) =>
          (values["args"] as { amount: number }).amount <= most,
      },
    })),
  ),
  values: fc.constant({ input: {}, execution: {}, attempt: {} }),
});
const call = fc.record({
  id: fc.constant("c1"),
  name: fc.constantFrom(...names, "none"),
  args: fc.record({ amount: fc.integer({ min: 0, max: 9 }) }),
  reason: fc.constant(""),
});

it("admits a call where the agent and every agent around it would, and no other", () => {
  const chain = fc.array(bounds, { maxLength: 4 });
  fc.assert(
    fc.property(bounds, chain, call, (own, outer, made) => {
      const around: OuterBounds[] = outer.map((one, index) => ({ ...one, agent: `a${index}` }));
      const { refusal } = admitCall(made, 0, { ...own, tools, around });
      const each = [own, ...outer].map((one) => admitCall(made, 0, { ...one, tools }).refusal);
      expect(refusal === null).toBe(each.every((one) => one === null));
    }),
  );
});

it("refuses a call that is over the limit of an agent around, and names that", () => {
  const open: CallBounds = {
    allowed: "all",
    grants: ["*"],
    values: { input: {}, execution: {}, attempt: {} },
  };
  const made = { id: "c1", name: "pay", args: { amount: 1 }, reason: "" };
  const overLimit = new Map([["c1", { agent: "desk", maxCalls: 1200 }]]);
  expect(admitCall(made, 0, { ...open, tools, overLimit })).toMatchObject({
    refusal:
      'Tool "pay" was not called: agent "desk", which this agent runs in, has had the 1,200 tool calls of its turn (max_calls_per_turn). Answer with what is known.',
    findings: [{ rail: "max_calls_per_turn", verdict: "block" }],
  });
  expect(admitCall({ ...made, id: "c2" }, 0, { ...open, tools, overLimit }).refusal).toBeNull();
});

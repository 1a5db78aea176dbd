import { describe, expect, it } from "vitest";
import { createNodeRails } from "../../../src/compile/loop/node-rails.ts";
import type { NodeRailsOptions } from "../../../src/compile/loop/node.ts";
import type { AgentRails } from "../../../src/guardrails/create-rails.ts";
import type { Redactions } from "../../../src/state/rails.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const none: AgentRails = { input: [], answer: [], memory: [], tool_result: [], output: [] };
const known: Redactions = { "<EMAIL_1>": { label: "EMAIL", value: "ada@example.org" } };

function desk(of: {
  rails?: Partial<AgentRails>;
  redactions?: Redactions;
  inherited?: Redactions;
}) {
  const { redactions = {}, inherited = {} } = of;
  const parts = { clock: new ManualClock(), rails: { ...none, ...of.rails } };
  return createNodeRails({
    loop: parts as unknown as NodeRailsOptions["loop"],
    signal: new AbortController().signal,
    redactions,
    inherited,
    callModel: () => Promise.reject(new Error("nobody is asked")),
    emit() {},
  });
}

const call = { id: "c1", name: "mail", args: {}, reason: "" };
const place = { turnNumber: 0, attemptNumber: 0, stepIndex: 0 };

describe("the desk of a node without rails, where nothing is redacted", () => {
  it("is idle, gives every value back as it is, and has nothing to write", () => {
    const idle = desk({});
    const value = { text: "<EMAIL_1>", none: null };
    expect(idle.isIdle).toBe(true);
    expect(idle.redact(value)).toBe(value);
    expect(idle.unredact(value)).toBe(value);
    expect(idle.redactions()).toEqual({});
    expect(idle.update()).toEqual({});
  });

  it("writes down what tool rails found", () => {
    const idle = desk({});
    idle.recordFindings(call, [{ rail: "permissions", verdict: "block", reason: "No." }], place);
    expect(idle.update().rails).toMatchObject([{ rail: "permissions", call_id: "c1" }]);
    expect(idle.update().redactions).toBeUndefined();
  });

  it("hides what was redacted before it was cut off, and writes that", () => {
    const idle = desk({});
    idle.addRedactions({});
    expect(idle.isIdle).toBe(true);
    idle.addRedactions(known);
    expect(idle.isIdle).toBe(false);
    expect(idle.redact("to ada@example.org")).toBe("to <EMAIL_1>");
    expect(idle.unredact("to <EMAIL_1>")).toBe("to ada@example.org");
    expect(idle.update()).toEqual({ redactions: known });
  });
});

it.each([
  ["a rail on input", { rails: { input: [wordRail("x", "block", ["input"])] } }],
  ["a rail on tool results", { rails: { tool_result: [wordRail("x", "flag", ["tool_result"])] } }],
  ["a rail on output", { rails: { output: [wordRail("x", "block", ["output"])] } }],
  ["a redaction of the thread", { redactions: known }],
  ["a redaction of the agents around", { inherited: known }],
])("is not idle with %s", (_, of) => {
  expect(desk(of).isIdle).toBe(false);
});

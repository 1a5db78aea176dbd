import { describe, expect, it } from "vitest";
import { defineAgent } from "../../src/definition/define-agent.ts";
import {
  defineRail,
  InvalidRailError,
  type RailOptions,
} from "../../src/definition/define-rail.ts";
import { InvalidDefinitionError } from "../../src/definition/check/problems.ts";
import { passFinding, type RailContext, type RailSubject } from "../../src/definition/rail.ts";

const context = {} as RailContext;
const text = "costs 5 €";
const subject: RailSubject = { on: "output", text, value: text, tool: null };
const options: RailOptions = { name: "no-prices", on: ["output"], check: () => undefined };

/** `defineRail` for what TypeScript refuses. */
const define = defineRail as (given: unknown) => unknown;
const checkGiving = (given: unknown) =>
  defineRail({ ...options, check: () => given as undefined }).check(subject, context);

describe("defineRail", () => {
  it("gives a frozen rail that blocks when its check fails", () => {
    const rail = defineRail({ ...options, on: ["input", "tool_result"] });
    expect(rail).toMatchObject({ name: "no-prices", onError: "block" });
    expect([...rail.on]).toEqual(["input", "tool_result"]);
    expect(Object.isFrozen(rail)).toBe(true);
    expect(defineRail({ ...options, on_error: "pass" }).onError).toBe("pass");
  });

  it.each<[Record<string, unknown>, string]>([
    [
      { name: "No" },
      'Rail "No": a name has lower-case letters, digits, _ and -, and begins with a letter; found "No".',
    ],
    [{ name: 3 }, expect.stringContaining('Rail "?"') as string],
    [{ name: "pii" }, 'Rail "pii": there is a rail of that name already; choose another.'],
    [
      { checks: 1 },
      'Rail "no-prices": unknown option "checks" (allowed: name, on, on_error, check; did you mean "check"?).',
    ],
    [
      { on: [] },
      'Rail "no-prices": on must be a list of at least one of input, tool_result, output, not an empty list.',
    ],
    [
      { on: ["output", "inputs"] },
      'Rail "no-prices": it cannot be asked on "inputs" (allowed: input, tool_result, output; did you mean "input"?).',
    ],
    [{ on_error: "flag" }, 'Rail "no-prices": on_error cannot be "flag" (allowed: block, pass).'],
    [{ check: "x" }, 'Rail "no-prices": check is not a function.'],
  ])("refuses %o", (wrong, message) => {
    expect(() => define({ ...options, ...wrong })).toThrow(
      expect.objectContaining({ code: "invalid_rail", message }),
    );
  });

  it.each([undefined, null, 3, []])("refuses %j for options", (given) => {
    expect(() => define(given)).toThrow(InvalidRailError);
  });
});

describe("the check of a custom rail", () => {
  it("passes what it says nothing of", async () => {
    expect(await checkGiving(undefined)).toBe(passFinding);
    expect(await checkGiving(Promise.resolve())).toBe(passFinding);
    expect(await checkGiving({ verdict: "pass" })).toEqual(passFinding);
  });

  it("is completed where it says little", async () => {
    expect(await checkGiving({ verdict: "block", reasons: "No prices." })).toEqual({
      verdict: "block",
      score: 1,
      spans: [],
      reasons: ["No prices."],
    });
    const spans = [{ start: 6, end: 9, label: "PRICE" }];
    const whole = { verdict: "redact", score: 0.7, spans, reasons: ["a", "b"] };
    expect(await checkGiving(whole)).toEqual(whole);
  });

  it.each<[unknown, string]>([
    ["costs 5 €", "expected { verdict }, or nothing, found a text"],
    [true, "expected { verdict }, or nothing, found true"],
    [{}, "the verdict must be one of pass, redact, block, flag, not nothing"],
    [
      { verdict: "block", reason: "x" },
      'unknown key "reason" (allowed: verdict, score, reasons, spans)',
    ],
    [{ verdict: "flag", score: 2 }, "the score must be a number from 0 to 1, not 2"],
    [{ verdict: "flag", score: Number.NaN }, "the score must be a number from 0 to 1, not NaN"],
    [{ verdict: "flag", reasons: [3] }, "reasons must be a text or a list of texts"],
    [{ verdict: "redact" }, "redact needs spans; there is nothing to put a mark for"],
    [{ verdict: "flag", spans: "x" }, "spans must be a list, not a text"],
    ...[
      { start: 0, end: 10, label: "A" },
      { start: 3, end: 3, label: "A" },
      { start: -1, end: 2, label: "A" },
      { start: 0, end: 2, label: "price" },
      { start: 0.5, end: 2, label: "A" },
    ].map((span): [unknown, string] => [
      { verdict: "redact", spans: [span] },
      "spans[0] must be { start, end, label } with 0 <= start < end <= 9, and a label of upper-case letters, digits and _",
    ]),
  ])("fails when it gives %j", async (given, problem) => {
    await expect(checkGiving(given)).rejects.toMatchObject({
      code: "invalid_rail_finding",
      kind: "run",
      rail: "no-prices",
      message: `The check of rail "no-prices" gave what is no finding: ${problem}.`,
    });
  });

  it("fails with what it throws", async () => {
    const thrown = new RangeError("no");
    const rail = defineRail({
      ...options,
      check: () => {
        throw thrown;
      },
    });
    await expect(rail.check(subject, context)).rejects.toBe(thrown);
  });
});

describe("rails of defineAgent", () => {
  const rail = defineRail(options);
  const guardrail_config = { output_rails: [{ type: "custom" as const, name: "no-prices" }] };
  const refusalOf = (given: object) => {
    try {
      defineAgent({ name: "a", ...given });
      return [];
    } catch (error) {
      return error instanceof InvalidDefinitionError ? error.message.split("\n").slice(1) : [error];
    }
  };

  it("come with the definition", () => {
    const agent = defineAgent({ name: "a", guardrail_config, rails: [rail] });
    expect(agent.rails).toEqual([rail]);
    expect(Object.isFrozen(agent.rails)).toBe(true);
    expect(defineAgent({ name: "a", guardrail_config }).rails).toEqual([]);
  });

  it.each<[object, string]>([
    [{ rails: rail }, "  rails: expected a list of rails (found a map)"],
    [{ rails: ["no-prices"] }, '  rails[0]: expected a rail of defineRail (found "no-prices")'],
    [{ rails: [options] }, "  rails[0]: expected a rail of defineRail (found a map)"],
    [{ rails: [rail, rail] }, '  rails[1]: "no-prices" is already the name of rails[0]'],
    [
      { rails: [rail, defineRail({ ...options, name: "no-price" })] },
      '  rails[1]: no entry { type: custom, name: no-price } of guardrail_config names it (allowed: no-prices; did you mean "no-prices"?)',
    ],
  ])("are refused: %o", (given, problem) => {
    expect(refusalOf({ guardrail_config, ...given })).toEqual([problem]);
  });

  it("may be named by what a rail may be called only", () => {
    const output_rails = [{ type: "custom", name: "No prices" }];
    expect(refusalOf({ guardrail_config: { output_rails } })).toEqual([
      '  guardrail_config.output_rails[0].name: expected a rail\'s name: lower-case letters, digits, _ and - (found "No prices")',
    ]);
  });
});

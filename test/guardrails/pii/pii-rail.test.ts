import { describe, expect, it } from "vitest";
import { piiConfigSchema } from "../../../src/definition/schema/guardrails.ts";
import { piiRail } from "../../../src/guardrails/pii/pii-rail.ts";
import { passFinding, type RailContext } from "../../../src/definition/rail.ts";

function railOf(config: object & { tool_results?: boolean }) {
  const { tool_results = false, ...rest } = config;
  return piiRail(
    { ...piiConfigSchema.parse(rest), tool_results },
    { on: new Set(["input"] as const), onError: "pass" },
  );
}
const check = async (config: object, text: string, signal = new AbortController().signal) =>
  railOf(config).check({ on: "input", text, value: text, tool: null }, { signal } as RailContext);

describe("piiRail", () => {
  it("looks at what it is told to, and at the results of tools where its config says so", () => {
    const rail = railOf({});
    expect([rail.name, [...rail.on], rail.onError]).toEqual(["pii", ["input"], "pass"]);
    expect([...railOf({ tool_results: true }).on]).toEqual(["input", "tool_result"]);
  });

  it("passes texts without personal data", async () => {
    expect(await check({}, "my order 12345 of 2024-05-06")).toBe(passFinding);
  });

  it.each(["redact", "block", "flag"])("gives the verdict of its action: %s", async (action) => {
    expect(await check({ action }, "write to ann@example.org")).toEqual({
      verdict: action,
      score: 1,
      spans: [{ start: 9, end: 24, label: "EMAIL" }],
      reasons: ["The text has 1 e-mail address."],
    });
  });

  it("counts what it found and repeats none of it", async () => {
    const text = "ann@example.org, bob@example.org and card 4111 1111 1111 1111";
    expect(await check({}, text)).toMatchObject({
      reasons: ["The text has 2 e-mail addresses.", "The text has 1 card number."],
    });
    expect(await check({ entities: ["CARD"] }, text)).toMatchObject({
      reasons: ["The text has 1 card number."],
    });
  });

  it("lets others go on while it searches a long text, and stops when the turn is cancelled", async () => {
    const stop = new AbortController();
    const searching = check({}, "order 12345 ".repeat(5000), stop.signal);
    setImmediate(() => {
      stop.abort(new Error("cancelled"));
    });
    await expect(searching).rejects.toThrow("cancelled");
  });
});

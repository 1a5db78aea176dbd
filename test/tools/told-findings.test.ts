import { describe, expect, it } from "vitest";
import type { CallFinding } from "../../src/tools/admit-call.ts";
import { runToolCalls } from "../../src/tools/run-tool-calls.ts";
import { ExpressionError } from "../../src/expression/problem.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { callOf, statelessTool } from "../helpers/probe-tools.ts";

const address = "ada@example.org";

/** Replaces one text by another wherever it stands. */
const swap =
  (from: string, to: string) =>
  <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll(from, to)) as T;

describe("a rule that repeats what was redacted", () => {
  it("is told with the mark, to the model and in the record", async () => {
    const condition = {
      source: "int(args.to) < 5",
      references: [],
      evaluate: () => {
        throw new ExpressionError("int(args.to) < 5", 0, `"${address}" is no number`);
      },
    };
    const findings: CallFinding[] = [];
    const { results } = await runToolCalls({
      calls: [callOf({ to: "<EMAIL_1>" })],
      tools: new Map([["probe", statelessTool(() => "ok")]]),
      allowed: "all",
      grants: [],
      argumentRules: [{ tool: "probe", condition, message: undefined, action: "block" }],
      values: { input: null, execution: null, attempt: null },
      unredact: swap("<EMAIL_1>", address),
      callsSoFar: 0,
      state: { execution: null, attempt: null },
      env: {
        clock: new ManualClock(),
        signal: new AbortController().signal,
        redact: swap(address, "<EMAIL_1>"),
      },
      onFindings: (_, found) => findings.push(...found),
    });
    const told = [results[0]?.error, findings[0]?.reason];
    for (const text of told) {
      expect(text).toContain('It could not be checked: "<EMAIL_1>" is no number.');
    }
  });
});

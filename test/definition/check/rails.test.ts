import { describe, expect, it } from "vitest";
import { definitionProblems } from "../../helpers/definition-problems.ts";

const ofInput = (...input_rails: unknown[]) =>
  definitionProblems({ guardrail_config: { input_rails } });
const ofFormat = (config: unknown) =>
  definitionProblems({ guardrail_config: { output_rails: [{ type: "format", config }] } });
const at = "guardrail_config.output_rails[0].config";

describe("rails of a definition", () => {
  it("are taken with their defaults, and twice", () => {
    expect(ofInput({ type: "pii" }, { type: "pii", config: { entities: ["IBAN"] } })).toEqual([]);
    expect(ofInput({ type: "injection" }, { type: "custom", name: "from-the-runtime" })).toEqual(
      [],
    );
  });

  it("look for some topic", () => {
    const message =
      "guardrail_config.input_rails[0].config: expected topics in allow or in deny; there are none to look for";
    expect(ofInput({ type: "topic" })).toEqual([message]);
    expect(ofInput({ type: "topic", config: { allow: [], threshold: 0.4 } })).toEqual([message]);
    expect(ofInput({ type: "topic", config: { deny: ["medical advice"] } })).toEqual([]);
  });

  it("look for some form", () => {
    expect(ofFormat(undefined)).toEqual([
      `${at}: expected at least one of the allowed keys; there is nothing to check (allowed: is, schema, pattern, min_length, max_length, language)`,
    ]);
    expect(ofFormat({ language: "en" })).toEqual([]);
  });

  it("have schemas that can be checked", () => {
    expect(ofFormat({ schema: { type: "object", required: ["a"] } })).toEqual([]);
    expect(ofFormat({ schema: { type: "objet" } })).toEqual([
      expect.stringMatching(
        /^guardrail_config\.output_rails\[0\]\.config\.schema\.type: .*"objet"/,
      ),
    ]);
    expect(ofFormat({ schema: { type: "object" }, is: "markdown" })).toEqual([
      `${at}.is: an answer that fits a schema is JSON (allowed: json)`,
    ]);
  });

  it("have patterns that can be matched", () => {
    expect(ofFormat({ pattern: "^[A-Z]{2}-\\d+$" })).toEqual([]);
    expect(ofFormat({ pattern: "(a" })).toEqual([
      expect.stringMatching(
        /^guardrail_config\.output_rails\[0\]\.config\.pattern: the regular expression is not valid: .* \(found "\(a"\)$/,
      ),
    ]);
    expect(ofFormat({ pattern: "(?=a)b" })).toHaveLength(1);
  });

  it("have languages that are told apart", () => {
    expect(ofFormat({ language: "sv" })).toEqual([]);
    expect(ofFormat({ language: "la" })).toEqual([
      expect.stringMatching(
        /config\.language: not one of the allowed values \(found "la"; allowed: am, ar, /,
      ),
    ]);
  });

  it("have lengths that some text has", () => {
    expect(ofFormat({ min_length: 5, max_length: 5 })).toEqual([]);
    expect(ofFormat({ min_length: 6, max_length: 5 })).toEqual([
      `${at}.min_length: expected at most max_length, which is 5 (found 6)`,
    ]);
  });

  it("are all looked at, whatever is wrong with some", () => {
    expect(ofInput(3, { type: "topic", config: 3 }, { type: "topic" })).toHaveLength(3);
  });
});

describe("argument rules", () => {
  const rulesOf = (rules: unknown, parts: Record<string, unknown> = {}) =>
    definitionProblems({
      tools: ["pay"],
      guardrail_config: { tool_rails: { rules } },
      ...parts,
    });
  const path = "guardrail_config.tool_rails.rules";

  it("read arguments, input and state", () => {
    const check =
      'args.amount < 100 && input.message != "" && execution.budget > 1 && attempt.tries < 3';
    expect(rulesOf([{ tool: "pay", check }])).toEqual([]);
  });

  it("read nothing else, and give true or false", () => {
    const rules = [
      "arg.amount < 1",
      "last.text == ''",
      "args.amount <",
      "1 + 1",
      "input.mesage == ''",
    ];
    expect(rulesOf(rules.map((check) => ({ tool: "pay", check })))).toEqual([
      expect.stringMatching(/rules\[0\]\.check: rule .*arg.*did you mean "args"/),
      expect.stringMatching(/rules\[1\]\.check: rule .*last/),
      expect.stringMatching(/rules\[2\]\.check: rule /),
      expect.stringMatching(/rules\[3\]\.check: rule .*not true or false/),
      expect.stringMatching(/rules\[4\]\.check: rule .*did you mean "message"/),
    ]);
  });

  it("are for tools of the definition", () => {
    expect(rulesOf([{ tool: "pya", check: "true" }])).toEqual([
      `${path}[0].tool: not one of the definition's tools (found "pya"; allowed: pay; did you mean "pay"?)`,
    ]);
  });

  it("may be for tools that servers name", () => {
    const mcp = { name: "bank", transport: "stdio", command: "bank" };
    const rules = [{ tool: "transfer", check: "args.amount < 100" }];
    expect(rulesOf(rules, { tools: ["pay", { mcp }] })).toEqual([]);
  });

  it("are left to the schema where they are none", () => {
    expect(rulesOf(3)).toEqual([`${path}: expected a list (found 3)`]);
    expect(rulesOf([3, { tool: "", check: "" }])).toHaveLength(3);
  });
});

import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, executeAgent, type AgentEvent } from "../../../src/index.ts";
import type { Rail } from "../../../src/definition/rail.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const byName = (name: string) => ({ type: "custom" as const, name });

function guarded(rail: Rail, more: object = {}) {
  return defineAgent({
    name: "guarded",
    rails: [rail],
    guardrail_config: { output_rails: [byName(rail.name)] },
    ...more,
  });
}

describe("a rail that blocks the output", () => {
  const agent = guarded(wordRail("damn", "block", ["output"]));

  it("fails the attempt, and the next one reads why and not what", async () => {
    const { runtime, model } = await testRuntime(["damn it", "Certainly."]);
    const result = await executeAgent(agent, { message: "hello" }, { runtime });
    expect(result).toMatchObject({
      status: "COMPLETED",
      output: { message: "Certainly." },
      attempts: [
        { attempt_number: 0, errors: ["guardrail word: it has the word"] },
        { attempt_number: 1, errors: [] },
      ],
    });
    const second = model.read(1).join("\n");
    expect(second).toContain("guardrail word: it has the word");
    expect(second).not.toContain("damn");
    expect(result.rails.map(({ verdict, attempt_number }) => [verdict, attempt_number])).toEqual([
      ["block", 0],
      ["pass", 1],
    ]);
  });

  it("fails the turn when no attempt is left", async () => {
    const { runtime } = await testRuntime(["damn", "damn", "damn"]);
    const { status, failure, output } = await executeAgent(agent, { message: "x" }, { runtime });
    expect([status, failure?.cause, output]).toEqual(["FAILED", "attempts_exhausted", null]);
  });

  it("is not outrun by streamed tokens or told thoughts", async () => {
    const { runtime } = await testRuntime(["damn it", "Certainly."]);
    const tokens: string[] = [];
    const events: AgentEvent[] = [];
    await executeAgent(
      agent,
      { message: "hello" },
      {
        runtime,
        onToken: (text) => tokens.push(text),
        onEvent: (event) => void events.push(event),
      },
    );
    expect(tokens.join("")).not.toContain("damn");
    const told = events.filter(({ type }) => type !== "step");
    expect(JSON.stringify(told)).not.toContain("damn");
    expect(told.find(({ type }) => type === "message")).toMatchObject({ text: "Certainly." });
  });
});

describe("a rail that redacts the output", () => {
  it("takes it out of the output and the conversation", async () => {
    const agent = guarded(wordRail("Rosebud", "redact", ["output"]));
    const { runtime } = await testRuntime(["The word is Rosebud."]);
    const graph = await compileAgent(agent, runtime);
    const state = await graph.invoke(
      { input: { message: "which?" } },
      { configurable: { thread_id: "t" } },
    );
    expect(state.output).toEqual({ message: "The word is <WORD_1>." });
    expect(state.messages.map(({ text }: { text: string }) => text)).toEqual([
      "which?",
      "The word is <WORD_1>.",
    ]);
  });

  it("keeps structured output what its schema describes", async () => {
    const output_schema = z.object({ owner: z.string(), parts: z.array(z.string()) });
    const agent = guarded(wordRail("Rosebud", "redact", ["output"]), { output_schema });
    const { runtime } = await testRuntime(['{"owner":"Rosebud \\"x\\"","parts":["a","Rosebud"]}']);
    const { output } = await executeAgent(agent, { message: "?" }, { runtime });
    expect(output).toEqual({ owner: '<WORD_1> "x"', parts: ["a", "<WORD_1>"] });
  });

  it("gives back what the person said, and takes out what they did not", async () => {
    const agent = defineAgent({
      name: "both",
      guardrail_config: { input_rails: [{ type: "pii" }], output_rails: [{ type: "pii" }] },
    });
    const { runtime } = await testRuntime(["<EMAIL_1> and eve@example.org"]);
    const { output } = await executeAgent(agent, { message: "I am ada@example.org" }, { runtime });
    expect(output).toEqual({ message: "ada@example.org and <EMAIL_2>" });
  });
});

describe("a rail that flags the output", () => {
  it("lets it through with a record", async () => {
    const agent = guarded(wordRail("maybe", "flag", ["output"]));
    const { runtime } = await testRuntime(["maybe"]);
    const { output, rails } = await executeAgent(agent, { message: "?" }, { runtime });
    expect(output).toEqual({ message: "maybe" });
    expect(rails).toMatchObject([{ on: "output", verdict: "flag", spans: [{ path: "/message" }] }]);
  });
});

describe("output that was redacted on its way in", () => {
  it("is judged by its schema and by validate as the caller gets it", async () => {
    const seen: unknown[] = [];
    const agent = defineAgent({
      name: "typed",
      output_schema: z.object({ mail: z.email() }),
      validate: (output) => void seen.push(output),
      guardrail_config: { input_rails: [{ type: "pii" }] },
    });
    const { runtime } = await testRuntime(['{"mail":"<EMAIL_1>"}']);
    const { output } = await executeAgent(agent, { message: "ada@example.org" }, { runtime });
    expect(output).toEqual({ mail: "ada@example.org" });
    expect(seen).toEqual([{ mail: "ada@example.org" }]);
  });
});

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { buildReasoningContext } from "../../../src/context/build-reasoning-context.ts";
import { composeSummarised } from "../../../src/context/summarise/compose-summarised.ts";
import { createResultSummaryCache } from "../../../src/context/summarise/result-summary.ts";
import { loopTranscript } from "../../../src/context/transcript.ts";
import { modelProfile } from "../../../src/models/model-profile.ts";
import { ScriptedModel } from "../../helpers/scripted-model.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

const long = (name: string) =>
  `The ${name} report. ${`Nothing of note on the ${name}. `.repeat(200)}`;

function step(turn: number, index: number, name: string) {
  const result = toolResult({ id: "call-1", name: "read", args: { name }, result: long(name) });
  return stepRecord({
    turn_number: turn,
    step_index: index,
    tool_predictions: [{ id: "call-1", name: "read", args: { name }, reason: "" }],
    tool_results: [result],
  });
}

const history = {
  model: "openai:gpt-4o",
  conversation: [new HumanMessage("Read a."), new AIMessage("Read."), new HumanMessage("Read b.")],
  steps: [step(0, 0, "a"), step(1, 0, "b"), step(1, 1, "c")],
};

it("asks for the request, not for the state that a failed attempt left", async () => {
  const questions: string[] = [];
  const failed = { attempt_number: 0, errors: ["no"], answer: "x", execution_view: ["- n: 1"] };
  await composeSummarised(
    {
      profile: modelProfile("openai:gpt-4o"),
      goal: "planning",
      settings: {},
      form: "native",
      opening: [],
      transcript: loopTranscript({
        conversation: [new HumanMessage("Read b.")],
        steps: [1, 2].map((index) => ({ ...step(0, index, "b"), attempt_number: 1 })),
        turnNumber: 0,
        failedAttempts: [failed],
      }),
    },
    async ({ question }) => {
      questions.push(question);
      return { summaries: new Map(), made: [], unknown: [] };
    },
  );
  expect(questions).toEqual(["Read b."]);
});

const fails = () => {
  throw new Error("down");
};

describe("buildReasoningContext with summaries", () => {
  it("has a model's words for results that would be previewed, each for the request of its turn", async () => {
    const script = new ScriptedModel(["a is fine", "b is fine"]);
    const cache = createResultSummaryCache();
    const summarize = { model: await script.resolve(), thresholdTokens: 500, cache };
    const { messages, metadata } = await buildReasoningContext({
      ...history,
      goal: "planning",
      summarize,
    });
    const told = messages.filter(({ type }) => type === "tool").map(({ text }) => text);
    expect(told.slice(0, 2)).toEqual(["[summarised] a is fine", "[summarised] b is fine"]);
    expect(told[2]).toBe(long("c"));
    expect(metadata.steps.map(({ fidelity }) => fidelity)).toEqual([
      "summarised",
      "summarised",
      "whole",
    ]);
    expect(metadata.summaries).toMatchObject([
      { callId: "call-1", outcome: "made" },
      { callId: "call-1", outcome: "made" },
    ]);
    expect(script.read(0).join("\n")).toContain("Read a.");
    expect(script.read(1).join("\n")).toContain("Read b.");

    const again = await buildReasoningContext({ ...history, goal: "planning", summarize });
    expect(again.metadata.summaries.map(({ outcome }) => outcome)).toEqual(["cached", "cached"]);
    expect(again.messages.map(({ text }) => text)).toEqual(messages.map(({ text }) => text));
  });

  it("falls back to previews where the model fails", async () => {
    const script = new ScriptedModel([fails, fails]);
    const { metadata } = await buildReasoningContext({
      ...history,
      goal: "planning",
      summarize: { model: await script.resolve(), thresholdTokens: 500 },
    });
    expect(metadata.steps.map(({ fidelity }) => fidelity)).toEqual(["preview", "preview", "whole"]);
    expect(metadata.summaries.map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
  });

  it("asks for nothing where an answer is to be written from whole results", async () => {
    const script = new ScriptedModel([]);
    const { metadata } = await buildReasoningContext({
      ...history,
      goal: "synthesis",
      summarize: { model: await script.resolve() },
    });
    expect(metadata.steps.map(({ fidelity }) => fidelity)).toEqual(["whole", "whole", "whole"]);
  });
});

import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { composeContext } from "../../src/context/compose/compose-context.ts";
import type { StepForm } from "../../src/context/step-messages.ts";
import { workflowTranscript, type WorkflowHistory } from "../../src/context/transcript.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

const weather = { id: "c1", name: "weather", args: { city: "Rome" } };
const read = { id: "c2", name: "read_file", args: { path: "a.md" } };

const calling = stepRecord({
  node: "gather",
  thought: "Both at once.",
  tool_predictions: [
    { ...weather, reason: "" },
    { ...read, reason: "" },
  ],
  tool_results: [
    toolResult({ ...weather, result: { sky: "clear" } }),
    toolResult({ ...read, result: null, outcome: "failure", error: "no such file" }),
  ],
});

interface Options extends WorkflowHistory {
  readonly opening: readonly BaseMessage[];
  readonly toolForm: StepForm;
}

function buildWorkflowContext({ opening, toolForm: form, ...history }: Options) {
  return composeContext({
    profile: modelProfile("openai:gpt-4o"),
    goal: "planning",
    settings: { whole: "turn" },
    form,
    opening,
    transcript: workflowTranscript(history),
  }).messages;
}

const options: Options = {
  opening: [new SystemMessage("You help.")],
  conversation: [new HumanMessage("Go.")],
  turnNumber: 0,
  node: "write",
  prompt: "Write it.",
  steps: [calling],
  earlier: [],
  failedAttempts: [],
  toolForm: "report",
};

const types = (over: Partial<Options> = {}) =>
  buildWorkflowContext({ ...options, ...over }).map((message) => message.type);
const texts = (over: Partial<Options> = {}) =>
  buildWorkflowContext({ ...options, ...over }).map(({ type, text }) => `${type}: ${text}`);

describe("workflowTranscript", () => {
  it("says what comes after the note last of all", () => {
    const after = [new AIMessage("Hm."), new HumanMessage("Choose.")];
    expect(texts({ note: "Pick one.", after }).slice(-3)).toEqual([
      "human: Pick one.",
      "ai: Hm.",
      "human: Choose.",
    ]);
  });

  it("tells a node that offers no tools in words what they gave", () => {
    const messages = buildWorkflowContext(options);
    expect(messages.map(({ type, text }) => `${type}: ${text}`)).toEqual([
      "system: You help.",
      "human: Go.",
      "ai: Both at once.",
      "human: What the tools gave:\n" +
        '- weather({"city":"Rome"}): {"sky":"clear"}\n' +
        '- read_file({"path":"a.md"}): failure: no such file',
      "human: Write it.",
    ]);
    expect(messages[2]).toMatchObject({ tool_calls: [] });
  });

  it("keeps a result of several lines as it is", () => {
    const text = "# Notes\n\n- milk\n  - oat";
    const steps = [
      stepRecord({
        thought: "",
        tool_predictions: [{ ...read, reason: "" }],
        tool_results: [toolResult({ ...read, result: text })],
      }),
    ];
    expect(texts({ steps }).slice(2)).toEqual([
      `human: What the tools gave:\n- read_file({"path":"a.md"}): ${text}`,
      "human: Write it.",
    ]);
  });

  it("tells the same step in the form that is asked for, however often and in whatever order", () => {
    expect(types({ toolForm: "native" })).toEqual([
      "system",
      "human",
      "ai",
      "tool",
      "tool",
      "human",
    ]);
    expect(types()).toEqual(["system", "human", "ai", "human", "human"]);
    expect(types({ toolForm: "native" })).toEqual([
      "system",
      "human",
      "ai",
      "tool",
      "tool",
      "human",
    ]);
    expect(texts({ toolForm: "text" })[2]).toBe(
      'ai: Thought: Both at once.\nAction: weather\nAction Input: {"city":"Rome"}\n' +
        'Action: read_file\nAction Input: {"path":"a.md"}',
    );
  });

  it("shows an answer that was refused with the reasons, whatever the form", () => {
    const refused = stepRecord({
      node: "write",
      thought: "Rain.",
      next_action: "continue",
      problem: "That answer was not accepted.",
    });
    for (const toolForm of ["native", "text", "report"] as const) {
      expect(texts({ steps: [refused], toolForm }).slice(2)).toEqual([
        "human: Write it.",
        "ai: Rain.",
        "human: That answer was not accepted.",
      ]);
    }
  });

  it("passes answers on to the nodes that follow", () => {
    const answer = stepRecord({ node: "gather", thought: "Clear sky.", next_action: "finish" });
    expect(texts({ steps: [answer] }).slice(2)).toEqual(["ai: Clear sky.", "human: Write it."]);
  });
});

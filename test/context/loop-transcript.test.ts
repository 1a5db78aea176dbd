import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { composeContext } from "../../src/context/compose/compose-context.ts";
import { loopTranscript, type LoopHistory } from "../../src/context/transcript.ts";
import type { StepForm } from "../../src/context/step-messages.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

const opening = [new SystemMessage("You help.")];
const asked = new HumanMessage({ id: "h1", content: "go" });
const prediction = { id: "c1", name: "echo", args: { text: "a" }, reason: "" };

function calling(over: Parameters<typeof stepRecord>[0] = {}) {
  return stepRecord({
    turn_number: 1,
    next_action: "use_tools",
    thought: "Hm.",
    tool_predictions: [prediction],
    tool_results: [
      toolResult({ id: "c1", name: "echo", args: { text: "a" }, result: { said: "a" } }),
    ],
    ...over,
  });
}

const options = {
  opening,
  conversation: [asked],
  steps: [calling()],
  turnNumber: 1,
  failedAttempts: [],
  toolForm: "native" as const,
};

const texts = (over: Partial<Options> = {}) =>
  buildLoopContext({ ...options, ...over }).map((m) => `${m.getType()}: ${m.text}`);

interface Options extends LoopHistory {
  readonly opening: readonly BaseMessage[];
  readonly toolForm: StepForm;
}

function buildLoopContext({ opening: first, toolForm: form, ...history }: Options) {
  return composeContext({
    profile: modelProfile("openai:gpt-4o"),
    goal: "planning",
    settings: { whole: "turn" },
    form,
    opening: first,
    transcript: loopTranscript(history),
  }).messages;
}

describe("loopTranscript", () => {
  it("keeps a call and its whole result together", () => {
    const messages = buildLoopContext(options);
    expect(messages.map((m) => m.getType())).toEqual(["system", "human", "ai", "tool"]);
    expect((messages[2] as AIMessage).tool_calls).toMatchObject([{ id: "c1", name: "echo" }]);
    expect((messages[3] as ToolMessage).tool_call_id).toBe("c1");
    expect(messages[3]?.text).toBe('{"said":"a"}');
  });

  it("shows the steps of earlier turns between what was asked and what was answered", () => {
    const conversation = [
      new HumanMessage({ id: "h0", content: "before" }),
      new AIMessage({ id: "a0", content: "", tool_calls: [{ id: "c0", name: "echo", args: {} }] }),
      new ToolMessage({ id: "t0", tool_call_id: "c0", content: "x" }),
      new AIMessage({ id: "a1", content: "answer" }),
      asked,
    ];
    const steps = [calling({ turn_number: 0 })];
    expect(texts({ conversation, steps })).toEqual([
      "system: You help.",
      "human: before",
      "ai: Hm.",
      'tool: {"said":"a"}',
      "ai: answer",
      "human: go",
    ]);
  });

  it("shows a failure with its outcome and whole message", () => {
    const failed = toolResult({
      id: "c1",
      outcome: "timeout",
      error: "took longer than 30 s",
      result: null,
    });
    expect(texts({ steps: [calling({ tool_results: [failed] })] }).at(-1)).toBe(
      "tool: timeout: took longer than 30 s",
    );
  });

  it("puts the feedback on an attempt between its steps and the next one's", () => {
    const steps = [
      calling({ attempt_number: 0 }),
      calling({ attempt_number: 1, step_index: 1, thought: "Again." }),
    ];
    const failedAttempts = [{ attempt_number: 0, errors: ["too short"], answer: "a" }];
    expect(texts({ steps, failedAttempts }).slice(2)).toEqual([
      "ai: Hm.",
      'tool: {"said":"a"}',
      "ai: a",
      "human: That answer was not accepted:\n- too short\nMend these points and answer the request again.",
      "ai: Again.",
      'tool: {"said":"a"}',
    ]);
  });

  it("keeps what it gave before at the front when a step is added", () => {
    const before = texts();
    const after = texts({ steps: [...options.steps, calling({ step_index: 1 })] });
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after).toHaveLength(before.length + 2);
  });

  it("writes calls and results as text for models without native calls", () => {
    expect(texts({ toolForm: "text" }).slice(2)).toEqual([
      'ai: Thought: Hm.\nAction: echo\nAction Input: {"text":"a"}',
      'human: Observation: {"said":"a"}',
    ]);
  });

  it("ends with the note", () => {
    expect(texts({ note: "Look back." }).at(-1)).toBe("human: Look back.");
  });
});

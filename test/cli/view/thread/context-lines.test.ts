import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { contextLines } from "../../../../src/cli/view/thread/context-lines.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { ThreadContext } from "../../../../src/index.ts";

const style = createStyle(false);

function contextWith(of: Partial<ThreadContext> = {}): ThreadContext {
  return {
    threadId: "t",
    namespace: "",
    checkpointId: "c1",
    turn: 1,
    attempt: 0,
    step: 2,
    node: "reason",
    tense: "past",
    withoutRequest: false,
    fromStored: false,
    goals: ["planning"],
    asksBefore: 0,
    tools: [],
    steps: [
      { turn: 0, step: 0, node: "", fidelity: "dropped", tokens: 0 },
      { turn: 1, step: 0, node: "reason", fidelity: "preview", tokens: 1200 },
    ],
    messages: [new SystemMessage("Be short.\n\n  One line."), new HumanMessage("Go")],
    messageTokens: [9, 1],
    metadata: {
      goal: "planning",
      model: "openai:gpt-4o",
      window: 128_000,
      budget: 4000,
      reserved: 4096,
      tokens: {
        total: 1210,
        system: 9,
        tools: 0,
        memory: 0,
        conversation: 1,
        steps: 1200,
        raw: 4840,
        saved: 3630,
      },
      steps: [],
      sources: [],
      conversation: { whole: 1, summarised: 0, dropped: 0 },
      memories: [],
      summaries: [],
      notes: ["the window of openai:gpt-4o is assumed"],
    },
    ...of,
  };
}

const lines = (of?: Partial<ThreadContext>, width = 80) =>
  contextLines(contextWith(of), { width, style });

describe("a context for people", () => {
  it("lists the remembered entries with their scores", () => {
    const { metadata } = contextWith();
    const memories = [
      { id: "m-1", type: "semantic", tokens: 31, score: 0.8, fidelity: "whole" as const },
      { id: "m-2", type: "episodic", tokens: 120, score: null, fidelity: "cut" as const },
    ];
    const shown = lines({ metadata: { ...metadata, memories } });
    const from = shown.findIndex((line) => line.startsWith("memory "));
    expect(
      shown
        .slice(
          shown.findIndex((line) => line.includes("m-1")),
          -1,
        )
        .slice(0, 2),
    ).toEqual([
      "m-1     semantic   0.80  whole         31",
      "m-2     episodic      –  cut          120",
    ]);
    expect(from).toBeGreaterThan(0);
  });

  it("has its place, its figures, its steps, its messages, and what is assumed", () => {
    expect(lines()).toEqual([
      "thread t · turn 1 · step 2 · reason",
      "Read by openai:gpt-4o, for planning, from checkpoint c1.",
      "",
      "section       tokens  of budget  of window",
      "system             9      0.2 %      0.0 %",
      "tools              0      0.0 %      0.0 %",
      "memory             0      0.0 %      0.0 %",
      "conversation       1      0.0 %      0.0 %",
      "steps          1,200     30.0 %      0.9 %",
      "total          1,210     30.3 %      0.9 %",
      "",
      "4,840 raw, 3,630 saved (75.0 %)",
      "budget 4,000 · window 128,000 · 4,096 reserved for the reply",
      "",
      "step  node    fidelity  tokens",
      "0/0   –       dropped        0",
      "1/0   reason  preview    1,200",
      "",
      " 1  system · 9 tokens",
      "    Be short.",
      "",
      "      One line.",
      "",
      " 2  user · 1 token",
      "    Go",
      "",
      "· the window of openai:gpt-4o is assumed",
    ]);
  });

  it("shows calls and results with their ids, short arguments on one line", () => {
    const long = { text: "word ".repeat(40).trim() };
    const told = lines({
      messages: [
        new AIMessage({
          content: "",
          tool_calls: [
            { id: "a", name: "find", args: { word: "x" } },
            { id: "b", name: "say", args: long },
          ],
        }),
        new ToolMessage({ content: "found", tool_call_id: "a", name: "find" }),
      ],
      steps: [],
    });
    const from = told.findIndex((line) => line.includes("assistant"));
    expect(told.slice(from, -2)).toEqual([
      " 1  assistant · 9 tokens",
      "    → find · a",
      '      {"word":"x"}',
      "    → say · b",
      "      {",
      '        "text": "word word word word word word word word word word word word',
      ...Array.from({ length: 2 }, () => expect.stringMatching(/^ {8}word( word)+"?$/)),
      "      }",
      "",
      " 2  tool · find · a · 1 token",
      "    found",
    ]);
  });

  it("says what is not in it", () => {
    const told = lines({ tense: "next", withoutRequest: true, fromStored: true, asksBefore: 2 });
    expect(told[1]).toBe("Would be read by openai:gpt-4o, for planning, from checkpoint c1.");
    const notes = told.slice(told.findIndex((line) => line.startsWith("· "))).join(" ");
    expect(notes).toContain("this is the next one, without its message");
    expect(notes).toContain("2 requests come before the step's own");
    expect(notes).toContain("The results are unknown, and omitted.");
    expect(notes).toContain("--agent FILE is exact.");
  });

  it("says which other request the step makes, and which it does not make", () => {
    const synthesis = { ...contextWith().metadata, goal: "synthesis", notes: [] } as const;
    const planning = { ...synthesis, goal: "planning" } as const;
    const goals = ["planning", "synthesis"] as const;
    const notes = (of: Partial<ThreadContext>) =>
      lines(of, 200).filter((one) => one.startsWith("· "));
    expect(notes({ goals, metadata: planning })).toEqual([
      "· The step made two requests: this one, and one for synthesis after it, because its answer was rewritten from the full results. --goal synthesis shows it.",
    ]);
    expect(notes({ goals, metadata: synthesis })).toEqual([
      "· The step made two requests: one for planning, and this one after it, because its answer was rewritten from the full results. --goal planning shows it.",
    ]);
    expect(notes({ goals, metadata: planning, tense: "next" })).toEqual([
      "· If this request gives an answer, a request for synthesis rewrites it from the full results. --goal synthesis shows it.",
    ]);
    expect(notes({ goals, metadata: synthesis, tense: "next" })).toEqual([
      "· The step makes this request only if its request for planning gives an answer. --goal planning shows it.",
    ]);
    expect(notes({ metadata: synthesis })).toEqual([
      "· The step makes no request for synthesis, but one for planning: this context is hypothetical.",
    ]);
    expect(lines({ metadata: synthesis })[1]).toBe(
      "Would have been read by openai:gpt-4o, for synthesis, from checkpoint c1.",
    );
    expect(notes({ metadata: planning })).toEqual([]);
  });

  it("shows what a terminal would act on, and keeps to its width", () => {
    const told = lines({ messages: [new HumanMessage("a\u001B[31mb\u0008c")], node: "x\ny" }, 30);
    expect(told).toContain("    ab\u2408c");
    expect(told[0]).toBe("thread t · turn 1 · step 2 · x");
    expect(told.every((line) => line.length <= 30)).toBe(true);
  });

  it("has no share of what is not known", () => {
    const { metadata } = contextWith();
    const { tokens } = metadata;
    const told = lines({
      metadata: { ...metadata, budget: 0, window: 0, tokens: { ...tokens, raw: 0, saved: 0 } },
    });
    expect(told[9]).toBe("total          1,210          –          –");
    expect(told[11]).toBe("0 raw, 0 saved (–)");
  });
});

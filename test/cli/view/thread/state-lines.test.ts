import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { stateLines } from "../../../../src/cli/view/thread/state-lines.ts";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import type { StoredState } from "../../../../src/runtime/threads/threads.ts";
import { planOf, subtaskState } from "../../../helpers/subtasks.ts";
import { stepRecord } from "../../../helpers/step-record.ts";

const now = new Date("2026-03-04T05:06:07.000Z");
const state: StoredState = {
  threadId: "chairs-1",
  namespace: "",
  id: "1f0c6b4a-0007-6000-8000-2f0f5b7c3f11",
  parentId: null,
  step: 3,
  source: "loop",
  nodes: ["size"],
  status: "AWAITING_HUMAN",
  createdAt: "2026-03-04T05:01:00.000Z",
  bytes: 412,
  interrupts: 1,
  failures: 0,
  agent: null,
  definitionHash: null,
  forkedFrom: null,
  sequenceNum: 4,
  trigger: "node",
  nodeOutcomes: { size: "success", approval: "interrupted" },
  next: ["approval"],
  tasks: [{ node: "approval", state: "interrupted", error: null }],
  toolCalls: [],
  waiting: [
    {
      id: "0123456789abcdef0123456789abcdef",
      kind: "approval",
      node: "approval",
      within: [],
      prompt: "Buy this?",
      proposed: { pieces: 4 },
      schema: {},
      expires_at: null,
    },
  ],
  channelVersions: {},
  integrityHash: null,
  values: {
    input: { message: "Office chairs" },
    status: "AWAITING_HUMAN",
    turn_number: 0,
    attempt_number: 0,
    execution: { details: { pieces: 4, price: 120 }, note: "in\u001B[2J oak" },
    attempt: {},
    nodes: {},
    branches: [],
    steps: [],
    messages: [],
  },
};

function lines(
  differing: Partial<StoredState> = {},
  options: { width?: number; full?: boolean } = {},
) {
  const { width = 80, full = false } = options;
  return stateLines({ ...state, ...differing }, { width, full, style: createStyle(false), now });
}

describe("the state at a checkpoint", () => {
  it("names the user of the turn, what it began with and what it left in memory", () => {
    const why = {};
    const items = [{ id: "a", type: "semantic", score: 1, tokens: 30, why, read_at: "" }];
    const turn = {
      user: "ada",
      memories: { items, dropped: [], took_ms: 3 },
      memory_written: { short_term: 2, episodic: 1, semantic: 0, procedural: 0 },
    };
    const text = lines({ values: { ...state.values, turn } }).join("\n");
    expect(text).toContain("  user    ada\n");
    expect(text).toContain("  memory  1 entry · 30 tokens · wrote 2 short-term, 1 episodic\n");
    expect(lines({ values: { ...state.values, turn: { memories: 1 } } })).toEqual(lines());
  });

  it("tells where it stands, who is waited for, and both tiers", () => {
    expect(lines()).toEqual([
      "thread chairs-1 · checkpoint 1f0c6b4a-0007-6000-8000-2f0f5b7c3f11",
      "2026-03-04 05:01 UTC, 5 min ago · step 3 · node size · 412 B",
      "",
      "  AWAITING_HUMAN",
      "  turn   0, attempt 0",
      "  next   approval",
      "  input  Office chairs",
      "",
      "■ Waits for an answer.",
      "",
      "? approval asks for approval",
      "  Buy this?",
      '  │ {"pieces":4}',
      "",
      "Execution",
      '  details  {"pieces":4,"price":120}',
      "  note     in oak",
      "",
      "Attempt",
      "  empty",
    ]);
  });

  it("says how much of what waits it does not show, and shows all of it in full", () => {
    const [request] = state.waiting;
    const note = `${"Thanks! ".repeat(5000)}<end>`;
    const call = { id: "c", name: "pay", args: { note, amount: 5 }, reason: "", order: ["amount"] };
    const waiting = [{ ...request!, kind: "tool_approval" as const, proposed: [call] }];
    // The prompt, the amount and the quotes of the note.
    const left = (note.length + "Buy this?".length + 1 + 2 - 16_000).toLocaleString("en");
    const short = lines({ waiting });
    expect(short).toContain(
      `  … ${left} more characters not shown: "show THREAD --full" prints them.`,
    );
    expect(short.slice(10, 14)).toEqual([
      "? approval asks for approval of tool calls",
      "  Buy this?",
      "  │ pay",
      "  │   amount: 5",
    ]);
    const full = lines({ waiting }, { full: true }).join("\n");
    expect(full).toContain('Thanks! <end>"\n');
    expect(full).not.toContain("not shown");
  });

  it("shows the last steps with their calls, and the last messages in short", () => {
    const call = { id: "c", name: "look", args: { at: "tides" }, reason: "" };
    const result = {
      ...call,
      result: "High at noon",
      error: null,
      outcome: "success",
      execution_time_ms: 12,
      insights: "",
      learning: "",
      relevance: "",
    } as const;
    const steps = [0, 1, 2, 3].map((step_index) =>
      stepRecord({
        step_index,
        node: "reason",
        thought: "I look",
        tool_predictions: [call],
        tool_results: [result],
      }),
    );
    const messages = [new HumanMessage("When is\nhigh water?"), new AIMessage("At noon.")];
    const shown = lines({ waiting: [], values: { steps, messages } });
    expect(shown.slice(shown.indexOf("Steps (last 3 of 4)"))).toEqual([
      "Steps (last 3 of 4)",
      ...[2, 3, 4].flatMap((number) => [
        `  ${number}  reason: I look`,
        '     ✓ look(at: "tides")  12 ms',
        "       High at noon",
      ]),
      "",
      "Messages (2)",
      "  - human: When is high water?",
      "  - ai: At noon.",
    ]);
  });

  it("shows in one line what a model thought in a step", () => {
    const text = `The tides\u001B[2J are\nhigh. ${"word ".repeat(500)}`;
    const steps = [stepRecord({ node: "reason", thought: "I look", reasoning: { text } })];
    const shown = lines({ waiting: [], values: { steps } });
    const [, , line = ""] = shown.slice(shown.indexOf("Steps (1)"));
    expect(line).toMatch(/^ {5}thought \(504 words\): The tides are high\. word .*…$/);
    const none = [stepRecord({ reasoning: { text: "" } })];
    expect(lines({ waiting: [], values: { steps: none } }).join("\n")).not.toContain("thought (");
  });

  it("says why a turn failed, and what tasks came to", () => {
    const failure = { cause: "turn_timeout", message: "It took too long." };
    const shown = lines({
      waiting: [],
      tasks: [
        { node: "send", state: "failed", error: "no\u0007 route" },
        { node: "look", state: "done", error: null },
      ],
      values: { turn: { failure }, output: { message: "Done", more: 1 } },
    });
    expect(shown.slice(4)).toEqual([
      "  next     approval",
      "  failed   send: no␇ route",
      "  done     look, waiting for concurrent nodes",
      "  failure  It took too long. [turn_timeout]",
      '  output   {"message":"Done","more":1}',
    ]);
  });

  it("tells of a planner subtask by subtask", () => {
    const failed = {
      status: "failed",
      error: { code: "timeout", message: "It took\ntoo long." },
    } as const;
    const planner = {
      status: "COMPLETED",
      output: { message: "word ".repeat(200) },
      failure: null,
      criteria_met: false,
      gaps: ["more"],
      depth: 0,
      plan: planOf({ split: "", "count-lines": "split" }),
      subtasks: { split: subtaskState(0, 1), "count-lines": subtaskState(1, 3, failed) },
    };
    const shown = lines({ waiting: [], values: { nodes: { look: { text: "a" }, team: planner } } });
    expect(shown.slice(shown.indexOf("Nodes"))).toEqual([
      "Nodes",
      '  look  {"text":"a"}',
      "  team  COMPLETED · 2 subtasks: 1 done, 1 failed · 1 gap",
      "",
      "Plan of team",
      "  ✓ split        w  1.0 s",
      "  ✗ count-lines  w  2.0 s  failed (timeout): It took too long.",
    ]);
    const full = lines({ values: { nodes: { team: planner } } }, { full: true }).join("\n");
    expect(full).toContain('"success_criteria": ""');
    expect(full).not.toContain("Plan of team");
  });

  it("says of a large plan how much more there is", () => {
    const ids = Array.from({ length: 60 }, (_, index) => `part-${index}`);
    const plan = planOf(Object.fromEntries(ids.map((id) => [id, ""])));
    const shown = lines({ values: { nodes: { team: { status: "FAILED", plan, subtasks: {} } } } });
    expect(shown.slice(-2)).toEqual(["  · part-19  w", "  … and 40 more"]);
  });

  it("shows the channels of a graph that is none of ours by their names", () => {
    const shown = lines({
      status: null,
      waiting: [],
      tasks: [],
      next: [],
      values: { counter: 3, list: ["a"] },
    });
    expect(shown.slice(3)).toEqual([
      "  –",
      "  next  nothing",
      "",
      "Other channels",
      "  counter  3",
      '  list     ["a"]',
    ]);
  });

  it("cuts nothing when it is to be full", () => {
    const long = "word ".repeat(100).trim();
    const values = {
      execution: { long },
      messages: Array.from({ length: 9 }, () => new HumanMessage(long)),
    };
    const short = lines({ values });
    expect(short.filter((line) => line.includes("…"))).toHaveLength(7);
    const full = lines({ values }, { full: true }).join("\n");
    expect(full).not.toContain("…");
    expect(full.match(/word/g)).toHaveLength(1000);
    expect(full).toContain("Messages (9)");
  });

  it.each([80, 50])("fits into %i columns", (width) => {
    for (const full of [false, true]) {
      const values = { ...state.values, attempt: { 日本語: "日本語のテキスト".repeat(30) } };
      const shown = lines({ values }, { width, full });
      expect(shown.filter((line) => textWidth(line) > width)).toEqual([]);
      expect(shown.join("\n")).not.toMatch(/[^\P{Cc}\n]/u);
    }
  });
});

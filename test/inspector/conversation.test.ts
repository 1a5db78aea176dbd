import { describe, expect, it } from "vitest";
import {
  type HumanRequest,
  answerOf,
  answerOfCalls,
  proposedCalls,
  schemaOfValue,
} from "../../web/views/inbox/answers.ts";
import { refusalOf, shownName } from "../../web/views/chat/attachments.ts";
import {
  eventsOfOpenTurn,
  isOver,
  newTurn,
  type ThreadTurn,
  type Turn,
  turnOf,
  withEvent,
} from "../../web/views/chat/conversation.ts";

/** The turn after events, each `[name, data]`. */
function after(...events: readonly (readonly [string, unknown])[]): Turn {
  return events.reduce((turn, [event, data]) => withEvent(turn, { event, data }), newTurn("t"));
}

const call = ["tool_call", { id: "c1", tool: "add", input: { a: 1 } }] as const;
const result = [
  "tool_result",
  { id: "c1", tool: "add", output: 2, outcome: "success", error: null, latency_ms: 5 },
] as const;
const part = (content: string) => ["message", { content, done: false }] as const;

describe("a turn from events", () => {
  it("has thoughts, calls with their results, and the answer once", () => {
    const turn = after(
      part("let "),
      part("me"),
      ["thought", { content: "let me" }],
      call,
      call,
      result,
      part("It is 2."),
      ["thought", { content: "It is 2." }],
      ["message", { content: "It is 2.", done: true }],
      ["done", { turn_id: "x", status: "complete" }],
    );
    expect(turn).toMatchObject({ draft: "", answer: "It is 2.", end: "complete", error: null });
    expect(turn.items).toEqual([
      { kind: "thought", text: "let me", within: [] },
      {
        kind: "call",
        step: null,
        call: {
          id: "c1",
          tool: "add",
          input: { a: 1 },
          output: 2,
          outcome: "success",
          error: null,
          ms: 5,
          within: [],
        },
      },
    ]);
    expect(isOver(turn)).toBe(true);
  });

  it("drops the parts of an answer that is made again", () => {
    const turn = after(part("wrong"), ["message_reset", { reason: "schema" }], part("right"));
    expect(turn).toMatchObject({ draft: "right", items: [{ kind: "retry", reason: "schema" }] });
  });

  it("goes on after it waited", () => {
    const waiting = after(call, ["done", { status: "awaiting_human" }]);
    expect([waiting.end, isOver(waiting)]).toEqual(["awaiting_human", false]);
    const going = withEvent(waiting, { event: "status", data: { status: "EXECUTING" } });
    expect(going.end).toBeNull();
  });

  it("keeps calls of nested agents apart from those with the same id", () => {
    const inner = ["tool_call", { id: "c1", tool: "add", input: {}, within: ["helper"] }] as const;
    const turn = after(call, inner, result, [
      "message",
      { content: "x", done: true, within: ["helper"] },
    ]);
    expect(turn.answer).toBeNull();
    expect(turn.items.map((item) => item.kind === "call" && item.call.outcome)).toEqual([
      "success",
      null,
    ]);
  });

  it.each([
    ["message"],
    ["thought"],
    ["tool_call"],
    ["tool_result"],
    ["user_message"],
    ["done"],
    ["x"],
  ])("reads any data of %s", (event) => {
    for (const data of [null, 1, "text", [], { content: {}, id: [], within: 7, status: {} }])
      expect(() => after([event, data])).not.toThrow();
  });

  it("is found behind the end of the turn before", () => {
    const events = ["complete", "awaiting_tool"].flatMap((status, at) => [
      { id: `${at * 2}`, event: "status", data: {} },
      { id: `${at * 2 + 1}`, event: "done", data: { status } },
    ]);
    expect(eventsOfOpenTurn(events)).toEqual({ events: events.slice(2), isWhole: true });
    expect(eventsOfOpenTurn(events.slice(2))).toEqual({ events: events.slice(2), isWhole: false });
  });
});

describe("a turn of the server's list", () => {
  it("shows added messages before the steps that read them, attempts, and sums", () => {
    const step = (of: number, attempt: number, cost: number | null) => ({
      id: `0.${of}`,
      step: of,
      attempt,
      thought: `thought ${of}`,
      tokens_in: 10,
      tokens_out: 1,
      cost_usd: cost,
      duration_ms: 5,
      calls: [],
      record: { reasoning: { text: of === 0 ? "hm" : "" } },
    });
    const listed = {
      turn: 0,
      turn_id: null,
      asked: [],
      added: [{ id: "m", text: "and this", attachments: [], step: 1 }],
      answer: "thought 1",
      steps: [step(0, 0, 0.5), step(1, 1, null)],
    } as unknown as ThreadTurn;
    const turn = turnOf(listed);
    expect(turn.items.map((item) => item.kind)).toEqual(["reasoning", "thought", "said", "retry"]);
    expect(turn.usage).toEqual({ tokensIn: 20, tokensOut: 2, cost: null, ms: 10 });
  });
});

describe("answers to requests", () => {
  const request = (...names: string[]): HumanRequest => ({
    id: "r",
    kind: "tool_approval",
    prompt: "?",
    schema: {},
    expires_at: null,
    hash: "all",
    proposed: names.map((name) => ({
      id: name,
      name,
      args: { b: 1, a: 2 },
      hash: `h-${name}`,
      order: ["a"],
    })),
  });

  it("name what they approve, and put edited arguments at their call", () => {
    expect(answerOf(request("x"), { decision: "approve" })).toEqual({
      decision: "approve",
      hash: "all",
    });
    expect(answerOf(request("x"), { decision: "edit", value: { a: 3 } })).toEqual({
      decisions: { x: { decision: "edit", args: { a: 3 }, hash: "h-x" } },
    });
    const [first, second] = proposedCalls(request("x", "y"));
    expect(Object.keys(first?.args ?? {})).toEqual(["a", "b"]);
    expect(
      answerOfCalls([
        { call: first!, decision: { decision: "approve" } },
        { call: second!, decision: { decision: "reject", reason: "no" } },
      ]),
    ).toEqual({
      decisions: {
        x: { decision: "approve", hash: "h-x" },
        y: { decision: "reject", reason: "no", hash: "h-y" },
      },
    });
  });

  it("read proposals of any form", () => {
    for (const proposed of [null, "x", [null, 1, {}, { id: 1 }]])
      expect(proposedCalls({ ...request(), proposed })).toEqual([]);
  });

  it("keep the types of values that are edited", () => {
    expect(
      schemaOfValue({ n: 1, on: true, tags: ["a"], mixed: [1, "a"], none: null }),
    ).toMatchObject({
      properties: {
        n: { type: "number" },
        on: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        mixed: {},
        none: {},
      },
    });
  });
});

describe("files of a message", () => {
  it.each([
    [{ name: "a.png", type: "image/png", size: 10_000_000 }, 0, "fits"],
    [{ name: "a.png", type: "image/png", size: 10_000_000 }, 2_000_000, "11 MB at most together"],
    [{ name: "a.txt", type: "text/plain", size: 2_000_000 }, 0, "a text has 1 MB at most"],
    [{ name: "a.txt", type: "text/plain", size: 0 }, 0, "is empty"],
  ])("%j beside %d bytes: %s", (file, bytes, refused) => {
    const refusal = refusalOf(file, [{ bytes }]);
    expect(refusal ?? "fits").toContain(refused);
  });

  it("are ten at most, and have names in one line", () => {
    const ten = Array.from({ length: 10 }, () => ({ bytes: 1 }));
    expect(refusalOf({ name: "a", type: "text/plain", size: 1 }, ten)).toContain("10 files");
    expect(shownName("a\u202eb\nc")).toBe("a b c");
  });
});

import { describe, expect, it } from "vitest";
import { RunView } from "../../../../src/cli/view/run/run-view.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { AgentEventBody } from "../../../../src/state/events.ts";
import type { ToolResult } from "../../../../src/state/step-record.ts";
import { eventOf, resultOf, stepOf } from "../events.ts";

function viewOf(width = 60): RunView {
  return new RunView({ width, style: createStyle(false), maxAttempts: 3 });
}

function render(view: RunView, ...events: AgentEventBody[]): string[] {
  return events.flatMap((event) => view.event(eventOf(event)));
}

const call = (id: string, name = "search"): AgentEventBody => ({
  type: "tool_call",
  step_index: 0,
  call: { id, name, args: { query: "tides" }, reason: "" },
});
const result = (fields: Partial<ToolResult>): AgentEventBody => ({
  type: "tool_result",
  step_index: 0,
  result: resultOf(fields),
});

describe("RunView", () => {
  it("shows a step as its number, its thought, and each call with what came of it", () => {
    const lines = render(
      viewOf(),
      { type: "status", status: "EXECUTING" },
      { type: "thought", step_index: 0, text: "I look up\nthe tides." },
      call("call_1"),
      result({}),
      { type: "step", step: stepOf({ thought: "I look up\nthe tides." }) },
    );
    expect(lines).toEqual([
      "  1  I look up the tides.",
      '     ✓ search(query: "tides")  12 ms',
      "       High at noon.",
    ]);
  });

  it("does not name the step of an answer where the answer follows by itself", () => {
    const answer: AgentEventBody = { type: "step", step: stepOf({ next_action: "finish" }) };
    expect(render(viewOf(), answer)).toEqual(["  1  gives its answer"]);
    const style = createStyle(false);
    const quiet = new RunView({ width: 60, style, maxAttempts: 3, namesAnswers: false });
    expect(render(quiet, answer)).toEqual([]);
  });

  it("puts the number before the first call of a step without a thought", () => {
    const lines = render(viewOf(), call("call_1"), result({ result: { high: 12 } }));
    expect(lines).toEqual(['  1  ✓ search(query: "tides")  12 ms', '       {"high":12}']);
  });

  it("marks every outcome, and says what went wrong", () => {
    const failed = { result: null, error: "No such\nplace." };
    const lines = render(
      viewOf(),
      result({ args: {}, outcome: "success", result: null }),
      result({ args: {}, outcome: "failure", ...failed }),
      result({ args: {}, outcome: "error", ...failed }),
      result({ args: {}, outcome: "timeout", execution_time_ms: 30_000, ...failed }),
    );
    expect(lines).toEqual([
      "  1  ✓ search()  12 ms",
      "     ✗ search()  12 ms · failure",
      "       No such place.",
      "     ✗ search()  12 ms · error",
      "       No such place.",
      "     ⏱ search()  30.0 s · timeout",
      "       No such place.",
    ]);
  });

  it("cuts thoughts to two lines, and calls and results to one", () => {
    const lines = render(
      viewOf(40),
      { type: "thought", step_index: 0, text: "tide ".repeat(40) },
      call("call_1"),
      result({ args: { query: "tides ".repeat(50) }, result: "x".repeat(300_000) }),
    );
    expect(lines).toEqual([
      "  1  tide tide tide tide tide tide",
      "     tide tide tide tide tide tide…",
      '     ✓ search(query: "tides tide…  12 ms',
      `       ${"x".repeat(32)}…`,
    ]);
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
  });

  it("does not let a model or a tool act on the terminal", () => {
    const lines = render(
      viewOf(),
      { type: "thought", step_index: 0, text: "\u001B[2J\u001B]0;owned\u0007wipe\u0007\rover" },
      call("call_1"),
      result({ name: "a\u001Bb", args: { "\u0085x": "\u202Eevil" }, result: "\u001B[31mred" }),
    );
    expect(lines).toEqual(["  1  wipe␇ over", '     ✓ a␛b(�x: "�evil")  12 ms', "       red"]);
  });

  it("shows results in the order in which they come, under one number", () => {
    const lines = render(
      viewOf(),
      { type: "thought", step_index: 0, text: "Both at once." },
      call("call_1", "search"),
      call("call_2", "read"),
      result({ id: "call_2", name: "read", result: "b" }),
      result({ id: "call_1", name: "search", result: "a" }),
    );
    expect(lines.map((line) => line.slice(0, 14))).toEqual([
      "  1  Both at o",
      "     ✓ read(qu",
      "       b",
      "     ✓ search(",
      "       a",
    ]);
  });

  it("leaves the answer for the end", () => {
    const lines = render(
      viewOf(),
      { type: "thought", step_index: 1, text: "It is high at noon." },
      { type: "step", step: stepOf({ step_index: 1, next_action: "finish", thought: "It is" }) },
      { type: "message", text: "It is high at noon.", incomplete: false },
    );
    expect(lines).toEqual(["  2  gives its answer"]);
  });

  it("shows a step that neither called nor answered, and what was wrong with it", () => {
    const step = stepOf({ next_action: "continue", thought: "Hm.", problem: "Say Action: first." });
    const silent = stepOf({ step_index: 1, next_action: "continue" });
    const lines = render(viewOf(), { type: "step", step }, { type: "step", step: silent });
    expect(lines).toEqual(["  1  Hm.", "     ! Say Action: first.", "  2  continues"]);
  });

  it("says when another model answered", () => {
    const fallback = { from: "openai:gpt", reason: "outage" };
    const step = stepOf({ next_action: "finish", fallback, model: "ollama:tiny" });
    expect(render(viewOf(), { type: "step", step })).toEqual([
      "  1  gives its answer",
      "     ! ollama:tiny answered instead of openai:gpt: outage",
    ]);
  });

  it("shows a refused attempt with its errors, and whether another follows", () => {
    const refused = (attempt_number: number): AgentEventBody => ({
      type: "attempt_failed",
      attempt: { attempt_number, errors: ["message: too short", "no source"], answer: "Noon." },
    });
    expect(render(viewOf(), refused(0))).toEqual([
      "     ✗ attempt 1 of 3 refused",
      "       Noon.",
      "       - message: too short",
      "       - no source",
      "       retrying with this feedback",
    ]);
    const view = viewOf();
    expect(view.hasRefused).toBe(false);
    expect(render(view, refused(2)).at(-1)).toBe("       - no source");
    expect(view.hasRefused).toBe(true);
  });

  it("says when an attempt goes round in circles, and leaves its end to the refusal", () => {
    const reason = "3 steps in a row made no progress";
    const lines = render(
      viewOf(200),
      { type: "stuck", action: "deepen", reason },
      { type: "stuck", action: "end", reason },
    );
    expect(lines).toEqual([`     ! is stuck (${reason}): reasoning deeper`]);
    const event = eventOf({ type: "stuck", action: "deepen", reason });
    const inside = viewOf(200).event({ ...event, node: "think", within: ["helper"] });
    expect(inside[0]).toContain("! helper › think is stuck");
  });

  it("names the nodes of a workflow, steps that are made beside each other and ways that are chosen", () => {
    const view = viewOf();
    const at = (node: string, step_index: number, body: AgentEventBody, within: string[] = []) =>
      view.event({ ...eventOf(body), node, within, ...("step_index" in body && { step_index }) });
    const lines = [
      at("look", 0, { type: "thought", step_index: 0, text: "I look." }),
      at("letters", 1, call("call_2")),
      at("look", 0, call("call_1")),
      at("letters", 1, result({ id: "call_2" })),
      at("records", 0, result({ id: "call_1", result: null })),
      at("found", 0, { type: "node", output: { choice: "some" }, next: ["answer", "log"] }),
      at("reason", 0, { type: "step", step: stepOf({ next_action: "finish", thought: "Done." }) }, [
        "answer",
      ]),
    ];
    expect(lines.flat()).toEqual([
      "  1  look",
      "     I look.",
      "  2  letters",
      '     ✓ search(query: "tides")  12 ms',
      "       High at noon.",
      "     records",
      '     ✓ search(query: "tides")  12 ms',
      "     found → answer, log (some)",
      "  1  answer",
      "     Done.",
    ]);
  });

  it("names the node that runs a step's calls too, whatever came between", () => {
    const view = viewOf();
    const at = (node: string, body: AgentEventBody) => view.event({ ...eventOf(body), node });
    const lines = [
      at("look", { type: "thought", step_index: 0, text: "I look." }),
      at("look", call("call_1")),
      at("records", result({ id: "call_1", result: null })),
    ];
    expect(lines.flat()).toEqual([
      "  1  look",
      "     I look.",
      "     records",
      '     ✓ search(query: "tides")  12 ms',
    ]);
  });

  it("numbers steps as they appear, each once, on from where a turn stopped", () => {
    const view = viewOf();
    const at = (node: string, step_index: number, thought: string) =>
      view.event({ ...eventOf({ type: "step", step: stepOf({ step_index, thought }) }), node });
    const third = { ...eventOf({ ...result({ id: "c" }), step_index: 6 } as never), node: "notes" };
    const numbers = [
      at("term", 4, "One."),
      at("letters", 6, "Two."),
      at("records", 5, "Three."),
      view.event(third),
      at("answer", 7, "Four."),
    ].map(([head]) => head);
    expect(numbers).toEqual([
      "  5  term",
      "  6  letters",
      "  7  records",
      "     notes",
      "  8  answer",
    ]);
  });

  it("tells what people decided, and why an agent inside came to nothing", () => {
    const node = (name: string, output: unknown, next: string[], within: string[] = []) =>
      viewOf(80).event({ ...eventOf({ type: "node", output, next }), node: name, within });
    const decision = { value: null, reason: "", timed_out: false };
    expect([
      ...node("ask", { ...decision, approved: true }, ["send", "log"]),
      ...node("ask", { ...decision, approved: false, reason: "too\nshort" }, ["END"]),
      ...node("deep", { status: "FAILED", output: null, failure: { message: "It is down." } }, [
        "END",
      ]),
      ...node("deep", { status: "COMPLETED", output: "x", failure: null }, ["END"]),
      ...node("ask", { ...decision, approved: false }, ["END"], ["outer", "inner"]),
    ]).toEqual([
      "     ask → send, log",
      "     ask → END (rejected: too short)",
      "     deep → END (failed: It is down.)",
      "     outer › inner › ask → END (rejected)",
    ]);
  });

  it("does not show a step again that ends when others have begun", () => {
    const view = viewOf();
    const lines = [
      { ...eventOf({ type: "thought", step_index: 0, text: "One." }), node: "left" },
      { ...eventOf(call("call_1")), node: "left" },
      { ...eventOf({ type: "step", step: stepOf({ step_index: 1, thought: "Two." }) }), node: "b" },
      { ...eventOf({ type: "step", step: stepOf({ thought: "One." }) }), node: "plan" },
    ];
    expect(lines.flatMap((event) => view.event(event))).toEqual([
      "  1  left",
      "     One.",
      "  2  b",
      "     Two.",
    ]);
  });

  it("shows the steps of an agent that runs a second time", () => {
    const view = viewOf();
    const step = stepOf({ next_action: "finish", thought: "Done." });
    const usage = step.usage;
    const ended = {
      type: "done",
      status: "COMPLETED",
      output: null,
      failure: null,
      usage,
    } as const;
    const once = [eventOf({ type: "step", step }), eventOf(ended)].map((event) => {
      return { ...event, within: ["deep"] };
    });
    const shown = once.flatMap((event) => view.event(event));
    expect(shown).toEqual(["  1  deep", "     Done."]);
    view.event({ ...eventOf({ type: "step", step: stepOf({ thought: "Between." }) }), node: "b" });
    expect(once.flatMap((event) => view.event(event))).toEqual(shown);
  });

  it("says whose attempt was refused", () => {
    const attempt = { attempt_number: 0, errors: ["no source"], answer: null };
    const event = eventOf({ type: "attempt_failed", attempt });
    expect(viewOf().event({ ...event, within: ["research"] })).toEqual([
      "     ✗ research: attempt 1 refused",
      "       - no source",
    ]);
  });

  it("knows what is going on", () => {
    const view = viewOf();
    const after = (event: AgentEventBody) => {
      render(view, event);
      return view.activity;
    };
    expect(view.activity).toBe("starting");
    expect(after({ type: "status", status: "PLANNING" })).toBe("planning");
    expect(after({ type: "status", status: "EXECUTING" })).toBe("thinking");
    expect(after(call("call_1", "search"))).toBe("running search");
    expect(after(call("call_2", "re\u001Bad"))).toBe("running search, re␛ad");
    expect(after(result({ id: "call_1" }))).toBe("running re␛ad");
    const calls = [{ id: "call_2", name: "read", args: {}, reason: "" }];
    expect(after({ type: "step", step: stepOf({ tool_predictions: calls }) })).toBe("thinking");
    expect(after({ type: "status", status: "REFLECTING" })).toBe("checking the answer");
  });

  it("shows calls that the end of the run cut off", () => {
    const view = viewOf();
    render(view, call("call_1"));
    expect(view.end()).toEqual(["  1  ■ search  interrupted"]);
    expect(view.end()).toEqual([]);
  });

  it("colours nothing but what it marks", () => {
    const view = new RunView({ width: 60, style: createStyle(true), maxAttempts: 3 });
    expect(render(view, result({ args: {}, result: "ok" }))).toEqual([
      "\u001B[2m  1\u001B[22m  \u001B[32m✓\u001B[39m search()  \u001B[2m12 ms\u001B[22m",
      "\u001B[2m   \u001B[22m    \u001B[2mok\u001B[22m",
    ]);
  });
});

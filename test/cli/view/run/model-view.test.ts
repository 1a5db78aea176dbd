import { describe, expect, it } from "vitest";
import { ModelView, type ModelViewOptions } from "../../../../src/cli/view/run/model-view.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import type { TokenOrigin } from "../../../../src/runtime/streamed-text.ts";
import type { AgentEventBody } from "../../../../src/state/events.ts";
import { ManualClock } from "../../../helpers/manual-clock.ts";
import { eventOf, resultOf, stepOf } from "../events.ts";

const origin: TokenOrigin = { message_id: "m1", attempt: 1, node: "reason", within: [] };

function viewOf(options: Partial<ModelViewOptions> = {}) {
  const clock = new ManualClock();
  const style = createStyle(false);
  const view = new ModelView({ width: 40, style, clock, showReasoning: false, ...options });
  const event = (body: AgentEventBody, of: object = {}) => view.event({ ...eventOf(body), ...of });
  return { clock, view, event };
}

const step = (next_action: "finish" | "use_tools"): AgentEventBody => ({
  type: "step",
  step: stepOf({ next_action }),
});
const call: AgentEventBody = {
  type: "tool_call",
  step_index: 0,
  call: { id: "call_1", name: "search", args: {}, reason: "" },
};
const asked = (model = "test:one"): AgentEventBody => ({
  type: "model_wait",
  model,
  reason: "first_token",
  until: null,
});

describe("the text of a model while it streams", () => {
  it("grows with each token, wrapped below the steps", () => {
    const { view } = viewOf();
    view.token("High tide is ", origin);
    expect(view.lines).toEqual(["     High tide is"]);
    view.token("at noon, and low tide in the ev", origin);
    view.token("ening.\nBring", origin);
    expect(view.lines).toEqual([
      "     High tide is at noon, and low tide",
      "     in the evening.",
      "     Bring",
    ]);
  });

  it("goes when its step asks for tools, and stays until the end when it is the answer", () => {
    const { view, event } = viewOf();
    view.token("I look it up.", origin);
    event({ type: "thought", step_index: 0, text: "I look it up." });
    expect(view.lines).not.toEqual([]);
    event(call);
    expect(view.lines).toEqual([]);
    event({ type: "tool_result", step_index: 0, result: resultOf({}) }, { node: "tools" });
    event(step("use_tools"), { node: "tools" });
    view.token("At noon.", { ...origin, message_id: "m2" });
    event(step("finish"));
    expect(view.lines).toEqual(["     At noon."]);
    expect(view.cut()).toEqual(["     At noon."]);
    expect(view.lines).toEqual([]);
  });

  it("goes with the step of a workflow's node, whose lines show it", () => {
    const { view, event } = viewOf();
    view.token("At noon.", { ...origin, node: "look" });
    event(step("finish"), { node: "look" });
    expect(view.lines).toEqual([]);
  });

  it("is taken away when the reply begins again, and says why", () => {
    const { view, event } = viewOf();
    const reset: AgentEventBody = { type: "message_reset", attempt: 2, reason: "outage" };
    expect(event(reset)).toEqual([]);
    view.token("High ti", origin);
    expect(event(reset)).toEqual(["     the reply begins again: no answer"]);
    expect(view.lines).toEqual([]);
    view.token("High tide", { ...origin, attempt: 2 });
    expect(view.lines).toEqual(["     High tide"]);
  });

  it("is taken away when its attempt is refused", () => {
    const { view, event } = viewOf();
    view.token("At midnight.", origin);
    event(step("finish"));
    const attempt = { attempt_number: 0, errors: ["no"], answer: "At midnight." };
    event({ type: "attempt_failed", attempt }, { node: "reflect" });
    expect(view.lines).toEqual([]);
  });

  it("is that of the outermost graph, and of the node that began first", () => {
    const { view, event } = viewOf();
    view.token("inside", { ...origin, within: ["helper"] });
    view.token("a judge", { ...origin, node: "reflect" });
    expect(view.lines).toEqual([]);
    view.token("one", { ...origin, node: "left" });
    view.token("two", { ...origin, node: "right" });
    event(step("finish"), { node: "right" });
    event({ type: "message_reset", attempt: 2, reason: "outage" }, { within: ["helper"] });
    expect(view.lines).toEqual(["     one"]);
    event(step("finish"), { node: "left" });
    view.token("three", { ...origin, node: "right" });
    expect(view.lines).toEqual(["     three"]);
  });

  it("begins anew with the next message of its node, and does not return to an earlier one", () => {
    const { view } = viewOf();
    view.token("first", origin);
    view.token("second", { ...origin, message_id: "m2" });
    view.token("first", origin);
    expect(view.lines).toEqual(["     second"]);
  });

  it("does not act on the terminal", () => {
    const { view } = viewOf();
    view.token("a\u001B", origin);
    view.token("[2Jb\u0007", origin);
    view.reasoning("x\u001B[31my\u0007", origin);
    expect(view.lines.join("")).toContain("ab␇");
    expect(view.lines.join("")).not.toMatch(/\p{Cc}/u);
  });
});

describe("the reasoning of a model", () => {
  it("is one line with the last words, and one with its length afterwards", () => {
    const { clock, view, event } = viewOf();
    view.reasoning("The person asks for the ti", origin);
    clock.advance(3200);
    view.reasoning("des in Lisbon today", origin);
    expect(view.lines).toEqual(["thinking: for the tides in Lisbon today…"]);
    clock.advance(500);
    view.token("At noon.", origin);
    expect(view.lines).toEqual(["thought for 3.2 s (9 words)", "     At noon."]);
    expect(event(step("finish"))).toEqual(["     thought for 3.2 s (9 words)"]);
    expect(view.lines).toEqual(["     At noon."]);
    expect(event(step("finish"))).toEqual([]);
  });

  it("is printed before the calls of its step", () => {
    const { view, event } = viewOf();
    view.reasoning("I need a search.", origin);
    expect(event(call)).toEqual(["     thought for 0 ms (4 words)"]);
    expect(event(step("use_tools"), { node: "tools" })).toEqual([]);
    expect(view.lines).toEqual([]);
  });

  it("is shown whole where that is asked for", () => {
    const { view, event } = viewOf({ showReasoning: true });
    view.reasoning("First, the tides.\n\nThen the boat, which is", origin);
    view.reasoning(" late.", origin);
    const whole = ["     First, the tides.", "", "     Then the boat, which is late."];
    expect(view.lines).toEqual(whole);
    view.token("At noon.", origin);
    expect(view.lines).toEqual([...whole, "     At noon."]);
    expect(event(step("finish"))).toEqual(whole);
  });
});

describe("what a model call waits for", () => {
  it("is the first token, until it comes", () => {
    const { view, event } = viewOf();
    expect(view.activity).toBeNull();
    event(asked());
    expect(view.activity).toBe("waiting for test:one");
    view.token("At", origin);
    expect(view.activity).toBeNull();
  });

  it("is the model's silence, from ten seconds on", () => {
    const { clock, view, event } = viewOf();
    event(asked());
    clock.advance(9999);
    expect(view.activity).toBe("waiting for test:one");
    clock.advance(2001);
    expect(view.activity).toBe("no token from test:one for 12 s");
    view.reasoning("Well", origin);
    expect(view.activity).toBeNull();
    clock.advance(10_000);
    expect(view.activity).toBe("no token from test:one for 10 s");
    event(step("finish"));
    expect(view.activity).toBeNull();
  });

  it("counts the silence before the first token from the request on", () => {
    const { clock, view, event } = viewOf();
    event({ type: "status", status: "EXECUTING" });
    clock.advance(5000);
    event(asked());
    expect(view.activity).toBe("waiting for test:one");
    clock.advance(5000);
    expect(view.activity).toBe("no token from test:one for 10 s");
    const until = "2026-01-01T00:00:20.000Z";
    event({ type: "model_wait", model: "test:one", reason: "outage", until });
    clock.advance(15_000);
    event(asked());
    expect(view.activity).toBe("waiting for test:one");
    clock.advance(6000);
    expect(view.activity).toBe("no token from test:one for 11 s");
  });

  it("is the silence in the middle of a reply that is shown", () => {
    const { clock, view, event } = viewOf();
    view.token("inside", { ...origin, within: ["helper"] });
    clock.advance(20_000);
    expect(view.activity).toBeNull();
    view.token("At", origin);
    clock.advance(12_000);
    expect(view.activity).toBe("no token from the model for 12 s");
    event({ type: "thought", step_index: 0, text: "At" });
    expect(view.activity).toBeNull();
  });

  it("is the time of the next try, after a limit or an outage", () => {
    const { clock, view, event } = viewOf();
    const until = "2026-01-01T12:03:20.000Z";
    event({ type: "model_wait", model: "test:one", reason: "rate_limit", until });
    expect(view.activity).toBe("rate limited, retrying at 12:03:20 UTC");
    clock.advance(60_000);
    expect(view.activity).toBe("rate limited, retrying at 12:03:20 UTC");
    event({ type: "model_wait", model: "test:one", reason: "outage", until });
    expect(view.activity).toBe("no answer, retrying at 12:03:20 UTC");
    event({ type: "model_wait", model: "test:one", reason: "new_reason", until: null });
    expect(view.activity).toBe("new reason, retrying");
  });

  it("names the model that takes over, and why", () => {
    const { view, event } = viewOf();
    event(asked());
    event({ type: "model_fallback", from: "test:one", to: "test:two", reason: "quota" });
    event(asked("test:two"));
    expect(view.activity).toBe("test:two instead of test:one: quota used up");
    view.token("At", origin);
    expect(view.activity).toBeNull();
  });

  it("is that of agents inside too, until they are done", () => {
    const { view, event } = viewOf();
    event(asked(), { within: ["helper"] });
    event(asked("test:two"), { within: ["other"] });
    const done: AgentEventBody = {
      type: "done",
      status: "COMPLETED",
      output: null,
      failure: null,
      usage: stepOf({}).usage,
    };
    event(done, { within: ["other"], node: "finalize" });
    expect(view.activity).toBe("waiting for test:one");
    view.token("At", { ...origin, within: ["helper"] });
    expect(view.activity).toBeNull();
  });

  it("does not act on the terminal", () => {
    const { view, event } = viewOf();
    event({ type: "model_wait", model: "a\u001B[2Jb", reason: "first_token", until: null });
    expect(view.activity).toBe("waiting for ab");
    event({
      type: "model_wait",
      model: "a",
      reason: "x\u0007",
      until: "0123456789\u001B[2J\u0007!!!",
    });
    expect(view.activity).not.toMatch(/\p{Cc}/u);
  });
});

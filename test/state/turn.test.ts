import { describe, expect, it } from "vitest";
import { reduceTurn, stepsOfTurn, turnSteps, type TurnState } from "../../src/state/turn.ts";
import { noUsage } from "../../src/state/usage.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

const first = stepRecord({ turn_number: 0, attempt_number: 0, step_index: 0 });
const second = stepRecord({
  turn_number: 1,
  attempt_number: 0,
  step_index: 0,
  tool_predictions: [{ id: "c1", name: "echo", args: {}, reason: "" }],
  tool_results: [toolResult({ id: "c1" })],
});
const retried = stepRecord({ turn_number: 1, attempt_number: 1, step_index: 1 });

describe("reduceTurn", () => {
  const turn: TurnState = {
    run: "r1",
    started_at: "2026-01-02T03:04:05.678Z",
    elapsed_ms: 0,
    first_superstep: 0,
    usage_before: noUsage,
    approach: "",
    draft: null,
    failed_attempts: [],
    failure: null,
  };
  const timeout = { cause: "turn_timeout", message: "The turn took longer than its 5 s." };
  const outage = { cause: "no_model_answers", message: "No model answers." };

  it("keeps the failure that was written first", () => {
    const failed = reduceTurn(turn, { failure: timeout });
    expect(failed.failure).toEqual(timeout);
    expect(reduceTurn(failed, { failure: outage }).failure).toEqual(timeout);
    expect(reduceTurn(failed, { failure: null }).failure).toEqual(timeout);
    expect(reduceTurn(failed, { approach: "search" }).failure).toEqual(timeout);
  });

  it("forgets the failure when a new turn begins", () => {
    expect(reduceTurn({ ...turn, failure: timeout }, { ...turn, run: "r2" }).failure).toBeNull();
  });
});

describe("turnSteps", () => {
  it("gives the steps of the turn and of its attempt under way", () => {
    const turn = turnSteps([first, second, retried], { turnNumber: 1, attemptNumber: 1 });
    expect(turn.steps).toEqual([second, retried]);
    expect(turn.attempt).toEqual([retried]);
    expect(turn.toolCalls).toBe(1);
    expect([...turn.callIds]).toEqual(["c1"]);
  });

  it("gives the steps by node of the attempt, the called tools and the reasoning of the turn", () => {
    const thought = { text: "look it up" };
    const asked = stepRecord({ ...second, node: "ask", model: "openai:o3", reasoning: thought });
    const damaged = stepRecord({ ...second, step_index: 1, node: "ask", reasoning: "x" as never });
    const steps = [first, asked, damaged];
    const turn = turnSteps(steps, { turnNumber: 1, attemptNumber: 0 });
    expect([...turn.byNode]).toEqual([["ask", [asked, damaged]]]);
    expect([...turn.toolNames]).toEqual(["search"]);
    expect([...turn.reasoning]).toEqual([["c1", { model: "openai:o3", reasoning: thought }]]);
    const next = turnSteps([...steps, retried], { turnNumber: 1, attemptNumber: 1 });
    expect([...next.byNode]).toEqual([[retried.node, [retried]]]);
    expect([...next.reasoning.keys()]).toEqual(["c1"]);
  });

  it("has no steps before the first of a turn", () => {
    expect(turnSteps([first], { turnNumber: 1, attemptNumber: 0 }).steps).toEqual([]);
  });

  it("has no steps of an attempt that has just begun", () => {
    const turn = turnSteps([first, second], { turnNumber: 1, attemptNumber: 1 });
    expect(turn.attempt).toEqual([]);
    expect(turn.steps).toEqual([second]);
  });
});

describe("stepsOfTurn", () => {
  it("finds the steps of any turn", () => {
    expect(stepsOfTurn([first, second, retried], 0)).toEqual([first]);
    expect(stepsOfTurn([first, second, retried], 1)).toEqual([second, retried]);
  });
});

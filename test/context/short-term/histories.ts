import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../../../src/state/step-record.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

/** A call of `search` in turn `turn` that gave `result`. */
export function searchStep(turn: number, result: unknown, index = 0): StepRecord {
  const id = `call-${turn}-${index}`;
  const call = { id, name: "search", args: { query: `q${turn}` } };
  return stepRecord({
    turn_number: turn,
    step_index: index,
    thought: "look it up",
    tool_predictions: [{ ...call, reason: "" }],
    tool_results: [toolResult({ ...call, result })],
  });
}

function answerStep(turn: number, index = 1): StepRecord {
  return stepRecord({
    turn_number: turn,
    step_index: index,
    thought: `answer ${turn}`,
    next_action: "finish",
  });
}

/** `turns` turns with a call each, and the request of the one under way. */
export function history(turns: number, result: (turn: number) => unknown = () => "3 hits") {
  const messages: BaseMessage[] = [];
  const steps: StepRecord[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push(new HumanMessage(`request ${turn}`));
    steps.push(searchStep(turn, result(turn)), answerStep(turn));
    messages.push(new AIMessage(`answer ${turn}`));
  }
  messages.push(new HumanMessage(`request ${turns}`));
  return { messages, steps, turn_number: turns };
}

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentEventBody } from "../../state/event.ts";
import { isRecord } from "../../state/is-record.ts";
import type { SubtaskState, SubtaskStates } from "../../state/subtask-state.ts";
import { PrivateConfig } from "../private-config.ts";

/** Where an agent finds that answers are held around it. */
const held = new PrivateConfig<true>("held_answers");

/** Whether nothing that an answer may be made of is to be told yet, since output rails have still to look at it. */
export function areAnswersHeld(config: RunnableConfig): boolean {
  return held.in(config) === true;
}

/**
 * The config for what runs where answers are held, agents inside included. LangGraph streams the messages that a run
 * ends with when the run has the name of its node, which a graph has that is named like that.
 */
export function holdAnswers(config: RunnableConfig): RunnableConfig {
  return { ...held.with(config, true), runName: "agent inside" };
}

/**
 * Messages for a node to write where answers are held around it. LangGraph streams the message objects that a node
 * writes; of plain fields, the channel makes the messages.
 */
export function unstreamed(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  return messages.map((message) => {
    const fields: unknown = { ...message.lc_kwargs, type: message.type, id: message.id };
    return fields as BaseMessage;
  });
}

/**
 * An event where answers are held: without their texts, which the state keeps, but with all that tells how far the run
 * is. Null where nothing is left of it.
 * @param isInside whether the agents around hold answers, to whom the end of this one's turn is no answer yet
 */
export function withoutAnswers(event: AgentEventBody, isInside: boolean): AgentEventBody | null {
  switch (event.type) {
    case "step": {
      const { step } = event;
      // Whatever else was thought without calls, its own event has told.
      return step.tool_predictions.length > 0
        ? event
        : { ...event, step: { ...step, thought: "" } };
    }
    case "node":
      return { ...event, output: withoutTexts(event.output) };
    case "attempt_failed":
      return { ...event, attempt: { ...event.attempt, answer: null } };
    case "synthesis":
      return { ...event, text: "" };
    case "plan":
      return { ...event, subtasks: withoutResults(event.subtasks) };
    case "subtask_end":
      return { ...event, subtask: withoutResult(event.subtask) };
    case "message":
      return isInside ? null : event;
    case "done":
      return isInside ? { ...event, output: null } : event;
    default:
      return event;
  }
}

/** What nodes give that models have written, or that people have approved of it. */
export const written: readonly string[] = ["text", "output", "value", "subtasks"];

export function withoutTexts(output: unknown): unknown {
  if (!isRecord(output)) return output;
  return Object.fromEntries(
    Object.entries(output).map(([name, value]) => [name, written.includes(name) ? null : value]),
  );
}

export function withoutResults(subtasks: SubtaskStates): SubtaskStates {
  return Object.fromEntries(
    Object.entries(subtasks).map(([id, subtask]) => [id, withoutResult(subtask)]),
  );
}

function withoutResult(subtask: SubtaskState): SubtaskState {
  return { ...subtask, result: null };
}

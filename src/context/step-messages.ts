import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { StepRecord, ToolResult } from "../state/step-record.ts";
import { emptyReplyFeedback } from "./prompts.ts";

/** How a model calls tools: through the provider's own messages, or in text (`Action:` / `Observation:`). */
export type ToolForm = "native" | "text";

/** How steps are told: as the model calls tools, or as a report to one that may call none. */
export type StepForm = ToolForm | "report";

/**
 * A finished step as a model reads it: what it said and asked for, then the whole results. A call and its result are
 * never separated. A step that finished gives nothing: its answer is judged first.
 */
export function stepMessages(step: StepRecord, form: StepForm): readonly BaseMessage[] {
  if (step.next_action === "finish") return [];
  if (step.tool_predictions.length === 0) return unansweredMessages(step);
  return withCalls[form](step);
}

const withCalls: Readonly<Record<StepForm, (step: StepRecord) => readonly BaseMessage[]>> = {
  native: nativeMessages,
  text: textMessages,
  report: reportMessages,
};

function nativeMessages(step: StepRecord): readonly BaseMessage[] {
  return [
    new AIMessage({
      content: step.thought,
      tool_calls: step.tool_predictions.map(({ id, name, args }) => ({ id, name, args })),
    }),
    ...step.tool_results.map(
      (result) =>
        new ToolMessage({
          tool_call_id: result.id,
          name: result.name,
          content: resultText(result),
          status: result.outcome === "success" ? "success" : "error",
        }),
    ),
  ];
}

function textMessages(step: StepRecord): readonly BaseMessage[] {
  const actions = step.tool_predictions.map(
    ({ name, args }) => `Action: ${name}\nAction Input: ${JSON.stringify(args)}`,
  );
  const observations = step.tool_results.map((result) => `Observation: ${resultText(result)}`);
  return [
    new AIMessage(`Thought: ${step.thought}\n${actions.join("\n")}`),
    new HumanMessage(observations.join("\n")),
  ];
}

/** Providers refuse the messages of tool calls in a request that offers no tools. The offline model reads this form. */
function reportMessages(step: StepRecord): readonly BaseMessage[] {
  const gave = step.tool_results.map(
    (result) => `- ${result.name}(${JSON.stringify(result.args)}): ${resultText(result)}`,
  );
  const report = new HumanMessage(`What the tools gave:\n${gave.join("\n")}`);
  return step.thought === "" ? [report] : [new AIMessage(step.thought), report];
}

function unansweredMessages(step: StepRecord): readonly BaseMessage[] {
  const feedback = new HumanMessage(step.problem || emptyReplyFeedback);
  return step.thought === "" ? [feedback] : [new AIMessage(step.thought), feedback];
}

/** A tool result as text: the result itself on success, else the outcome with its whole message. */
export function resultText(result: ToolResult): string {
  if (result.outcome === "success") return asText(result.result);
  const partial = result.result === null ? "" : `\n${asText(result.result)}`;
  return `${result.outcome}: ${result.error ?? ""}${partial}`;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

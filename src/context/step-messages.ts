import type { AgentModel, ModelTool } from "../models/agent-model.ts";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { pairedCalls, type StepRecord, type ToolResult } from "../state/step-record.ts";
import { truncateText } from "../values/text.ts";
import { cleanText } from "./clean-text.ts";
import { compactNotation } from "./notation.ts";
import { previewText } from "./preview/preview.ts";
import { emptyReplyFeedback } from "./prompts.ts";

/** How a model calls tools: through the provider's own messages, or in text (`Action:` / `Observation:`). */
export type ToolForm = "native" | "text";

/** How steps are rendered: as tool calls, or as a report for a request without tools. */
export type StepForm = ToolForm | "report";

/** A rendered call with its result. Ids are unique among the messages of a request. */
export interface RenderedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly isError: boolean;
}

/** Renders the calls of a step. */
export type RenderCalls = (step: StepRecord) => readonly RenderedCall[];

/**
 * A finished step as a model reads it: what it said and asked for, then what that gave. A call and its result are never
 * separated, and neither is there without the other, whatever the record holds. Of a step that finished there is what it
 * said.
 */
export function stepMessages(
  step: StepRecord,
  form: StepForm,
  tell: RenderCalls = wholeCalls,
): readonly BaseMessage[] {
  const thought = thoughtText(step.thought);
  if (step.next_action === "finish") return thought === "" ? [] : [new AIMessage(thought)];
  const calls = tell(step);
  if (calls.length === 0) return unansweredMessages(step, thought);
  return withCalls[form](thought, calls);
}

/** Providers refuse texts of white space alone. */
function thoughtText(thought: string): string {
  return thought.trim() === "" ? "" : cleanText(thought);
}

const withCalls: Readonly<
  Record<StepForm, (thought: string, calls: readonly RenderedCall[]) => readonly BaseMessage[]>
> = {
  native: nativeMessages,
  text: textMessages,
  report: reportMessages,
};

/** Calls with their whole results. */
function wholeCalls(step: StepRecord): readonly RenderedCall[] {
  return pairedCalls(step).map((result) => renderCall(result, resultText(result)));
}

export function renderCall(result: ToolResult, text: string): RenderedCall {
  const { id, name, args, outcome } = result;
  return { id, name: callName(name), args, text, isError: outcome !== "success" };
}

const everyProviders = /^[\w.:-]{1,128}$/;

/** A tool that a model has made up may have a name that providers refuse. */
function callName(name: string): string {
  if (everyProviders.test(name)) return name;
  return name.replace(/[^\w-]+/g, "_").slice(0, 64) || "unnamed";
}

function nativeMessages(thought: string, calls: readonly RenderedCall[]): readonly BaseMessage[] {
  return [
    new AIMessage({
      content: thought,
      tool_calls: calls.map(({ id, name, args }) => ({ id, name, args })),
    }),
    ...calls.map(
      ({ id, name, text, isError }) =>
        new ToolMessage({
          tool_call_id: id,
          name,
          content: text,
          status: isError ? "error" : "success",
        }),
    ),
  ];
}

function textMessages(thought: string, calls: readonly RenderedCall[]): readonly BaseMessage[] {
  const actions = calls.map(
    ({ name, args }) => `Action: ${name}\nAction Input: ${JSON.stringify(args)}`,
  );
  return [
    new AIMessage(`Thought: ${thought}\n${actions.join("\n")}`),
    new HumanMessage(calls.map(({ text }) => `Observation: ${text}`).join("\n")),
  ];
}

/** Providers refuse the messages of tool calls in a request that offers no tools. The offline model reads this form. */
function reportMessages(thought: string, calls: readonly RenderedCall[]): readonly BaseMessage[] {
  const gave = calls.map(({ name, args, text }) => `- ${name}(${JSON.stringify(args)}): ${text}`);
  const report = new HumanMessage(`What the tools gave:\n${gave.join("\n")}`);
  return thought === "" ? [report] : [new AIMessage(thought), report];
}

function unansweredMessages(step: StepRecord, thought: string): readonly BaseMessage[] {
  const feedback = new HumanMessage(cleanText(step.problem) || emptyReplyFeedback);
  return thought === "" ? [feedback] : [new AIMessage(thought), feedback];
}

/** Characters of an error's message that a model reads. */
export const errorCharacters = 4000;

/** A tool result as JSON, or as the text it is; of a call that did not succeed its outcome with its message before. */
export function plainResultText(result: ToolResult): string {
  return outcomeText(result, (value) =>
    typeof value === "string" ? value : (JSON.stringify(value) ?? "null"),
  );
}

/** A tool result whole, as a model reads it: a text as it is, a value with little said twice. */
export function resultText(result: ToolResult): string {
  return cleanText(outcomeText(result, wholeText));
}

function wholeText(value: unknown): string {
  try {
    return compactNotation(value);
  } catch {
    // What JSON cannot say: circles, big integers, a `toJSON` that throws.
    return previewText(value, { maxChars: errorCharacters, maxItems: 100 });
  }
}

/** A result with its value told by `tell`. */
export function outcomeText(result: ToolResult, tell: (value: unknown) => string): string {
  const warning = result.warning === undefined ? "" : `[${result.warning}]\n`;
  if (result.outcome === "success") return warning + tell(result.result);
  const partial = result.result === null ? "" : `\n${tell(result.result)}`;
  return `${warning}${result.outcome}: ${truncateText(result.error ?? "", errorCharacters)}${partial}`;
}

/** Returns how steps are rendered in a request: providers refuse tool calls in a request without tools. */
export function stepFormOf(model: AgentModel, tools: readonly ModelTool[]): StepForm {
  if (!model.toolCalling) return "text";
  return tools.length === 0 ? "report" : "native";
}

export function toolFormOf(model: AgentModel): ToolForm {
  return model.toolCalling ? "native" : "text";
}

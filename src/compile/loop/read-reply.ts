import type { AIMessage } from "@langchain/core/messages";
import type { IdSource } from "../../clock.ts";
import { noteTool } from "../../context/note-tool.ts";
import { noNote, readStepNote, type StepNote } from "../../context/step-note.ts";
import type { ToolForm } from "../../context/step-messages.ts";
import type { AgentTool } from "../../definition/tool.ts";
import { parseTextForm, toToolInput } from "../../models/text-form.ts";
import type { NextAction, StepRecord, ToolPrediction } from "../../state/step-record.ts";
import { isRecord } from "../../state/is-record.ts";

/** A model's reply, read: what it thought, what it wants called, or its answer. */
export interface ReadReply {
  readonly thought: string;
  readonly nextAction: NextAction;
  readonly predictions: readonly ToolPrediction[];
  readonly answer: string | null;
  /** What was wrong with the reply, told back to the model. */
  readonly problem: string;
  /** What it noted beside. */
  readonly note: StepNote;
}

export interface ReadReplyOptions {
  readonly message: AIMessage;
  readonly form: ToolForm;
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly ids: IdSource;
  /** Whether a call id was used before in this turn; such a call gets a new one. */
  isUsed(id: string): boolean;
  /** Whether the note tool was offered. Calls of it are neither calls of a tool nor faults. */
  readonly takesNotes: boolean;
  /** The steps whose results may be noted on, in order. */
  readonly behind: readonly StepRecord[];
}

/** Never throws: a reply that cannot be read is a step that goes on, with its problem as feedback. */
export function readReply(options: ReadReplyOptions): ReadReply {
  return options.form === "native" ? readNative(options) : readText(options);
}

function readNative(options: ReadReplyOptions): ReadReply {
  const { message } = options;
  const text = message.text;
  const predictions: ToolPrediction[] = [];
  const notes: unknown[] = [];
  const isNote = (name: string | undefined) => options.takesNotes && name === noteTool.name;
  const idFor = uniqueIds(options);
  for (const call of message.tool_calls ?? []) {
    if (isNote(call.name)) notes.push(call.args);
    else predictions.push({ id: idFor(call.id), name: call.name, args: call.args, reason: text });
  }
  for (const call of message.invalid_tool_calls ?? []) {
    if (isNote(call.name)) continue;
    predictions.push({
      id: idFor(call.id),
      name: call.name ?? "",
      args: {},
      reason: text,
      problem: `The arguments were not valid JSON: ${clip(call.args ?? "")}`,
    });
  }
  return decide({
    thought: text,
    predictions,
    answer: text.trim() === "" ? null : text,
    problem: "",
    note: readStepNote(notes, options.behind),
  });
}

function readText(options: ReadReplyOptions): ReadReply {
  const turn = parseTextForm(options.message.text);
  const idFor = uniqueIds(options);
  const predictions = turn.actions.map(({ name: written, input }): ToolPrediction => {
    const id = idFor(undefined);
    const name = toolName(written, options.tools);
    const args = toToolInput(input, options.tools.get(name)?.definition.input_schema ?? {});
    if (isRecord(args)) return { id, name, args, reason: turn.thought };
    const problem = `The action input has to be a JSON object, not ${clip(JSON.stringify(args) ?? "nothing")}`;
    return { id, name, args: {}, reason: turn.thought, problem };
  });
  return decide({
    thought: turn.thought,
    predictions,
    answer: turn.finalAnswer,
    problem: turn.problems.join(" "),
    note: noNote,
  });
}

/** Models that call tools in text are loose with letter case. */
function toolName(written: string, tools: ReadonlyMap<string, AgentTool>): string {
  if (tools.has(written)) return written;
  const lower = written.toLowerCase();
  const alike = [...tools.keys()].filter((name) => name.toLowerCase() === lower);
  return alike.length === 1 ? (alike[0] ?? written) : written;
}

function decide(read: Omit<ReadReply, "nextAction">): ReadReply {
  if (read.predictions.length > 0) return { ...read, answer: null, nextAction: "use_tools" };
  return { ...read, nextAction: read.answer === null ? "continue" : "finish" };
}

function uniqueIds(options: ReadReplyOptions): (given: string | undefined) => string {
  const taken = new Set<string>();
  return (given) => {
    const free = given !== undefined && given !== "" && !taken.has(given) && !options.isUsed(given);
    const id = free ? given : options.ids();
    taken.add(id);
    return id;
  };
}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

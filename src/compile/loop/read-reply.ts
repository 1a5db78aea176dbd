import type { AIMessage } from "@langchain/core/messages";
import type { IdSource } from "../../clock.ts";
import type { ToolForm } from "../../context/step-messages.ts";
import { readNoteLines, takeNoteLines } from "../../context/note-lines.ts";
import { noteTool, readStepNote, type StepNote } from "../../context/step-note.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import {
  parseTextForm,
  type TextFormAction,
  toToolInput,
} from "../../models/text-form/text-form.ts";
import { looksLikeArguments, readToolArguments } from "../../models/replies/tool-arguments.ts";
import { callsIn, type WrittenCall } from "../../models/replies/written-calls.ts";
import type { NextAction, StepRecord, ToolPrediction } from "../../state/step-record.ts";
import { isRecord } from "../../values/json.ts";
import { headOf, truncateText } from "../../values/text.ts";

/** A parsed model reply: its thought, its calls or its answer. */
export interface ReadReply {
  readonly thought: string;
  readonly nextAction: NextAction;
  readonly predictions: readonly ToolPrediction[];
  readonly answer: string | null;
  /** What was wrong with the reply, reported back to the model. */
  readonly problem: string;
  /** The note made along with the reply. */
  readonly note: StepNote;
}

export interface ReadReplyOptions {
  readonly message: AIMessage;
  readonly form: ToolForm;
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly ids: IdSource;
  /** Returns whether a call id was already used in this turn; such a call gets a new one. */
  isUsed(id: string): boolean;
  /** The form of the notes that the model was offered; they are neither tool calls nor text. Null if it was offered none. */
  readonly noteForm: NoteForm | null;
  /** The steps whose results may be noted on, in order. */
  readonly behind: readonly StepRecord[];
  /** Whether the reply ended at the output limit: calls that are not whole cannot run. Default: false. */
  readonly isCut?: boolean;
}

/** How a model notes its steps: with calls of the note tool, or on lines of its text. */
export type NoteForm = "call" | "line";

/** Parses a reply. Never throws: an unreadable reply is a step that continues, with its problem as feedback. */
export function readReply(options: ReadReplyOptions): ReadReply {
  return options.form === "native" ? readNative(options) : readText(options);
}

function readNative(options: ReadReplyOptions): ReadReply {
  const { message } = options;
  const said = takeLines(message.text, options);
  // The line end before a note at the end belongs to it.
  const text = said.notes.length === 0 ? said.text : said.text.trimEnd();
  const predictions: ToolPrediction[] = [];
  const notes: unknown[] = [];
  const isNote = (name: string) => options.noteForm === "call" && name === noteTool.name;
  const idFor = uniqueIds(options);
  const reason = truncateText(text, keptCharacters);
  for (const call of callsIn(message)) {
    const read = readNativeArguments(call, options);
    if (!isNote(call.name)) {
      predictions.push({ id: idFor(call.id), name: call.name, ...read, reason });
    } else if (read.problem === undefined) notes.push(read.args);
  }
  return decide({
    thought: text,
    predictions,
    answer: text.trim() === "" ? null : text,
    problem: "",
    note:
      options.noteForm === "call"
        ? readStepNote(notes, options.behind)
        : readNoteLines(said.notes, options.behind),
  });
}

function takeLines(text: string, { noteForm }: ReadReplyOptions): ReturnType<typeof takeNoteLines> {
  return noteForm === "line" ? takeNoteLines(text) : { text, notes: [] };
}

type ReadArguments = Pick<ToolPrediction, "args" | "problem" | "mended_from">;

const cutOff =
  "The arguments were cut off at the output limit. Make the call again, with shorter arguments.";

/** Characters that a record keeps of the original arguments of a call, and of the text that came with it. */
const keptCharacters = 2000;

function readNativeArguments(
  { name, written, isValid }: WrittenCall,
  options: ReadReplyOptions,
): ReadArguments {
  const schema = schemaOf(name, options);
  const read = readToolArguments(written, schema);
  if (read.ok && !read.isMended && isValid) return { args: read.value };
  if (options.isCut === true && !isValid) return { args: {}, problem: cutOff };
  const text = typeof written === "string" ? written : (JSON.stringify(written) ?? "");
  if (read.ok) {
    const { value: args, isMended } = read;
    return isMended ? { args, mended_from: headOf(text, keptCharacters) } : { args };
  }
  if (read.reason === "empty") return noArguments(name, schema);
  return { args: {}, problem: `The arguments were not valid JSON: ${clip(text)}` };
}

function schemaOf(name: string, { tools, noteForm }: ReadReplyOptions) {
  if (noteForm === "call" && name === noteTool.name) return noteTool.input_schema;
  return tools.get(name)?.definition.input_schema ?? {};
}

/** The arguments of a call that has none. */
function noArguments(name: string, { required }: Readonly<Record<string, unknown>>): ReadArguments {
  if (!Array.isArray(required) || required.length === 0) return { args: {} };
  const names = required.map((one) => `"${String(one)}"`).join(", ");
  return { args: {}, problem: `The arguments were empty; ${name} requires ${clip(names)}.` };
}

function readText(options: ReadReplyOptions): ReadReply {
  const { text } = options.message;
  const said = takeLines(text, options);
  const turn = parseTextForm(said.text);
  const idFor = uniqueIds(options);
  const { isCut = false } = options;
  const reason = truncateText(turn.thought, keptCharacters);
  const predictions = turn.actions.map((action, index): ToolPrediction => {
    const name = toolName(action.name, options.tools);
    const schema = schemaOf(name, options);
    const isLast = index === turn.actions.length - 1;
    const read =
      isCut && isLast && !isWholeObject(action.input)
        ? { args: {}, problem: cutOff }
        : readTextArguments({ ...action, name }, schema);
    return { id: idFor(undefined), name, ...read, reason };
  });
  return decide({
    thought: turn.thought,
    predictions,
    answer: turn.finalAnswer,
    problem: turn.problems.join(" "),
    note: readNoteLines(said.notes, options.behind),
  });
}

/** An empty object also stands for an input that was not written. */
function isWholeObject(input: unknown): boolean {
  return isRecord(input) && Object.keys(input).length > 0;
}

/** Reads an action's input: an object, text that can only be one, or a value for the tool's only property. */
function readTextArguments(
  { name, input, problem }: TextFormAction,
  schema: Readonly<Record<string, unknown>>,
): ReadArguments {
  if (input === "" || (isRecord(input) && !isWholeObject(input))) return noArguments(name, schema);
  const made = toToolInput(input, schema);
  if (typeof input !== "string") return objectOr(made);
  if (isRecord(made) && !looksLikeArguments(input, schema)) return { args: made };
  const read = readToolArguments(input, schema);
  if (read.ok) return { args: read.value };
  return problem === undefined ? objectOr(input) : { args: {}, problem };
}

function objectOr(args: unknown): ReadArguments {
  if (isRecord(args)) return { args };
  const shown = clip(JSON.stringify(args) ?? "nothing");
  return { args: {}, problem: `The action input must be a JSON object, not ${shown}` };
}

/** Finds a tool by name. Models that call tools in text are inexact about letter case. */
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

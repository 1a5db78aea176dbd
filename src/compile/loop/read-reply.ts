import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { IdSource } from "../../clock.ts";
import type { ToolForm } from "../../context/step-messages.ts";
import { noNote, noteTool, readStepNote, type StepNote } from "../../context/step-note.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import { parseTextForm, toToolInput } from "../../models/text-form/text-form.ts";
import type { NextAction, StepRecord, ToolPrediction } from "../../state/step-record.ts";
import { isRecord } from "../../values/json.ts";

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
  /** Whether the note tool was offered. Its calls are neither tool calls nor errors. */
  readonly takesNotes: boolean;
  /** The steps whose results may be noted on, in order. */
  readonly behind: readonly StepRecord[];
}

/** Parses a reply. Never throws: an unreadable reply is a step that continues, with its problem as feedback. */
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
    const problem = `The action input must be a JSON object, not ${clip(JSON.stringify(args) ?? "nothing")}`;
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

/** LangGraph's handler that streams messages to chat clients. */
const messageStreamer = "StreamMessagesHandler";

/**
 * Returns the model with its note calls hidden from LangGraph's `messages` stream: chat clients would wait for their
 * results. Other callbacks, such as tracers, get the unchanged reply.
 */
export function withUnshownNotes(model: AgentModel): AgentModel {
  return {
    ...model,
    call: (request, config) => {
      const { callbacks } = config;
      return model.call(request, {
        ...config,
        ...(callbacks !== undefined && { callbacks: withoutNotes(callbacks) }),
      });
    },
  };
}

type Handler = Extract<Callbacks, readonly unknown[]>[number];

function withoutNotes(callbacks: Callbacks): Callbacks {
  const made = new Map<Handler, Handler>();
  const replaced = <T extends Handler>(handler: T): T => {
    if (!("name" in handler) || handler.name !== messageStreamer) return handler;
    const known = made.get(handler) ?? filtered(handler);
    made.set(handler, known);
    return known as T;
  };
  if (Array.isArray(callbacks)) return callbacks.map(replaced);
  const manager = callbacks.copy();
  manager.handlers = manager.handlers.map(replaced);
  manager.inheritableHandlers = manager.inheritableHandlers.map(replaced);
  return manager;
}

/** Returns the handler with note calls removed from the replies it receives. */
function filtered(handler: BaseCallbackHandler): BaseCallbackHandler {
  const filters = new Map<string, (message: BaseMessage) => BaseMessage>();
  const shown = <T>(generation: T, runId: string): T => {
    const { message } = (generation ?? {}) as { message?: BaseMessage };
    if (message === undefined) return generation;
    const filter = filters.get(runId) ?? callFilter(noteTool.name);
    filters.set(runId, filter);
    const made = filter(message);
    if (made === message) return generation;
    return Object.assign(Object.create(Object.getPrototypeOf(generation) as object) as object, {
      ...generation,
      message: made,
    });
  };
  const own: Pick<BaseCallbackHandler, "handleLLMNewToken" | "handleLLMEnd"> = {
    handleLLMNewToken(token, index, runId, parent, tags, fields) {
      const chunk = shown(fields?.chunk, runId);
      const given = chunk === undefined ? fields : { ...fields, chunk };
      return handler.handleLLMNewToken?.(token, index, runId, parent, tags, given);
    },
    handleLLMEnd(output, runId, ...others) {
      const generations = output.generations.map((list) => list.map((one) => shown(one, runId)));
      filters.delete(runId);
      return handler.handleLLMEnd?.({ ...output, generations }, runId, ...others);
    },
  };
  return new Proxy(handler, {
    get(target, key) {
      if (key in own) return own[key as keyof typeof own];
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** A call, or a part of one: only its first part has a name. */
interface CallPart {
  readonly name?: unknown;
  readonly index?: unknown;
}

/** Content types in which providers send calls. */
const callContent = new Set([
  "tool_use",
  "input_json_delta",
  "tool_call",
  "tool_call_chunk",
  "function_call",
  "functionCall",
]);

/**
 * Returns a filter that removes the calls of a tool from the chunks of one streamed reply, in order, or from a whole
 * reply. Returns the message itself if it has none. Nothing is changed in place.
 */
export function callFilter(tool: string): (message: BaseMessage) => BaseMessage {
  const hidden = new Set<unknown>();
  const isHidden = ({ name, index }: CallPart): boolean => {
    if (typeof name !== "string" || name === "") return index !== undefined && hidden.has(index);
    if (name === tool) hidden.add(index);
    else hidden.delete(index);
    return name === tool;
  };
  return (message) => {
    if (message.type !== "ai") return message;
    let isLess = false;
    const isShown = (part: CallPart): boolean => {
      const isLeftOut = isHidden(part);
      isLess ||= isLeftOut;
      return !isLeftOut;
    };
    const given = message as AIMessage & Partial<Pick<AIMessageChunk, "tool_call_chunks">>;
    const { id, name, response_metadata, usage_metadata } = given;
    const parts = given.tool_call_chunks?.filter(isShown);
    const fields = {
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      content: shownContent(given.content, isShown),
      additional_kwargs: shownExtras(given.additional_kwargs, isShown),
      response_metadata,
      ...(usage_metadata !== undefined && { usage_metadata }),
    };
    if (AIMessageChunk.isInstance(message)) {
      const made = { ...fields, tool_call_chunks: parts ?? [] };
      return isLess ? new AIMessageChunk(made) : message;
    }
    const tool_calls = (given.tool_calls ?? []).filter(isShown);
    const invalid_tool_calls = (given.invalid_tool_calls ?? []).filter(isShown);
    return isLess ? new AIMessage({ ...fields, tool_calls, invalid_tool_calls }) : message;
  };
}

function shownContent(
  content: AIMessage["content"],
  isShown: (part: CallPart) => boolean,
): AIMessage["content"] {
  if (typeof content === "string") return content;
  return content.filter((block) => {
    if (!callContent.has(block.type)) return true;
    const { functionCall } = block as { functionCall?: unknown };
    return isShown(isRecord(functionCall) ? { name: functionCall["name"] } : (block as CallPart));
  });
}

/** OpenAI's original calls. */
function shownExtras(
  extras: AIMessage["additional_kwargs"],
  isShown: (part: CallPart) => boolean,
): AIMessage["additional_kwargs"] {
  const { tool_calls: calls, ...others } = extras;
  if (calls === undefined) return extras;
  const shown = calls.filter((call) => {
    const { index } = call as CallPart;
    return isShown({ name: call.function.name, index });
  });
  return shown.length === 0 ? others : { ...others, tool_calls: shown };
}

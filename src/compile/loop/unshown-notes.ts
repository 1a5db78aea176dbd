import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { NoteLines } from "../../context/note-lines.ts";
import { noteTool } from "../../context/step-note.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import { isRecord } from "../../values/json.ts";
import type { NoteForm } from "./read-reply.ts";

/** LangGraph's handler that streams messages to chat clients. */
const messageStreamer = "StreamMessagesHandler";

/**
 * Returns the model with its notes hidden from LangGraph's `messages` stream: chat clients would wait for the results of
 * note calls, and note lines are no part of an answer. Other callbacks, such as tracers, get the unchanged reply.
 *
 * @param form the form of the notes; null if there are none
 */
export function withUnshownNotes(model: AgentModel, form: NoteForm | null): AgentModel {
  if (form === null) return model;
  return {
    ...model,
    call: (request, config) => {
      const { callbacks } = config;
      const isStreamed = callbacks !== undefined && handlersOf(callbacks).some(isMessageStreamer);
      if (!isStreamed) return model.call(request, config);
      return model.call(request, { ...config, callbacks: withoutNotes(callbacks, form) });
    },
  };
}

type Handler = Extract<Callbacks, readonly unknown[]>[number];

function withoutNotes(callbacks: Callbacks, form: NoteForm): Callbacks {
  const made = new Map<Handler, Handler>();
  const replaced = <T extends Handler>(handler: T): T => {
    if (!isMessageStreamer(handler)) return handler;
    const known = made.get(handler) ?? filtered(handler, form);
    made.set(handler, known);
    return known as T;
  };
  if (Array.isArray(callbacks)) return callbacks.map(replaced);
  const manager = callbacks.copy();
  manager.handlers = manager.handlers.map(replaced);
  manager.inheritableHandlers = manager.inheritableHandlers.map(replaced);
  return manager;
}

function handlersOf(callbacks: Callbacks): readonly Handler[] {
  return Array.isArray(callbacks) ? callbacks : callbacks.handlers;
}

function isMessageStreamer<T extends Handler>(handler: T): handler is T & BaseCallbackHandler {
  return "name" in handler && handler.name === messageStreamer;
}

/** Returns the handler with notes removed from the replies it receives. */
function filtered(handler: BaseCallbackHandler, form: NoteForm): BaseCallbackHandler {
  const filters = new Map<string, MessageFilter>();
  const make = (): MessageFilter =>
    form === "line" ? new LineFilter() : { show: callFilter(noteTool.name), rest: () => null };
  const shown = <T>(generation: T, filter: MessageFilter, isWhole: boolean): T => {
    const { message } = (generation ?? {}) as { message?: BaseMessage };
    if (message === undefined) return generation;
    const made = filter.show(message, isWhole);
    if (made === message) return generation;
    return Object.assign(Object.create(Object.getPrototypeOf(generation) as object) as object, {
      ...generation,
      message: made,
    });
  };
  const own: Pick<BaseCallbackHandler, "handleLLMNewToken" | "handleLLMEnd" | "handleLLMError"> = {
    handleLLMNewToken(token, index, runId, parent, tags, fields) {
      const filter = filters.get(runId) ?? make();
      filters.set(runId, filter);
      const chunk = shown(fields?.chunk, filter, false);
      const given = chunk === undefined ? fields : { ...fields, chunk };
      return handler.handleLLMNewToken?.(token, index, runId, parent, tags, given);
    },
    handleLLMEnd(output, runId, parent, tags, extra) {
      const rest = filters.get(runId)?.rest() ?? null;
      filters.delete(runId);
      if (rest !== null) {
        const chunk = new ChatGenerationChunk({ text: rest.text, message: rest });
        const index = { prompt: 0, completion: 0 };
        void handler.handleLLMNewToken?.(rest.text, index, runId, parent, tags, { chunk });
      }
      const generations = output.generations.map((list) =>
        list.map((one) => shown(one, make(), true)),
      );
      return handler.handleLLMEnd?.({ ...output, generations }, runId, parent, tags, extra);
    },
    handleLLMError(error, runId, ...others) {
      filters.delete(runId);
      return handler.handleLLMError?.(error, runId, ...others);
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

/** Removes notes from the chunks of one streamed reply, in order, or from a whole reply. */
interface MessageFilter {
  /** Returns the message itself if nothing is removed from it. Nothing is changed in place. */
  show(message: BaseMessage, isWhole: boolean): BaseMessage;
  /** Ends a streamed reply. Returns a chunk of the text that was held back and is no note; null if there is none. */
  rest(): AIMessageChunk | null;
}

type TextBlock = { readonly type: "text"; readonly text: string };

/** Removes note lines. The text of a reply is that of all its blocks. */
class LineFilter implements MessageFilter {
  readonly #lines = new NoteLines();
  #id: string | undefined;
  /** The last block of text, if the content has blocks. */
  #block: TextBlock | null = null;

  show(message: BaseMessage, isWhole: boolean): BaseMessage {
    if (message.type !== "ai") return message;
    const given = message as AIMessage;
    const { content } = given;
    this.#id = given.id ?? this.#id;
    const shown =
      typeof content === "string"
        ? this.#take(content, isWhole)
        : this.#takeBlocks(content, isWhole);
    return shown === content ? message : withContent(given, shown);
  }

  rest(): AIMessageChunk | null {
    const text = this.#lines.end();
    if (text === "") return null;
    const content = this.#block === null ? text : [{ ...this.#block, text }];
    return new AIMessageChunk({ content, ...(this.#id !== undefined && { id: this.#id }) });
  }

  #take(text: string, isLast: boolean): string {
    const shown = this.#lines.push(text);
    return isLast ? shown + this.#lines.end() : shown;
  }

  #takeBlocks<Block extends object>(content: Block[], isWhole: boolean): Block[] {
    const last = isWhole ? content.findLast(isTextBlock) : undefined;
    const shown = content.map((block) => {
      if (!isTextBlock(block)) return block;
      this.#block = block;
      const text = this.#take(block.text, block === last);
      return text === block.text ? block : { ...block, text };
    });
    return shown.every((block, at) => block === content[at]) ? content : shown;
  }
}

function isTextBlock<Block extends object>(block: Block): block is Block & TextBlock {
  const { type, text } = block as Partial<TextBlock>;
  return type === "text" && typeof text === "string";
}

function withContent(message: AIMessage, content: AIMessage["content"]): AIMessage {
  const fields = { ...fieldsOf(message), content };
  if (AIMessageChunk.isInstance(message)) {
    return new AIMessageChunk({ ...fields, tool_call_chunks: message.tool_call_chunks ?? [] });
  }
  const { tool_calls = [], invalid_tool_calls = [] } = message;
  return new AIMessage({ ...fields, tool_calls, invalid_tool_calls });
}

function fieldsOf(message: AIMessage) {
  const { id, name, additional_kwargs, response_metadata, usage_metadata } = message;
  return {
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    additional_kwargs,
    response_metadata,
    ...(usage_metadata !== undefined && { usage_metadata }),
  };
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
    const parts = given.tool_call_chunks?.filter(isShown);
    const fields = {
      ...fieldsOf(given),
      content: shownContent(given.content, isShown),
      additional_kwargs: shownExtras(given.additional_kwargs, isShown),
    };
    if (AIMessageChunk.isInstance(message)) {
      const made = { ...fields, tool_call_chunks: parts ?? [] };
      return isLess ? new AIMessageChunk(made) : message;
    }
    const tool_calls = (given.tool_calls ?? []).filter(isShown);
    const invalid_tool_calls = (given.invalid_tool_calls ?? []).filter(isShown);
    if (!isLess) return message;
    const { tool_calls: _raw, ...others } = fields.additional_kwargs;
    // LangChain prints an advertisement if a message has original calls but no valid ones.
    const additional_kwargs = tool_calls.length === 0 ? others : fields.additional_kwargs;
    return new AIMessage({ ...fields, additional_kwargs, tool_calls, invalid_tool_calls });
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

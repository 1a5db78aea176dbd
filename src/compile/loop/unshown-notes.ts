import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import { noteTool } from "../../context/note-tool.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import { callFilter } from "./call-filter.ts";

/** LangGraph's handler that streams messages, of which the parts go to chat clients as they come. */
const messageStreamer = "StreamMessagesHandler";

/**
 * The model with its notes kept out of LangGraph's `messages` stream: chat clients would wait for their results. Other
 * callbacks, those of tracers among them, get the reply as it is.
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

/** The handler, which is told of replies without their notes. */
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

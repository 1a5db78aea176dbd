import { types } from "node:util";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { messageClasses } from "./escape.ts";

/** Objects that were found immutable with everything they lead to. */
const immutable = new WeakSet<object>();

const messagePrototypes = new Set<unknown>(
  Object.values(messageClasses).map((messageClass) => messageClass.prototype),
);

/**
 * Freezes plain objects, arrays and LangChain's messages in place, with everything they lead to, and says whether the
 * value is immutable now, so that the same object is for ever the same value.
 *
 * All or nothing: where it is false, nothing was frozen. It is false for what may change in spite of a freeze (dates,
 * maps, sets, byte arrays, errors, functions, proxies, properties with accessors, instances of other classes), for values
 * that lead back to themselves, since LangGraph's serializer cuts the circle in place, and for what LangChain writes to:
 * see `isWrittenTo`.
 */
export function freezeElement(value: unknown): boolean {
  if (isDeeplyFrozen(value)) return true;
  const inspection = new Inspection((object) => !isWrittenTo(object), { freezing: true });
  if (!inspection.passes(value)) return false;
  for (const object of inspection.seen) Object.freeze(object);
  immutable.add(value as object);
  return true;
}

/** Whether the value is immutable with everything it leads to, be it a circle. Freezes nothing. */
export function isDeeplyFrozen(value: unknown): boolean {
  if (!new Inspection(Object.isFrozen, { circles: true }).passes(value)) return false;
  if (typeof value === "object" && value !== null) immutable.add(value);
  return true;
}

/** Whether LangChain or LangGraph would write to the object in the course of things, and fail if it were frozen. */
function isWrittenTo(object: object): boolean {
  // A message stored as a plain record becomes the fields of a message, and gets what is missing.
  if (!isMessage(object)) return Object.hasOwn(object, "lc");
  const { id, type, response_metadata } = object as Partial<AIMessage>;
  // Reducers, streams and middleware give a message without an id one.
  if (!id) return true;
  // Copies share the content of such a message and append their tool calls to it, even if there are none.
  return type === "ai" && response_metadata?.["output_version"] === "v1";
}

function isMessage(object: object): boolean {
  return messagePrototypes.has(Object.getPrototypeOf(object));
}

/** Replaces the getters under which a piece of an answer parses its tool calls when they are first read by their values. */
function parseToolCalls(object: object): void {
  if (Object.getPrototypeOf(object) !== AIMessageChunk.prototype) return;
  const message = object as AIMessageChunk;
  for (const fields of [message, message.lc_kwargs ?? {}] as Record<string, unknown>[]) {
    for (const name of ["tool_calls", "invalid_tool_calls"]) {
      const property = Object.getOwnPropertyDescriptor(fields, name);
      const parsed = property?.get && property.set ? fields[name] : undefined;
      if (parsed !== undefined) fields[name] = parsed;
    }
  }
}

/** One walk through a value: objects are seen once, however many ways lead to them. */
class Inspection {
  readonly seen = new Set<object>();
  /** From the value down to the object at hand. */
  readonly #path: object[] = [];
  readonly #circles: boolean;
  readonly #isFreezing: boolean;

  constructor(
    readonly accepts: (object: object) => boolean,
    { circles = false, freezing = false }: { circles?: boolean; freezing?: boolean } = {},
  ) {
    this.#circles = circles;
    this.#isFreezing = freezing;
  }

  passes(value: unknown): boolean {
    if (typeof value === "function") return false;
    if (typeof value !== "object" || value === null || immutable.has(value)) return true;
    if (this.seen.has(value)) return this.#circles || !this.#path.includes(value);
    if (!hasOnlyOwnState(value) || !this.accepts(value)) return false;
    if (this.#isFreezing) parseToolCalls(value);
    this.seen.add(value);
    this.#path.push(value);
    for (const key of Reflect.ownKeys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, key);
      if (property === undefined || !("value" in property) || !this.passes(property.value))
        return false;
    }
    this.#path.pop();
    return true;
  }
}

/** Whether a freeze of the object leaves nothing about it that can change, but for what its properties lead to. */
function hasOnlyOwnState(object: object): boolean {
  if (types.isProxy(object)) return false;
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === Object.prototype) return true;
  if (prototype === Array.prototype) return Array.isArray(object);
  if (prototype === null) return !types.isModuleNamespaceObject(object);
  return messagePrototypes.has(prototype);
}

/**
 * Whether the item is an answer with calls of tools. While it is the newest item of its list the calls are open: a person
 * may yet refuse or change them, and LangChain's middleware for that writes the outcome into the message itself.
 */
export function hasOpenCalls(newest: unknown): newest is AIMessage {
  return AIMessage.isInstance(newest) && (newest.tool_calls?.length ?? 0) > 0;
}

/** A copy of the message that can be written to, with the contents of the original. */
export function reopen(message: AIMessage): AIMessage {
  const copy = Object.create(Object.getPrototypeOf(message) as object) as AIMessage;
  return Object.assign(copy, message, { lc_kwargs: { ...message.lc_kwargs } });
}

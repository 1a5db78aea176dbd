import { types } from "node:util";
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";

/**
 * Keys that a serializer reads as more than data: `lc` marks records of LangChain and LangGraph, `__lc_escaped__` data in
 * messages that looks like one, `lg_name` sends, and an assignment to `__proto__` sets a prototype. Each may have been
 * escaped before.
 */
const RESERVED = /^(?:plain:)*(?:lc|__lc_escaped__|lg_name|__proto__)$/;
const PREFIX = "plain:";

/** A key of plain data as it is stored. */
function escapeKey(key: string): string {
  // The last letter decides most keys.
  const last = key.charCodeAt(key.length - 1);
  if (last !== 99 && last !== 95 && last !== 101) return key;
  return RESERVED.test(key) ? PREFIX + key : key;
}

/** Undoes the escape of a stored key. */
export function unescapeKey(key: string): string {
  return key.startsWith(PREFIX) && RESERVED.test(key) ? key.slice(PREFIX.length) : key;
}

/**
 * A copy of the value whose plain objects look like no record of a serializer, in messages too: their reserved keys have
 * a prefix. Sets, maps, messages and other instances stay instances. A value with nothing to escape is returned itself.
 * `foreign` says whether it leads to a LangChain object other than a message.
 */
export function escapeData(value: unknown): { readonly data: unknown; readonly foreign: boolean } {
  const renaming = new Renaming(escapeKey, (instance) => instance.toJSON());
  const found = renaming.finds(value);
  return { data: found ? renaming.copy(value) : value, foreign: renaming.foreign };
}

/** Undoes {@link escapeData} in what a serializer has read. */
export function unescapeData(value: unknown): unknown {
  const renaming = new Renaming(unescapeKey, (instance) => instance);
  return renaming.finds(value) ? renaming.copy(value) : value;
}

interface Convertible {
  toJSON(): unknown;
}

interface Message extends Convertible {
  readonly lc_kwargs: object;
}

/** Renames keys of plain objects, however deep. Copies have the shape of the original, be it a circle. */
class Renaming {
  /** Whether a LangChain object other than a message was met. */
  foreign = false;
  readonly #seen = new Set<object>();
  readonly #copies = new Map<object, unknown>();

  constructor(
    private readonly rename: (key: string) => string,
    /** What stands for an object that converts itself; itself where it is left alone. */
    private readonly convert: (instance: Convertible) => unknown,
  ) {}

  /** Returns whether any key must be escaped. Visits everything. */
  finds(value: unknown): boolean {
    if (!isWalked(value) || this.#seen.has(value)) return false;
    this.#seen.add(value);
    if (Array.isArray(value)) {
      let found = false;
      for (const item of value) if (isObject(item) && this.finds(item)) found = true;
      return found;
    }
    const plain = isPlain(value);
    if (!plain) {
      if (value instanceof Map || value instanceof Set) return this.finds([...value]);
      if (isMessage(value)) return this.#findsIn(value);
      if (isSerializable(value)) {
        this.foreign = true;
        return false;
      }
    }
    if (isConvertible(value)) {
      const converted = this.convert(value);
      return converted !== value && isWalked(converted) && this.#findsIn(converted);
    }
    let found = this.#findsIn(value);
    for (const key of Object.keys(value)) if (this.#renamed(key, plain) !== key) found = true;
    return found;
  }

  copy(value: unknown): unknown {
    if (!isWalked(value)) return value;
    if (this.#copies.has(value)) return this.#copies.get(value);
    if (Array.isArray(value)) {
      const list = Array.from<unknown>({ length: value.length });
      this.#copies.set(value, list);
      for (const [at, item] of value.entries()) list[at] = this.copy(item);
      return list;
    }
    if (value instanceof Map || value instanceof Set) return this.#copyCollection(value);
    if (isMessage(value)) return this.#copyMessage(value);
    if (isSerializable(value)) return value;
    if (isConvertible(value)) {
      const converted = this.convert(value);
      if (converted === value || !isWalked(converted)) return value;
      if (Array.isArray(converted)) return this.copy(converted);
      // An instance says itself what record it becomes.
      const record = {};
      this.#copies.set(value, record);
      return this.#copyEntries(converted, record, (key) => key);
    }
    const plain = isPlain(value);
    const copy = plain ? {} : (Object.create(Object.getPrototypeOf(value) as object) as object);
    this.#copies.set(value, copy);
    return this.#copyEntries(value, copy, (key) => this.#renamed(key, plain));
  }

  /** LangGraph knows its own classes by `lg_name`. */
  #renamed(key: string, plain: boolean): string {
    return plain || key !== "lg_name" ? this.rename(key) : key;
  }

  /** In what the object's own keys lead to. */
  #findsIn(object: object): boolean {
    let found = false;
    for (const key of Object.keys(object)) {
      const inner = (object as Record<string, unknown>)[key];
      if (isObject(inner) && this.finds(inner)) found = true;
    }
    return found;
  }

  #copyEntries(from: object, to: object, nameOf: (key: string) => string): object {
    for (const [key, inner] of Object.entries(from)) define(to, nameOf(key), this.copy(inner));
    return to;
  }

  #copyCollection(value: Map<unknown, unknown> | Set<unknown>): object {
    const copy = value instanceof Map ? new Map<unknown, unknown>() : new Set<unknown>();
    this.#copies.set(value, copy);
    if (copy instanceof Map) {
      for (const [key, inner] of value as Map<unknown, unknown>) {
        copy.set(this.copy(key), this.copy(inner));
      }
    } else for (const inner of value as Set<unknown>) copy.add(this.copy(inner));
    // The name of a subclass is stored.
    return Object.setPrototypeOf(copy, Object.getPrototypeOf(value) as object) as object;
  }

  /** The names of a message's fields stay as they are. */
  #copyMessage(message: Message): object {
    const copy = Object.create(Object.getPrototypeOf(message) as object) as object;
    Object.assign(copy, message);
    this.#copies.set(message, copy);
    const { lc_kwargs: kwargs, ...fields } = message;
    this.#copyEntries(fields, copy, (key) => key);
    define(
      copy,
      "lc_kwargs",
      this.#copyEntries(kwargs, {}, (key) => key),
    );
    return copy;
  }
}

/** As a literal would: a key `__proto__` is a key like any other. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

/** Whether the serializer goes into the value. */
function isWalked(value: unknown): value is object {
  if (!isObject(value)) return false;
  if (isPlain(value) || Array.isArray(value)) return true;
  if (ArrayBuffer.isView(value)) return false;
  if (types.isNativeError(value)) return isConvertible(value);
  return !types.isRegExp(value) && !types.isBoxedPrimitive(value);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isConvertible(value: object): value is Convertible {
  return typeof (value as Partial<Convertible>).toJSON === "function";
}

function isSerializable(value: object): boolean {
  return "lc_serializable" in value && isConvertible(value);
}

/**
 * LangChain's own message classes by the name they are stored under. All that one of their instances knows is in its own
 * properties; those of a subclass are unknown.
 */
export const messageClasses = {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} as const;

const messagePrototypes = new Set<unknown>(
  Object.values(messageClasses).map((messageClass) => messageClass.prototype),
);

/** Whether it is stored as a message: also one of another copy of LangChain. */
function isMessage(value: object): value is Message {
  if (messagePrototypes.has(Object.getPrototypeOf(value))) return true;
  if (!isSerializable(value)) return false;
  const { lc_id: id, lc_kwargs: kwargs } = value as { lc_id?: unknown; lc_kwargs?: unknown };
  return isMessageId(id) && isObject(kwargs);
}

/** Whether a stored id names one of {@link messageClasses}. Python's have the module between. */
export function isMessageId(id: unknown): id is readonly unknown[] {
  if (!Array.isArray(id) || id.length < 3) return false;
  const [root, namespace] = id as unknown[];
  const name: unknown = id.at(-1);
  return (
    root === "langchain_core" &&
    namespace === "messages" &&
    typeof name === "string" &&
    Object.hasOwn(messageClasses, name)
  );
}

/** Stands for a value that is not plain. */
const OTHER = Symbol("other");
/** LangGraph's record of `undefined`. */
const UNDEFINED = Object.freeze({ lc: 2, type: "undefined" });
/** Deeper values, which may be circles, are left to the serializer. */
const MAX_DEPTH = 100;

/**
 * Returns the JSON that LangGraph's serializer makes of plain data and messages, several times faster: that calls a
 * function for each value within. Null for a value with anything else in it, such as a map.
 *
 * @param value after its keys were escaped
 */
export function stringifyPlain(value: unknown): string | null {
  const plain = toPlain(value, 0);
  return plain === OTHER ? null : JSON.stringify(plain);
}

/** Returns the value with records for the messages in it, and itself where there are none. */
function toPlain(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "undefined":
      return UNDEFINED;
    case "object":
      break;
    default:
      return OTHER;
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) return OTHER;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) return listToPlain(value as unknown[], depth + 1);
  if (prototype === Object.prototype || prototype === null) {
    return recordToPlain(value as Record<string, unknown>, depth + 1);
  }
  return isMessage(value) ? toPlain(value.toJSON(), depth + 1) : OTHER;
}

function listToPlain(list: unknown[], depth: number): unknown {
  if ("toJSON" in list) return OTHER;
  let copy: unknown[] | undefined;
  for (let at = 0; at < list.length; at += 1) {
    const plain = toPlain(list[at], depth);
    if (plain === OTHER) return OTHER;
    if (plain !== list[at]) (copy ??= list.slice())[at] = plain;
  }
  return copy ?? list;
}

function recordToPlain(record: Record<string, unknown>, depth: number): unknown {
  if ("toJSON" in record || "lg_name" in record) return OTHER;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(record)) {
    const value = record[key];
    const plain = toPlain(value, depth);
    if (plain === OTHER || key === "__proto__") return OTHER;
    if (plain !== value) (copy ??= { ...record })[key] = plain;
  }
  return copy ?? record;
}

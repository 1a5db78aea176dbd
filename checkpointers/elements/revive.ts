import {
  DeltaSnapshot,
  MemorySaver,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { messageClasses } from "./message-classes.ts";

/** Reads one stored value: what `serde.loadsTyped` reads, at once where that needs no waiting. */
export type Reviver = (type: string, bytes: Uint8Array | string) => unknown;

/** LangGraph's serializer, which its package does not export by name. */
const stockPrototype: unknown = Object.getPrototypeOf(new MemorySaver().serde);

/**
 * A reader of stored values that gives exactly what `serde.loadsTyped(type, bytes)` gives: a promise of it, or the value
 * itself. LangGraph's own serializer is replaced by a faster reading of the same format for plain data and LangChain's
 * messages; whatever else turns up, and every other serializer, is asked.
 */
export function createReviver(serde: SerializerProtocol): Reviver {
  if (!isStock(serde)) return (type, bytes) => serde.loadsTyped(type, bytes);
  const decoder = new TextDecoder();
  return (type, bytes) => {
    if (type === "bytes" && typeof bytes !== "string") return bytes;
    if (type !== "json") return serde.loadsTyped(type, bytes);
    const text = typeof bytes === "string" ? bytes : decoder.decode(bytes);
    const value: unknown = JSON.parse(text);
    if (isPlain(text)) return value;
    const revived = revive(value);
    return revived === UNKNOWN ? serde.loadsTyped(type, bytes) : revived;
  };
}

/** Of the stock class itself, with nothing overridden on the instance. */
function isStock(serde: SerializerProtocol): boolean {
  return Object.getPrototypeOf(serde) === stockPrototype && Object.keys(serde).length === 0;
}

/** Whether the JSON text says of itself that no object in it is anything but a plain one. Keys may be written with escapes. */
function isPlain(text: string): boolean {
  return !text.includes('"lc"') && !text.includes('"__proto__"') && !text.includes("\\u00");
}

/** Stands for a value that only the serializer itself knows how to read. */
const UNKNOWN = Symbol("unknown");

type Json = Record<string, unknown>;

/** Revives parsed JSON in place, or returns UNKNOWN. */
function revive(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) {
      const revived = revive(value[i]);
      if (revived === UNKNOWN) return UNKNOWN;
      value[i] = revived;
    }
    return value;
  }
  const record = value as Json;
  if (record["lc"] === 1 && record["type"] === "constructor" && Array.isArray(record["id"]))
    return reviveMessage(record);
  for (const key of Object.keys(record)) {
    if (key === "__proto__") return UNKNOWN;
    const inner = record[key];
    if (typeof inner !== "object" || inner === null) continue;
    const revived = revive(inner);
    if (revived === UNKNOWN) return UNKNOWN;
    record[key] = revived;
  }
  return record["lc"] === 2 ? reviveRecord(record) : record;
}

/** A record of LangGraph's own, its contents already revived. Records that do not read as one stay as they are. */
function reviveRecord(record: Json): unknown {
  if (record["type"] === "undefined") return undefined;
  if (record["type"] === "delta_snapshot" && Object.hasOwn(record, "value"))
    return new DeltaSnapshot(record["value"]);
  if (record["type"] !== "constructor") return record;
  const { id, method, args } = record;
  if (!Array.isArray(id) || id.length !== 1 || !Array.isArray(args)) return record;
  if (method != null && !(id[0] === "Uint8Array" && method === "from")) return record;
  switch (id[0]) {
    case "Set":
      return isOneList(args) ? new Set(args[0]) : record;
    case "Map":
      return isOneList(args) && args[0].every(isEntry) ? new Map(args[0]) : record;
    case "Uint8Array":
      return isOneList(args) && args[0].every(isByte) ? new Uint8Array(args[0]) : record;
    case "Error":
      return args.length === 1 && typeof args[0] === "string" ? new Error(args[0]) : record;
    case "RegExp":
      return args.length === 2 ? (reviveRegExp(args[0], args[1]) ?? record) : record;
    default:
      return record;
  }
}

function isOneList(args: unknown[]): args is [unknown[]] {
  return args.length === 1 && Array.isArray(args[0]);
}

function isEntry(value: unknown): value is [unknown, unknown] {
  return Array.isArray(value) && value.length === 2;
}

function isByte(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;
}

function reviveRegExp(source: unknown, flags: unknown): RegExp | undefined {
  if (typeof source !== "string" || typeof flags !== "string") return undefined;
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}

type MessageClass = (new (fields: Json) => object) & { readonly prototype: object };

/** LangChain's classes by name, with what its own loader makes of the names of their arguments. */
const loaders = new Map<
  unknown,
  { messageClass: MessageClass; aliases: ReadonlyMap<string, string> }
>(
  Object.entries(messageClasses).map(([name, messageClass]) => [
    name,
    {
      messageClass: messageClass as unknown as MessageClass,
      aliases: aliasesOf(messageClass as unknown as MessageClass),
    },
  ]),
);

/** Arguments whose stored name is not simply their name in snake case, by that stored name. */
function aliasesOf(messageClass: MessageClass): Map<string, string> {
  const stored: Record<string, string> = {};
  for (
    let prototype: object | null = messageClass.prototype;
    prototype !== null;
    prototype = Object.getPrototypeOf(prototype) as object | null
  )
    Object.assign(stored, Reflect.get(prototype, "lc_aliases"));
  return new Map(Object.entries(stored).map(([argument, alias]) => [alias, argument]));
}

/** How deep LangChain's loader goes before it refuses. */
const MAX_DEPTH = 50;

/** Makes the message that LangChain's loader would make of the record, which it reads as JSON once more. */
function reviveMessage(record: Json): unknown {
  const { kwargs } = record;
  const [root, namespace, name, ...rest] = record["id"] as unknown[];
  const loader = loaders.get(name);
  if (loader === undefined || root !== "langchain_core" || namespace !== "messages") return UNKNOWN;
  if (rest.length > 0 || Object.keys(record).length !== 4 || !isObject(kwargs)) return UNKNOWN;
  const fields: Json = {};
  for (const key of Object.keys(kwargs)) {
    const argument = loader.aliases.get(key) ?? argumentName(key);
    if (argument === undefined) return UNKNOWN;
    const value = plainData(kwargs[key], 2);
    if (value === UNKNOWN) return UNKNOWN;
    if (value !== undefined) fields[argument] = value;
  }
  return new loader.messageClass(fields);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name in camel case, for names of which it is sure. */
function argumentName(key: string): string | undefined {
  if (/^[a-z0-9]+$/i.test(key)) return key === "lc" || key in Object.prototype ? undefined : key;
  if (!/^[a-z0-9]+(?:_[a-z0-9]+)+$/.test(key)) return undefined;
  return key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * What is left of parsed JSON in a message: as it is, but for `undefined`, which is left out of objects and null in lists.
 * UNKNOWN where records of other kinds are inside, or data that was stored in quotes because it looks like a record.
 */
function plainData(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return UNKNOWN;
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) {
      const plain = plainData(value[i], depth + 1);
      if (plain === UNKNOWN) return UNKNOWN;
      value[i] = plain ?? null;
    }
    return value;
  }
  const record = value as Json;
  const keys = Object.keys(record);
  if (record["lc"] !== undefined)
    return keys.length === 2 && record["lc"] === 2 && record["type"] === "undefined"
      ? undefined
      : UNKNOWN;
  for (const key of keys) {
    if (key === "__proto__" || key === "__lc_escaped__") return UNKNOWN;
    const inner = record[key];
    if (typeof inner === "string") {
      if (depth === MAX_DEPTH) return UNKNOWN;
      continue;
    }
    const plain = plainData(inner, depth + 1);
    if (plain === UNKNOWN) return UNKNOWN;
    if (plain === undefined) delete record[key];
    else if (!Object.is(plain, inner)) record[key] = plain;
  }
  return record;
}

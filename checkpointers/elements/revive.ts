import {
  DeltaSnapshot,
  MemorySaver,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import {
  escapeData,
  isMessageId,
  messageClasses,
  stringifyPlain,
  unescapeData,
  unescapeKey,
} from "./escape.ts";

/** Reads one stored value: at once where that needs no waiting. */
export type Reviver = (type: string, bytes: Uint8Array | string) => unknown;

/** LangGraph's serializer, which its package does not export by name. */
const stockPrototype: unknown = Object.getPrototypeOf(new MemorySaver().serde);

/** The type of JSON that LangChain's loader is to read: only what was put as one of its objects is stored so. */
const FOREIGN_JSON = "langchain";

/** A serializer under which plain data stays plain data; see {@link keepData}. */
export interface DataSerializer extends SerializerProtocol {
  readonly revive: Reviver;
  /** Whether bytes are as LangGraph's serializer makes them. */
  readonly isStock: boolean;
}

/**
 * A serializer that stores as `serde` does, LangGraph's by default, and reads plain objects as what they were put as,
 * whatever record they look like. Messages, sets, maps and the like are revived as `serde` revives them.
 *
 * LangGraph's own is replaced by a faster reading of the same format. What looks like another LangChain object in values
 * that were stored before there were escapes, a secret or a model, is read as data: no constructor but those of messages
 * runs, and no secret is looked up.
 */
export function keepData(serde: SerializerProtocol = new MemorySaver().serde): DataSerializer {
  if (keepers.has(serde)) return serde as DataSerializer;
  const isStockSerde = isStock(serde);
  const reviver = isStockSerde ? reviverOf(serde) : asking(serde);
  const keeper: DataSerializer = {
    revive: reviver,
    isStock: isStockSerde,
    async dumpsTyped(value) {
      // Nothing is awaited before the value is bytes: it may change meanwhile.
      const { data, foreign } = escapeData(value);
      const text = isStockSerde && !foreign ? stringifyPlain(data) : null;
      if (text !== null) return ["json", Buffer.from(text)];
      const [type, bytes] = await serde.dumpsTyped(data);
      return [foreign && isStockSerde && type === "json" ? FOREIGN_JSON : type, bytes];
    },
    loadsTyped: async (type, bytes) => (await reviver(type, bytes)) as never,
  };
  keepers.add(keeper);
  return keeper;
}

/** What {@link keepData} made. */
const keepers = new WeakSet<object>();

function asking(serde: SerializerProtocol): Reviver {
  return async (type, bytes) => unescapeData(await serde.loadsTyped(type, bytes));
}

function reviverOf(stock: SerializerProtocol): Reviver {
  const decoder = new TextDecoder();
  const ask = asking(stock);
  return (type, bytes) => {
    if (type === "bytes" && typeof bytes !== "string") return bytes;
    if (type === FOREIGN_JSON) return ask("json", bytes);
    if (type !== "json") return stock.loadsTyped(type, bytes);
    const text = typeof bytes === "string" ? bytes : decoder.decode(bytes);
    const value: unknown = JSON.parse(text);
    return isPlain(text) ? value : revive(value);
  };
}

/** Of the stock class itself, with nothing overridden on the instance. */
function isStock(serde: SerializerProtocol): boolean {
  return Object.getPrototypeOf(serde) === stockPrototype && Object.keys(serde).length === 0;
}

/** Whether the JSON text says of itself that it has no records and no escapes. Keys may be written with escapes. */
function isPlain(text: string): boolean {
  return !text.includes('"lc"') && !text.includes('"plain:') && !text.includes("\\u00");
}

type Json = Record<string, unknown>;

/** Revives parsed JSON, in place where nothing was escaped. */
function revive(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) value[i] = revive(value[i]);
    return value;
  }
  const record = value as Json;
  if (record["lc"] === 1 && LANGCHAIN_TYPES.has(record["type"])) {
    return reviveMessage(record) ?? readData(record);
  }
  const revived = eachValue(record, revive);
  return record["lc"] === 2 ? reviveRecord(revived) : revived;
}

/** What LangChain's loader would look up, refuse or construct. */
const LANGCHAIN_TYPES: ReadonlySet<unknown> = new Set(["constructor", "not_implemented", "secret"]);

/** Replaces the values of a record, and takes the escapes from its keys. */
function eachValue(record: Json, read: (value: unknown) => unknown): Json {
  let escaped = false;
  for (const key of Object.keys(record)) {
    const inner = record[key];
    if (typeof inner === "object" && inner !== null) setOwn(record, key, read(inner));
    escaped ||= unescapeKey(key) !== key;
  }
  if (!escaped) return record;
  return Object.fromEntries(Object.entries(record).map(([key, of]) => [unescapeKey(key), of]));
}

/** Also where the key is `__proto__`. */
function setOwn(record: Json, key: string, value: unknown): void {
  if (key !== "__proto__") record[key] = value;
  else
    Object.defineProperty(record, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
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

/**
 * Makes the message that LangChain's loader would make of the record, which it reads as JSON once more.
 * @returns undefined where the record is not one of a message
 */
function reviveMessage(record: Json): unknown {
  const { lc, type, id, kwargs } = record;
  if (lc !== 1 || type !== "constructor" || !isMessageId(id) || !isObject(kwargs)) return undefined;
  const { messageClass, aliases } = loaders.get(id.at(-1))!;
  const fields: Json = {};
  for (const key of Object.keys(kwargs)) {
    const value = readField(kwargs[key]);
    if (value !== undefined) setOwn(fields, aliases.get(key) ?? argumentName(key), value);
  }
  try {
    return new messageClass(fields);
  } catch {
    return undefined; // No message was ever made of these fields: it is data that looks like one.
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name in camel case. Other names than those of messages' own fields stay as they were stored. */
function argumentName(key: string): string {
  if (!/^[a-z0-9]+(?:_[a-z0-9]+)+$/.test(key)) return key;
  return key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * What a message has in a field: data and other messages. `undefined` is left out of objects and null in lists. Data that
 * looks like a record was wrapped by LangChain before there were escapes.
 */
function readField(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) value[i] = readField(value[i]) ?? null;
    return value;
  }
  const record = value as Json;
  if (isUndefined(record)) return undefined;
  if (record["lc"] !== undefined) return reviveMessage(record) ?? readData(record);
  const keys = Object.keys(record);
  if (keys.length === 1 && keys[0] === "__lc_escaped__") return readData(record[keys[0]]);
  const read = eachValue(record, readField);
  for (const key of Object.keys(read)) if (read[key] === undefined) delete read[key];
  return read;
}

/** Takes the escapes from keys, and revives nothing. */
function readData(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return eachValue(value as Json, readData);
  for (let i = 0; i < value.length; i += 1) value[i] = readData(value[i]);
  return value;
}

function isUndefined(record: Json): boolean {
  return record["lc"] === 2 && record["type"] === "undefined" && Object.keys(record).length === 2;
}

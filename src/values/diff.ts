import { jsonHead } from "./bounded-json.ts";
import { isRecord } from "./json.ts";
import { headOf } from "./text.ts";

/** One difference between two values. */
export interface ValueChange {
  /** Where: `notes[3].title`; empty for the value itself. */
  readonly path: string;
  readonly kind: "added" | "removed" | "changed";
  /** A short form of the value for people; null where there was none. */
  readonly before: string | null;
  readonly after: string | null;
  /** The whole difference in words: `notes: +2 elements at 5: "a", "b"`. */
  readonly text: string;
}

export interface ValueDiff {
  /** In the order of the values; the first of them up to the limit. */
  readonly changes: readonly ValueChange[];
  /** Further differences that are left out. */
  readonly omitted: number;
}

/** Levels that are looked into; what differs deeper is said of what holds it. */
const maxDepth = 12;
/** Characters of a path, and elements of a list that are named. */
const maxPath = 160;
const maxNamed = 3;

/**
 * How `after` differs from `before`, in words that people read. Plain data is compared by its JSON; messages, dates, maps
 * and sets by what they hold. Equal values have no difference. Elements that both lists begin and end with are passed
 * over, so an insertion is one change; lists of things with names of their own are compared by name.
 */
export function diffValues(
  before: unknown,
  after: unknown,
  { limit = 50 }: { limit?: number } = {},
): ValueDiff {
  const all: ValueChange[] = [];
  let omitted = 0;
  const add: Add = (describe) => {
    if (all.length < limit) all.push(describe());
    else omitted += 1;
  };
  compare({ path: "", before: given(before), after: given(after), depth: 0 }, add);
  return { changes: all, omitted };
}

/** Whether two values are the same data. */
export function sameValue(before: unknown, after: unknown): boolean {
  if (before === after || (Number.isNaN(before) && Number.isNaN(after))) return true;
  const [a, b] = [plain(before), plain(after)];
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((element, index) => sameValue(element, b[index]))
    );
  }
  if (!isRecord(a) || !isRecord(b)) return a === b;
  return [...keysOf(a, b)].every((key) => sameValue(own(a, key), own(b, key)));
}

interface Pair {
  readonly path: string;
  readonly before: Given;
  readonly after: Given;
  readonly depth: number;
}

/** A value, or null where there is none. */
type Given = { readonly value: unknown } | null;
/** Takes a change, which is described only if it is one of the first. */
type Add = (describe: () => ValueChange) => void;

function given(value: unknown): Given {
  return value === undefined ? null : { value };
}

function compare({ path, before, after, depth }: Pair, add: Add): void {
  if (before === null || after === null) {
    if (before !== after) add(() => changeOf(path, before, after));
    return;
  }
  if (sameValue(before.value, after.value)) return;
  const [a, b] = [plain(before.value), plain(after.value)];
  if (depth >= maxDepth) add(() => changeOf(path, before, after));
  else if (Array.isArray(a) && Array.isArray(b)) compareLists(path, { a, b, depth }, add);
  else if (isRecord(a) && isRecord(b)) compareRecords(path, { a, b, depth }, add);
  else add(() => changeOf(path, before, after));
}

type Records = Readonly<Record<string, unknown>>;

function compareRecords(path: string, of: { a: Records; b: Records; depth: number }, add: Add) {
  const { a, b, depth } = of;
  for (const key of keysOf(a, b)) {
    const inner = { before: given(own(a, key)), after: given(own(b, key)) };
    compare({ path: pathTo(path, key), ...inner, depth: depth + 1 }, add);
  }
}

/** Not what every object has, as `toString`. */
function own(record: Records, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function keysOf(a: Records, b: Records): Set<string> {
  return new Set([...Object.keys(a), ...Object.keys(b)]);
}

type Lists = {
  readonly a: readonly unknown[];
  readonly b: readonly unknown[];
  readonly depth: number;
};

function compareLists(path: string, lists: Lists, add: Add): void {
  const { a, b, depth } = lists;
  const [namesOfA, namesOfB] = [namesIn(a), namesIn(b)];
  if (namesOfA !== null && namesOfB !== null && !inOtherOrder(namesOfA, namesOfB)) {
    for (const name of new Set([...namesOfA.keys(), ...namesOfB.keys()])) {
      const inner = { before: given(namesOfA.get(name)), after: given(namesOfB.get(name)) };
      compare({ path: `${path}[${name}]`, ...inner, depth: depth + 1 }, add);
    }
    return;
  }
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && sameValue(a[start], b[start])) start += 1;
  let end = 0;
  while (end < shorter - start && sameValue(a[a.length - 1 - end], b[b.length - 1 - end])) end += 1;
  const [wasThere, isThere] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const both = Math.min(wasThere.length, isThere.length);
  for (let index = 0; index < both; index += 1) {
    const inner = { before: { value: wasThere[index] }, after: { value: isThere[index] } };
    compare({ path: `${path}[${start + index}]`, ...inner, depth: depth + 1 }, add);
  }
  const at = start + both;
  if (isThere.length > both) add(() => elementsChange(path, { at, added: isThere.slice(both) }));
  if (wasThere.length > both)
    add(() => elementsChange(path, { at, removed: wasThere.slice(both) }));
}

/** Elements by their names; null unless each has one of its own. */
function namesIn(list: readonly unknown[]): ReadonlyMap<string, unknown> | null {
  const names = new Map<string, unknown>();
  for (const element of list) {
    const name = isRecord(element) ? element["name"] : undefined;
    if (typeof name !== "string" || name === "" || names.has(name)) return null;
    names.set(name, element);
  }
  return names;
}

function inOtherOrder(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  const inBoth = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>) =>
    [...one.keys()].filter((name) => other.has(name));
  const order = inBoth(b, a);
  return inBoth(a, b).some((name, index) => name !== order[index]);
}

function elementsChange(
  path: string,
  of: { at: number; added: readonly unknown[] } | { at: number; removed: readonly unknown[] },
): ValueChange {
  const isAdded = "added" in of;
  const elements = isAdded ? of.added : of.removed;
  const named = elements.slice(0, maxNamed).map(describeValue).join(", ");
  const words = elements.length > maxNamed ? `${named}, …` : named;
  const count = elements.length === 1 ? "1 element" : `${elements.length} elements`;
  const what = `${isAdded ? "+" : "−"}${count} at ${of.at}: ${words}`;
  return {
    path: `${path}[${of.at}]`,
    kind: isAdded ? "added" : "removed",
    before: isAdded ? null : words,
    after: isAdded ? words : null,
    text: path === "" ? what : `${path}: ${what}`,
  };
}

function changeOf(path: string, before: Given, after: Given): ValueChange {
  const was = before === null ? null : describeValue(before.value);
  const is = after === null ? null : describeValue(after.value);
  const kind = before === null ? "added" : after === null ? "removed" : "changed";
  const what =
    before === null ? `added ${is}` : after === null ? `removed ${was}` : `${was} → ${is}`;
  return { path, kind, before: was, after: is, text: path === "" ? what : `${path}: ${what}` };
}

function pathTo(path: string, key: string): string {
  const step = /^[\w$-]{1,64}$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 64))}]`;
  const whole = path === "" ? step.replace(/^\./, "") : path + step;
  return whole.length <= maxPath ? whole : `…${whole.slice(1 - maxPath)}`;
}

/** Characters of a value's short form. */
export const maxWords = 80;

/** A value in a few words for people: a message by who says what, a step by what it did, anything else as JSON. */
export function describeValue(value: unknown): string {
  return cut(messageWords(value) ?? stepWords(value) ?? plainWords(value));
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= maxWords ? line : `${headOf(line, maxWords - 1)}…`;
}

function plainWords(value: unknown): string {
  if (value === undefined) return "nothing";
  return jsonHead(plain(value), maxWords + 1).text;
}

/** A message of LangChain, or what {@link plain} makes of it. */
function messageWords(value: unknown): string | null {
  const message = plain(value);
  if (!isRecord(message) || !("content" in message) || typeof message["type"] !== "string") {
    return null;
  }
  const { type, content, tool_calls: calls } = message;
  const said = typeof content === "string" ? content : jsonHead(content, maxWords).text;
  const names = (Array.isArray(calls) ? calls : []).map((call: unknown) =>
    isRecord(call) ? String(call["name"]) : "?",
  );
  const asks = names.length === 0 ? "" : ` calls ${names.join(", ")}`;
  return `${type}:${said === "" ? "" : ` ${JSON.stringify(headOf(said, maxWords))}`}${asks}`;
}

function stepWords(value: unknown): string | null {
  if (!isRecord(value) || typeof value["step_index"] !== "number") return null;
  const { step_index, turn_number, next_action, tool_predictions, thought } = value;
  const calls = (Array.isArray(tool_predictions) ? tool_predictions : []).map((call: unknown) =>
    isRecord(call) ? String(call["name"]) : "?",
  );
  const did =
    calls.length > 0
      ? `calls ${calls.join(", ")}`
      : typeof next_action === "string"
        ? next_action
        : "";
  const thinks = typeof thought === "string" && thought !== "" ? `: ${headOf(thought, 40)}` : "";
  return `step ${step_index} of turn ${String(turn_number)} ${did}${thinks}`;
}

/**
 * A value as plain data, one level deep: a message as its fields, a date as its text, sets and maps as lists. What is
 * plain already is given back as it is.
 */
export function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return value;
  const { toDict, toJSON } = value as { toDict?: unknown; toJSON?: unknown };
  if (typeof toDict === "function") {
    const dict = toDict.call(value) as { type: string; data: Record<string, unknown> };
    return { type: dict.type, ...dict.data };
  }
  if (value instanceof Map || value instanceof Set) return [...value];
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  return typeof toJSON === "function" ? (toJSON.call(value, "") as unknown) : { ...value };
}

/** A value of a channel as JSON that people can read: messages as their fields, maps and sets as lists. */
export function plainJson(
  value: unknown,
  indent = 2,
  /** What is shown of values with these keys. */
  shown: Readonly<Record<string, (value: unknown) => unknown>> = {},
): string {
  // By the key, since what comes as the value has gone through its own `toJSON` already.
  const replace = function (this: unknown, key: string): unknown {
    const stored = (this as Record<string, unknown>)[key];
    const inner = plain(Object.hasOwn(shown, key) ? shown[key]!(stored) : stored);
    return typeof inner === "bigint" ? String(inner) : inner;
  };
  return JSON.stringify(value, replace, indent) ?? "null";
}

/** The same as data, for a document of JSON. */
export function plainData(value: unknown): unknown {
  return JSON.parse(plainJson(value, 0)) as unknown;
}

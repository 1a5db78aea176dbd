import type { TreeInterpreter } from "@jmespath-community/jmespath";
import { jsonSyntaxProblem } from "../../../definition/load/read-document.ts";
import { ToolFailure } from "../../tool-result.ts";

type Interpreter = typeof TreeInterpreter;
type Key = string | number;

/** Functions that cost nothing in proportion to what they are given. */
const free: readonly string[] = ["type", "not_null", "to_array"];

/** Functions that look for their second argument in the first. */
const finders: readonly string[] = ["contains", "find_first", "find_last", "split", "replace"];

/** Maximum cost of a function call, without the queries in its arguments. */
export function costOfCall(name: string, args: readonly unknown[]): number {
  if (free.includes(name)) return 0;
  const [first, second] = args;
  if (name === "length" && typeof first !== "string") return 0;
  let cost = 0;
  for (const arg of args) cost += widthOf(arg);
  if (name.startsWith("pad_") && typeof second === "number") cost += Math.abs(second);
  if (name === "join" && typeof first === "string" && Array.isArray(second)) {
    cost += first.length * second.length;
  }
  if (finders.includes(name) && typeof first === "string" && typeof second === "string") {
    cost += (first.length * second.length) / 64;
  }
  return cost;
}

/** Characters of a text, items of a list with the characters of those that are texts. */
function widthOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  if (!Array.isArray(value)) return Object.keys(value).length;
  let width = value.length;
  for (const item of value as unknown[]) if (typeof item === "string") width += item.length;
  return width;
}

/**
 * Puts functions in the place of the library's: its `sort` compares numbers as texts, its `sort_by` asks for the key
 * with every comparison, `max` and `min` cannot take long lists, `trim` needs the square of the text's length,
 * `replace` reads `$&` in the new text, `ends_with` is true of what stands before the end, and `group_by` and `merge` take
 * keys such as `__proto__` and `constructor` for what objects inherit.
 */
export function replaceFunctions(interpreter: Interpreter, meter: WorkMeter): void {
  // A table of this interpreter alone.
  const table = Reflect.get(interpreter.runtime, "_functionTable") as Record<string, object>;
  const replace = (name: string, act: (args: never) => unknown) => {
    const known = table[name];
    if (known !== undefined) Reflect.set(known, "_func", act);
  };
  replace("sort", ([list]: [Key[]]) => sorted(list, (item) => item, meter));
  replace("sort_by", ([list, expression]: [Key[], never]) => {
    const keyOf = interpreter.runtime.createKeyFunction(expression, [
      keyTypes.number,
      keyTypes.text,
    ]);
    return sorted(list, (item) => keyOf(item) as Key, meter);
  });
  replace("group_by", ([list, expression]: [unknown[], never]) => {
    const keyOf = interpreter.runtime.createKeyFunction(expression, [keyTypes.text]);
    const groups = new Map<Key, unknown[]>();
    for (const item of list) {
      const key = keyOf((item ?? {}) as never) as Key;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [item]);
      else group.push(item);
    }
    return Object.fromEntries(groups);
  });
  replace("merge", (objects: object[]) => Object.fromEntries(objects.flatMap(Object.entries)));
  replace("max", ([list]: [Key[]]) => extreme(list, (a, b) => compare(a, b) > 0));
  replace("min", ([list]: [Key[]]) => extreme(list, (a, b) => compare(a, b) < 0));
  replace("ends_with", ([text, end]: [string, string]) => text.endsWith(end));
  replace("replace", ([text, old, by, count]: [string, string, string, number?]) =>
    replaced({ text, old, by, count: count ?? Infinity, meter }),
  );
  replace("trim", ([text, set]: [string, string?]) =>
    trimmed(text, set, { start: true, end: true }),
  );
  replace("trim_left", ([text, set]: [string, string?]) => trimmed(text, set, { start: true }));
  replace("trim_right", ([text, set]: [string, string?]) => trimmed(text, set, { end: true }));
}

/** The library's numbers for types of arguments. */
const keyTypes = { number: 0, text: 2 } as const;

function sorted(items: readonly Key[], keyOf: (item: Key) => Key, meter: WorkMeter): Key[] {
  const keyed = items.map((item) => ({ item, key: keyOf(item) }));
  const type = typeof keyed[0]?.key;
  if (keyed.some(({ key }) => typeof key !== type)) {
    throw new TypeError("Invalid type: the keys to sort by are partly numbers and partly strings");
  }
  const rounds = Math.ceil(Math.log2(items.length + 1));
  for (const { key } of keyed) {
    meter.charge(rounds * (typeof key === "string" ? 1 + key.length / 8 : 1));
  }
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ item }) => item);
}

/** Texts in the order of their code points, as JMESPath has it. */
function compare(a: Key, b: Key): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [String(a), String(b)];
  if (left === right) return 0;
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const [one, other] = [left.charCodeAt(at), right.charCodeAt(at)];
    if (one === other) continue;
    // Halves of surrogate pairs stand for code points above all that are one unit.
    if (isSurrogate(one) !== isSurrogate(other)) return isSurrogate(one) ? 1 : -1;
    return one - other;
  }
  return left.length - right.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function extreme(list: readonly Key[], isBetter: (a: Key, b: Key) => boolean): Key | null {
  let best = list[0];
  if (best === undefined) return null;
  for (const item of list) if (isBetter(item, best)) best = item;
  return best;
}

interface Replacement {
  readonly text: string;
  readonly old: string;
  readonly by: string;
  readonly count: number;
  readonly meter: WorkMeter;
}

function replaced({ text, old, by, count, meter }: Replacement): string {
  if (!(count >= 0)) throw new TypeError("Invalid value: expected a count of 0 or more");
  if (old === "") return text;
  const parts: string[] = [];
  let from = 0;
  while (parts.length < count) {
    const at = text.indexOf(old, from);
    if (at < 0) break;
    meter.charge(1 + by.length);
    parts.push(text.slice(from, at));
    from = at + old.length;
  }
  return [...parts, text.slice(from)].join(by);
}

interface Ends {
  readonly start?: boolean;
  readonly end?: boolean;
}

function trimmed(text: string, set: string | undefined, { start = false, end = false }: Ends) {
  const isTrimmed =
    set === undefined || set === ""
      ? (unit: string) => /[\s\u0085]/.test(unit)
      : (unit: string) => set.includes(unit);
  let [from, to] = [0, text.length];
  if (start) while (from < to && isTrimmed(text.charAt(from))) from += 1;
  if (end) while (to > from && isTrimmed(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

/** Levels of nesting of data and results. */
const maxDepth = 200;

/** Counts what a query does, since JavaScript cannot interrupt it: a value visited, a character copied or compared. */
export class WorkMeter {
  #left: number;

  constructor(budget: number) {
    this.#left = budget;
  }

  /** @throws ToolFailure when there is more to do than was allowed */
  charge(units: number): void {
    this.#left -= units;
    // Written so that NaN is refused too.
    if (this.#left >= 0) return;
    throw new ToolFailure(
      "The query asks for too much work. Select less data before it is sorted, compared, or combined with itself.",
    );
  }
}

/**
 * Values in a tree and characters of its texts and keys, parts that it shares counted each time. Stops at `limit`, so
 * that it may be asked of values whose parts contain one another many times over.
 * @throws ToolFailure when it is nested too deeply
 */
export function sizeOf(value: unknown, limit: number): number {
  let size = 0;
  const add = (part: unknown, depth: number): void => {
    size += 1;
    if (typeof part === "string") size += part.length;
    if (size > limit || typeof part !== "object" || part === null) return;
    if (depth > maxDepth) {
      throw new ToolFailure(`The data is nested more than ${maxDepth} levels deep.`);
    }
    if (Array.isArray(part)) {
      for (const item of part) {
        if (size > limit) return;
        add(item, depth + 1);
      }
      return;
    }
    for (const [key, item] of Object.entries(part)) {
      if (size > limit) return;
      size += key.length;
      add(item, depth + 1);
    }
  };
  add(value, 1);
  return size;
}

/** Equality of JSON values, which is charged for what it compares. */
export function sameJson(a: unknown, b: unknown, meter: WorkMeter): boolean {
  meter.charge(1);
  if (typeof a === "string" && typeof b === "string") {
    if (a.length === b.length) meter.charge(a.length / 16);
    return a === b;
  }
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => sameJson(item, b[at], meter));
  }
  const [keysOfA, keysOfB] = [Object.keys(a), Object.keys(b)];
  meter.charge(keysOfA.length + keysOfB.length);
  if (keysOfA.length !== keysOfB.length) return false;
  return keysOfA.every(
    (key) => Object.hasOwn(b, key) && sameJson(Reflect.get(a, key), Reflect.get(b, key), meter),
  );
}

/** UTF-8 bytes of a file, characters of a text, values and characters of data that is given as it is. */
export const maxDataSize = 5 * 1024 * 1024;

/**
 * @param what the text is called in the failure
 * @throws ToolFailure that says where the text is no JSON
 */
export function parsedJson(text: string, what: string): unknown {
  if (text.length > maxDataSize) throw tooLarge();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const problem = jsonSyntaxProblem(text);
    const where = problem === undefined ? "" : ` at line ${problem.line}, column ${problem.column}`;
    throw new ToolFailure(
      `${what} is no JSON: ${problem?.message ?? "it cannot be read"}${where}.`,
    );
  }
}

/** @throws ToolFailure for data that is too large or nested too deeply to be queried */
export function checkDataSize(data: unknown): void {
  if (sizeOf(data, maxDataSize) > maxDataSize) throw tooLarge();
}

function tooLarge(): ToolFailure {
  return new ToolFailure(
    `The data is too large; up to ${maxDataSize.toLocaleString("en")} bytes are queried.`,
  );
}

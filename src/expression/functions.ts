import type { CelFunc, CelList, CelValue } from "@bufbuild/cel";
import { cel, celExtensions, once } from "./cel.ts";
import { LimitReached, limits, chargeBudget } from "./problem.ts";
import { GrownList } from "./values.ts";

/** Wraps the range of a comprehension: see `meterComprehensions`. */
export const itemsFunction = "@items";

/** Thrown when a function rejects its arguments. The message is a sentence without its full stop. */
export class Refusal extends Error {}

/** The library's string functions that are replaced here, or whose results cannot be limited. */
const leftOut = new Set(["format", "strings.quote", "replace", "split", "join"]);

/** Returns the functions that extend or replace CEL's standard ones. Each is limited by `spend`. */
export function functions(): CelFunc[] {
  const { CelScalar, celFunc, celMethod, listType, mapType } = cel();
  const { BOOL, DOUBLE, DYN, INT, STRING } = CelScalar;
  const list = listType(DYN);
  const map = mapType(DYN, DYN);
  return [
    ...celExtensions().strings.filter((candidate) => !leftOut.has(candidate.name)),
    celFunc("_==_", [DYN, DYN], BOOL, equals),
    celFunc("_!=_", [DYN, DYN], BOOL, (left, right) => !equals(left, right)),
    celFunc("@in", [DYN, list], BOOL, (value, elements) => {
      for (const element of elements) if (equals(element, value)) return true;
      return false;
    }),
    ...[STRING, INT, DOUBLE, BOOL].map((key) =>
      celFunc("@in", [key, map], BOOL, (value, entries) => entries.get(value) !== undefined),
    ),
    celFunc("_/_", [DOUBLE, DOUBLE], DOUBLE, (left, right) => left / nonZero(right)),
    celFunc("_%_", [DOUBLE, DOUBLE], DOUBLE, (left, right) => left % nonZero(right)),
    celFunc("_+_", [STRING, STRING], STRING, (left, right) => {
      checkStringLength(left.length + right.length);
      return left + right;
    }),
    celFunc("_+_", [list, list], list, (left, right) => {
      chargeBudget(right.size);
      return GrownList.join(left, right);
    }),
    celFunc("int", [STRING], INT, intOfString),
    celFunc("double", [STRING], DOUBLE, doubleOfString),
    celMethod("replace", STRING, [STRING, STRING], STRING, function (from, to) {
      return replace(this, from, to);
    }),
    celMethod("replace", STRING, [STRING, STRING, INT], STRING, function (from, to, most) {
      return replace(this, from, to, Number(most));
    }),
    celMethod("split", STRING, [STRING], list, function (separator) {
      return split(this, separator);
    }),
    celMethod("split", STRING, [STRING, INT], list, function (separator, most) {
      return split(this, separator, Number(most));
    }),
    celMethod("join", list, [], STRING, function () {
      return join(this, "");
    }),
    celMethod("join", list, [STRING], STRING, function (separator) {
      return join(this, separator);
    }),
    celFunc(itemsFunction, [DYN], DYN, (range) => {
      chargeBudget(sizeOf(range));
      return range;
    }),
  ];
}

function sizeOf(range: CelValue): number {
  if (typeof range !== "object" || range === null || !("size" in range)) return 0;
  return range.size;
}

function nonZero(divisor: number): number {
  if (divisor === 0) throw new Refusal("division by zero");
  return divisor;
}

/** @throws LimitReached if a string of this length exceeds the limit */
export function checkStringLength(length: number): void {
  if (length > limits.stringLength)
    throw new LimitReached(`this makes a string of more than ${limits.stringLength} characters`);
}

function intOfString(text: string): bigint {
  const number = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, "")) : undefined;
  if (number !== undefined && BigInt.asIntN(64, number) === number) return number;
  throw new Refusal("the string is not a whole number");
}

function doubleOfString(text: string): number {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (/^[+-]?(?:NaN|Infinity|Inf)$/i.test(text)) throw new Refusal("the number is not finite");
  throw new Refusal("the string is not a number");
}

/** Splits into at most `most` parts, the last one with the rest; a negative `most` means no limit. */
function split(text: string, separator: string, most = -1): CelList {
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  chargeBudget(parts.length);
  if (most >= 0 && parts.length > most)
    parts.splice(most - 1, parts.length, parts.slice(most - 1).join(separator));
  return cel().celList(most === 0 ? [] : parts);
}

/** Replaces the first `most` occurrences, or all if `most` is negative. */
function replace(text: string, from: string, to: string, most = -1): string {
  const parts = from === "" ? ["", ...Array.from(text), ""] : text.split(from);
  chargeBudget(parts.length);
  const replaced = most < 0 ? parts.length - 1 : Math.min(most, parts.length - 1);
  checkStringLength(text.length + replaced * (to.length - from.length));
  const first = parts.slice(0, replaced + 1).join(to);
  return [first, ...parts.slice(replaced + 1)].join(from);
}

function join(elements: Iterable<CelValue>, separator: string): string {
  const parts: string[] = [];
  let length = 0;
  for (const element of elements) {
    if (typeof element !== "string")
      throw new Refusal("join() needs a list of strings: write map(x, string(x)) before it");
    length += element.length + separator.length;
    chargeBudget(1);
    checkStringLength(length);
    parts.push(element);
  }
  return parts.join(separator);
}

/**
 * Implements CEL's equality: numbers compare by value across types, lists and maps by content; values of different
 * types are unequal. Each nested comparison is charged.
 */
function equals(left: CelValue, right: CelValue): boolean {
  chargeBudget(1);
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false;
    chargeBudget(Math.floor(left.length / 16));
    return left === right;
  }
  if (left === right) return true;
  const [leftNumber, rightNumber] = [numberOf(left), numberOf(right)];
  if (leftNumber !== undefined && rightNumber !== undefined)
    // CEL compares an int and a double by value, as JavaScript's == does for a bigint and a number.
    // oxlint-disable-next-line eqeqeq
    return leftNumber == rightNumber;
  if (!isObject(left) || !isObject(right)) return false;
  const { isCelList, isCelMap, isCelType } = cel();
  if (isCelList(left)) return isCelList(right) && equalLists(left, right);
  if (isCelMap(left)) return isCelMap(right) && equalMaps(left, right);
  if (left instanceof Uint8Array)
    return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (isCelType(left)) return isCelType(right) && left.name === right.name;
  return equalMoments(left, right);
}

type Entries = ReadonlyMap<CelValue, CelValue> & { get(key: CelValue): CelValue | undefined };

function equalMaps(left: Entries, right: Entries): boolean {
  if (left.size !== right.size) return false;
  for (const [key, value] of left) {
    const other = right.get(key);
    if (other === undefined || !equals(value, other)) return false;
  }
  return true;
}

function equalLists(left: Iterable<CelValue>, right: Iterable<CelValue>): boolean {
  const others = right[Symbol.iterator]();
  for (const value of left) {
    const other = others.next();
    if (other.done === true || !equals(value, other.value)) return false;
  }
  return others.next().done === true;
}

/** Compares timestamps and durations, the only messages that expressions can create. */
function equalMoments(left: object, right: object): boolean {
  const [one, other] = [momentOf(left), momentOf(right)];
  return (
    one !== undefined &&
    other !== undefined &&
    one.$typeName === other.$typeName &&
    one.seconds === other.seconds &&
    one.nanos === other.nanos
  );
}

interface Moment {
  readonly $typeName: string;
  readonly seconds: bigint;
  readonly nanos: number;
}

function momentOf(value: object): Moment | undefined {
  const message: unknown = "message" in value ? value.message : undefined;
  return isObject(message) && "seconds" in message ? (message as Moment) : undefined;
}

function numberOf(value: CelValue): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  return isObject(value) && cel().isCelUint(value) ? value.value : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The function names of CEL's operators, with their symbols. */
export const operators: ReadonlyMap<string, string> = new Map([
  ["_+_", "+"],
  ["_-_", "-"],
  ["_*_", "*"],
  ["_/_", "/"],
  ["_%_", "%"],
  ["-_", "-"],
  ["!_", "!"],
  ["_==_", "=="],
  ["_!=_", "!="],
  ["_<_", "<"],
  ["_<=_", "<="],
  ["_>_", ">"],
  ["_>=_", ">="],
  ["_&&_", "&&"],
  ["_||_", "||"],
  ["@in", "in"],
  ["_[_]", "[]"],
]);

/**
 * Returns converted arguments to retry a call for which CEL has no overload, or undefined if nothing can be converted.
 *
 * JSON numbers are doubles, and CEL does not mix number types. For operators ints become doubles (`attempt_number +
 * 1`). For other functions whole doubles become ints (`text.substring(execution.start)`).
 */
export function convertMixedNumbers(
  name: string,
  args: readonly CelValue[],
): CelValue[] | undefined {
  const mixed = args.map((arg) => {
    if (operators.has(name)) return typeof arg === "bigint" ? Number(arg) : arg;
    return typeof arg === "number" && Number.isSafeInteger(arg) ? BigInt(arg) : arg;
  });
  return mixed.some((arg, index) => arg !== args[index]) ? mixed : undefined;
}

const matchNothing = once(() => {
  const { celEnv, parse, plan } = cel();
  return plan(celEnv(), parse('"".matches(pattern)'));
});

/** Returns the problem of a regular expression in RE2 syntax, or undefined. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > limits.patternLength)
    return `the regular expression is longer than ${limits.patternLength} characters`;
  const result = matchNothing()({ pattern });
  if (!cel().isCelError(result)) return undefined;
  return `the regular expression is not valid: ${result.message.replace("error parsing regexp: ", "")}`;
}

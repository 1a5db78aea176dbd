import type { CelFunc, CelList, CelValue } from "@bufbuild/cel";
import { LimitReached, spend } from "./budget.ts";
import { cel, celExtensions } from "./cel.ts";
import { equals } from "./equality.ts";
import { GrownList } from "./json-value.ts";
import { limits } from "./limits.ts";

/** Wraps what a comprehension goes through: see `meterComprehensions`. */
export const itemsFunction = "@items";

/** A function of ours refuses its arguments. The message is a sentence without its full stop. */
export class Refusal extends Error {}

/** String functions of the library whose results we cannot bound, or that we have replaced. */
const leftOut = new Set(["format", "strings.quote", "replace", "split", "join"]);

/** What is added to CEL's standard functions, or replaces them: each is bounded by `spend`. */
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
      boundLength(left.length + right.length);
      return left + right;
    }),
    celFunc("_+_", [list, list], list, (left, right) => {
      spend(right.size);
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
      spend(sizeOf(range));
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

/** @throws LimitReached when a string of that length may not be made */
export function boundLength(length: number): void {
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

/** At most `most` parts, the last with all that is left; no limit when that is negative. */
function split(text: string, separator: string, most = -1): CelList {
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  spend(parts.length);
  if (most >= 0 && parts.length > most)
    parts.splice(most - 1, parts.length, parts.slice(most - 1).join(separator));
  return cel().celList(most === 0 ? [] : parts);
}

/** Replaces the first `most`, all when that is negative. */
function replace(text: string, from: string, to: string, most = -1): string {
  const parts = from === "" ? ["", ...Array.from(text), ""] : text.split(from);
  spend(parts.length);
  const replaced = most < 0 ? parts.length - 1 : Math.min(most, parts.length - 1);
  boundLength(text.length + replaced * (to.length - from.length));
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
    spend(1);
    boundLength(length);
    parts.push(element);
  }
  return parts.join(separator);
}

import type { CelValue } from "@bufbuild/cel";
import { spend } from "./budget.ts";
import { cel } from "./cel.ts";

/**
 * CEL's equality: numbers by value across their types, lists and maps by their contents, all else of different types is
 * unequal. Each comparison inside costs work.
 */
export function equals(left: CelValue, right: CelValue): boolean {
  spend(1);
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false;
    spend(Math.floor(left.length / 16));
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

/** Timestamps and durations, the only messages that expressions can make. */
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

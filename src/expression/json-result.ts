import type { CelValue } from "@bufbuild/cel";
import { spend } from "./budget.ts";
import { cel } from "./cel.ts";
import { JsonList, JsonObject } from "./json-value.ts";
import { limits } from "./limits.ts";

/** The result of an expression is nothing that JSON can hold. The message is a sentence without its full stop. */
class NoJsonResult extends Error {}

/**
 * A CEL value as plain JSON. Parts of the values that the expression read are given as they are, the same objects.
 *
 * @throws NoJsonResult
 * @throws LimitReached
 */
export function jsonOfCel(value: CelValue): unknown {
  return convert(value, 0);
}

function convert(value: CelValue, depth: number): unknown {
  spend(1);
  if (depth > limits.depth) throw new NoJsonResult(`the result is more than ${limits.depth} deep`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw new NoJsonResult("the result is not a finite number");
    case "bigint":
      return safeNumber(value);
    default:
      return convertObject(value, depth);
  }
}

function convertObject(value: Exclude<CelValue, string | number>, depth: number): unknown {
  if (value === null || value instanceof JsonList || value instanceof JsonObject)
    return value === null ? null : value.source;
  const { isCelList, isCelMap, isCelUint } = cel();
  if (isCelUint(value)) return safeNumber(value.value);
  if (isCelList(value)) return Array.from(value, (element) => convert(element, depth + 1));
  if (isCelMap(value))
    return Object.fromEntries(
      Array.from(value.entries(), ([key, element]) => [
        String(isCelUint(key) ? key.value : key),
        convert(element, depth + 1),
      ]),
    );
  if (value instanceof Uint8Array)
    throw new NoJsonResult("the result is bytes, which JSON cannot hold");
  throw new NoJsonResult("the result is a time, a duration or a type: write string(…) around it");
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new NoJsonResult(`the whole number ${value} is too large for JSON`);
}

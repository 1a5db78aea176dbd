import type { CelValue } from "@bufbuild/cel";

/** Names that CEL's operators have as functions, with what people write. */
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
 * Arguments for a second try when CEL has no overload for `args`, or undefined when there is none. JSON numbers are
 * doubles, and CEL does not mix: for an operator ints become doubles (`attempt_number + 1`), for other functions whole
 * doubles become ints (`text.substring(execution.start)`).
 */
export function withMixedNumbers(name: string, args: readonly CelValue[]): CelValue[] | undefined {
  const mixed = args.map((arg) => {
    if (operators.has(name)) return typeof arg === "bigint" ? Number(arg) : arg;
    return typeof arg === "number" && Number.isSafeInteger(arg) ? BigInt(arg) : arg;
  });
  return mixed.some((arg, index) => arg !== args[index]) ? mixed : undefined;
}

import type { CelFunc } from "@bufbuild/cel";
import { nearestName } from "../nearest-name.ts";
import { functionNames, overloads } from "./environment.ts";
import { operators, patternProblem } from "./functions.ts";
import { literalString } from "./references.ts";
import type { Expr } from "./syntax.ts";
import {
  anyType,
  boolType,
  getFamily,
  isAssignable,
  mayBe,
  describeType,
  typeOfCel,
  commonType,
  type ValueType,
} from "./types.ts";

type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];

/** Checks a call or operator and returns its type. */
export function checkCall(checking: CheckContext, expr: Expr, call: Call): ValueType {
  const example = macroExamples.get(call.function);
  if (example !== undefined) {
    checking.report(expr, `${call.function}() is written ${example}`);
    return anyType;
  }
  const target = call.target && checking.typeOf(call.target);
  const args = call.args.map(checking.typeOf);
  switch (call.function) {
    case "_?_:_":
      return checkCondition(checking, call, args);
    case "_&&_":
    case "_||_":
      return checkLogic(checking, call, args);
    case "_==_":
    case "_!=_":
      return checkEquality(checking, expr, args);
    case "@not_strictly_false":
      return boolType;
    case "dyn":
      if (args.length === 1) return anyType;
  }
  const symbol = operators.get(call.function);
  const known = overloads().get(call.function) ?? [];
  const fitting = known.filter((overload) => accepts(overload, target, args));
  if (fitting.length > 0) {
    if (call.function === "matches") checkPattern(checking, call.args.at(-1));
    return resultType(call.function, fitting, args);
  }
  if (symbol !== undefined) checking.report(expr, describeOperands(symbol, args));
  else checking.report(expr, ...describeCall(call.function, known, target, args));
  return anyType;
}

function accepts(overload: CelFunc, target: ValueType | undefined, args: readonly ValueType[]) {
  if ((overload.target === undefined) !== (target === undefined)) return false;
  if (overload.target && target && !isAssignable(target, overload.target)) return false;
  if (overload.arguments.length !== args.length) return false;
  return args.every((arg, index) => {
    const parameter = overload.arguments[index];
    return parameter !== undefined && isAssignable(arg, parameter);
  });
}

/** Returns the type of a call's result. Operators preserve list types, and return a double if an operand may be one. */
function resultType(
  name: string,
  fitting: readonly CelFunc[],
  args: readonly ValueType[],
): ValueType {
  const [left, right] = args;
  if (name === "_+_" && left?.kind === "list" && right?.kind === "list") {
    // The parser expands `map` and `filter` into additions to an untyped list.
    return { kind: "list", of: commonType(left.of, right.of) };
  }
  if (name === "_+_" && right?.kind === "list" && left?.kind === "any") return right;
  return fitting.map((overload) => typeOfCel(overload.result)).reduce(commonType);
}

function checkCondition(
  checking: CheckContext,
  call: Call,
  [condition = anyType, then = anyType, otherwise = anyType]: readonly ValueType[],
): ValueType {
  const [part] = call.args;
  if (part && !mayBe(condition, "bool"))
    checking.report(part, `the condition is ${describeType(condition)}, not true or false`);
  if (then.kind === "list" && otherwise.kind === "any") return then;
  return commonType(then, otherwise);
}

function checkLogic(checking: CheckContext, call: Call, args: readonly ValueType[]): ValueType {
  for (const [index, arg] of args.entries()) {
    const part = call.args[index];
    if (part && !mayBe(arg, "bool"))
      checking.report(
        part,
        `"${operators.get(call.function)}" needs true or false on both sides, this is ${describeType(arg)}`,
      );
  }
  return boolType;
}

/** Reports comparisons of two different known types, which are never equal in CEL. */
function checkEquality(
  checking: CheckContext,
  expr: Expr,
  [left = anyType, right = anyType]: readonly ValueType[],
): ValueType {
  const families = [getFamily(left), getFamily(right)];
  if (families[0] !== families[1] && !families.includes("any") && !families.includes("null"))
    checking.report(expr, `${describeType(left)} is never equal to ${describeType(right)}`);
  return boolType;
}

function checkPattern(checking: CheckContext, pattern: Expr | undefined): void {
  const text = pattern && literalString(pattern);
  const problem = text === undefined ? undefined : patternProblem(text);
  if (pattern && problem !== undefined) checking.report(pattern, problem);
}

function describeOperands(symbol: string, args: readonly ValueType[]): string {
  const named = args.filter((arg) => arg.kind !== "any").map(describeType);
  return `"${symbol}" does not take ${named.join(" and ")}`;
}

function describeCall(
  name: string,
  known: readonly CelFunc[],
  target: ValueType | undefined,
  args: readonly ValueType[],
): [message: string, suggestion?: string] {
  if (known.length === 0) {
    const near = nearestName(name, [...functionNames(), ...macroExamples.keys()]);
    const message = `unknown function "${name}"`;
    return near === undefined ? [message] : [message, near];
  }
  if (known.every((overload) => (overload.target === undefined) !== (target === undefined)))
    return [
      target === undefined
        ? `write x.${name}(…), not ${name}(x, …)`
        : `write ${name}(x), not x.${name}()`,
    ];
  const taken = args.length === 0 ? "no arguments" : args.map(describeType).join(" and ");
  const owner = target === undefined ? "" : ` of ${describeType(target)}`;
  return [`${name}()${owner} does not take ${taken}`];
}

/** Macros, which the parser expands before checking. A remaining call does not match the macro's syntax. */
const macroExamples: ReadonlyMap<string, string> = new Map([
  ["has", "has(a.b)"],
  ["all", "list.all(x, x > 0)"],
  ["exists", "list.exists(x, x > 0)"],
  ["exists_one", "list.exists_one(x, x > 0)"],
  ["filter", "list.filter(x, x > 0)"],
  ["map", "list.map(x, x * 2)"],
]);

/** Variables of an expression by name. */
export interface Scope {
  readonly [variable: string]: ValueType;
}

/** The state shared by the parts of the checker. */
export interface CheckContext {
  readonly report: (expr: Expr, message: string, suggestion?: string) => void;
  /** Checks a subexpression and returns its type. */
  readonly typeOf: (expr: Expr | undefined) => ValueType;
}

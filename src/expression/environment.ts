import type { CelEnv, CelFunc, CelResult, CelValue } from "@bufbuild/cel";
import { cel, once } from "./cel.ts";
import {
  checkStringLength,
  functions,
  itemsFunction,
  Refusal,
  convertMixedNumbers,
} from "./functions.ts";
import { limits, chargeBudget } from "./problem.ts";
import { getChildren, type Expr } from "./syntax.ts";

type FuncGroup = NonNullable<ReturnType<CelEnv["funcs"]["find"]>>;

const standard = once(() => cel().celEnv({ funcs: functions() }));

/** All functions by name, wrapped to charge calls to the budget and to accept mixed number types. */
const metered = once((): ReadonlyMap<string, FuncGroup> => {
  return new Map(Array.from(standard().funcs, ({ name }) => [name, meter(name)] as const));
});

/** The overloads of each function by name, for checking calls. */
export const overloads = once((): ReadonlyMap<string, readonly CelFunc[]> => {
  return new Map(Array.from(metered(), ([name, group]) => [name, [...group]]));
});

/** Names of the functions that expressions can call. */
export const functionNames = once((): readonly string[] => {
  return [...metered().keys()].filter((name) => /^[a-zA-Z]\w*$/.test(name));
});

/** The environment with CEL's functions and this package's. */
export const environment: () => CelEnv = once(() => {
  const byName = metered();
  return Object.create(standard(), {
    funcs: { value: { find: (name: string) => byName.get(name) } },
  }) as CelEnv;
});

function meter(name: string): FuncGroup {
  const group = standard().funcs.find(name);
  if (group === undefined) throw new TypeError(`The CEL library lists ${name} and has it not`);
  const { celError } = cel();
  const call: FuncGroup["call"] = (id, target, args) => {
    try {
      chargeBudget(args.reduce((sum: number, arg) => sum + weightOf(arg), 1 + weightOf(target)));
      if (name === "matches") boundPattern(args.at(-1));
    } catch (thrown) {
      return celError(thrown, id);
    }
    const result = group.call(id, target, args);
    if (result !== undefined) return checked(result, id);
    const mixed = convertMixedNumbers(name, args);
    return mixed && checked(group.call(id, target, mixed), id);
  };
  return Object.create(group, { call: { value: call } }) as FuncGroup;
}

/** Limits the size of a result, and adds the position of the call to an error without one. */
function checked(result: CelResult | undefined, id: number): CelResult | undefined {
  const { celError, isCelError } = cel();
  if (isCelError(result) && result.exprId === undefined)
    return celError(new Error(result.message, { cause: result.cause }), id);
  try {
    if (typeof result === "string") checkStringLength(result.length);
    return result;
  } catch (thrown) {
    return celError(thrown, id);
  }
}

/** Returns the cost of reading an argument. */
function weightOf(value: CelValue | undefined): number {
  if (typeof value === "string" || value instanceof Uint8Array)
    return Math.floor(value.length / 16);
  return 0;
}

function boundPattern(pattern: CelValue | undefined): void {
  if (typeof pattern === "string" && pattern.length > limits.patternLength)
    throw new Refusal(`the regular expression is longer than ${limits.patternLength} characters`);
}

/**
 * Charges every comprehension for its items before it starts, by wrapping its range in a call of `@items`, a name that
 * no expression can contain. Mutates the tree, which is not used elsewhere once it is checked.
 */
export function meterComprehensions(expr: Expr): Expr {
  getChildren(expr).forEach(meterComprehensions);
  const { case: kind, value } = expr.exprKind;
  if (kind === "comprehensionExpr" && value.iterRange) value.iterRange = callItems(value.iterRange);
  return expr;
}

function callItems(range: Expr): Expr {
  const call = { $typeName: "cel.expr.Expr.Call" as const, function: itemsFunction, args: [range] };
  return { $typeName: "cel.expr.Expr", id: range.id, exprKind: { case: "callExpr", value: call } };
}

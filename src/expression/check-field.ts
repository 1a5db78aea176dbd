import { nearestName } from "../nearest-name.ts";
import type { Checking } from "./checking.ts";
import { listNames } from "./list-names.ts";
import { literalString, pathOf } from "./references.ts";
import { anyType, familyOf, mayBe, nameOf } from "./static-type.ts";
import type { Expr } from "./syntax.ts";
import type { ValueType } from "./value-type.ts";

interface FieldAccess {
  readonly operand: ValueType;
  /** The part that is read from. */
  readonly owner: Expr | undefined;
  readonly name: string;
}

/** The type of `operand.name`. An unknown field of a closed object and a field of what has none are problems. */
export function checkField(
  checking: Checking,
  expr: Expr,
  { operand, owner, name }: FieldAccess,
): ValueType {
  switch (operand.kind) {
    case "any":
      return anyType;
    case "map":
      return operand.of;
    case "object": {
      if (Object.hasOwn(operand.fields, name)) return operand.fields[name] ?? anyType;
      if (operand.open) return anyType;
      const known = Object.keys(operand.fields);
      const there = known.length === 0 ? "which has none" : `which has ${listNames(known)}`;
      const path = pathText(owner);
      const of = path === undefined ? "" : ` of ${path}`;
      checking.report(expr, `unknown field "${name}"${of}, ${there}`, nearestName(name, known));
      return anyType;
    }
    default:
      checking.report(
        expr,
        `${pathText(owner) ?? "this"} is ${nameOf(operand)} and has no field "${name}"`,
      );
      return anyType;
  }
}

/** The type of `target[index]`. */
export function checkIndex(checking: Checking, expr: Expr, args: readonly Expr[]): ValueType {
  const [target, index] = args;
  const [operand, key] = [checking.typeOf(target), checking.typeOf(index)];
  const name = index && literalString(index);
  const family = familyOf(operand);
  if (family === "any") return anyType;
  if (operand.kind === "list") {
    if (!mayBe(key, "number"))
      checking.report(expr, `a list is read by number, not by ${nameOf(key)}`);
    return operand.of;
  }
  if (family !== "map") {
    checking.report(expr, `${nameOf(operand)} cannot be read with [ ]`);
    return anyType;
  }
  if (!mayBe(key, "string", "number", "bool"))
    checking.report(expr, `a map is read by a string, not by ${nameOf(key)}`);
  if (name === undefined) return operand.kind === "map" ? operand.of : anyType;
  return checkField(checking, expr, { operand, owner: target, name });
}

function pathText(expr: Expr | undefined): string | undefined {
  return expr && pathOf(expr)?.join(".");
}

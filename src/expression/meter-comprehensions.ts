import { itemsFunction } from "./functions.ts";
import type { Expr } from "./syntax.ts";

/**
 * Has every comprehension pay, before it starts, for the items it goes through: its range is wrapped in a call of
 * `@items`, a name that nobody can write. Changes the tree, which nobody else uses once it is checked.
 */
export function meterComprehensions(expr: Expr): Expr {
  const { case: kind, value } = expr.exprKind;
  switch (kind) {
    case "selectExpr":
      if (value.operand) meterComprehensions(value.operand);
      break;
    case "callExpr":
      if (value.target) meterComprehensions(value.target);
      value.args.forEach(meterComprehensions);
      break;
    case "listExpr":
      value.elements.forEach(meterComprehensions);
      break;
    case "structExpr":
      for (const { keyKind, value: entry } of value.entries) {
        if (keyKind.case === "mapKey") meterComprehensions(keyKind.value);
        if (entry) meterComprehensions(entry);
      }
      break;
    case "comprehensionExpr":
      if (value.iterRange) {
        meterComprehensions(value.iterRange);
        value.iterRange = callItems(value.iterRange);
      }
      if (value.loopStep) meterComprehensions(value.loopStep);
      break;
  }
  return expr;
}

function callItems(range: Expr): Expr {
  const call = { $typeName: "cel.expr.Expr.Call" as const, function: itemsFunction, args: [range] };
  return { $typeName: "cel.expr.Expr", id: range.id, exprKind: { case: "callExpr", value: call } };
}

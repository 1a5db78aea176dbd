import { childrenOf } from "./children.ts";
import { itemsFunction } from "./functions.ts";
import type { Expr } from "./syntax.ts";

/**
 * Has every comprehension pay, before it starts, for the items it goes through: its range is wrapped in a call of
 * `@items`, a name that nobody can write. Changes the tree, which nobody else uses once it is checked.
 */
export function meterComprehensions(expr: Expr): Expr {
  childrenOf(expr).forEach(meterComprehensions);
  const { case: kind, value } = expr.exprKind;
  if (kind === "comprehensionExpr" && value.iterRange) value.iterRange = callItems(value.iterRange);
  return expr;
}

function callItems(range: Expr): Expr {
  const call = { $typeName: "cel.expr.Expr.Call" as const, function: itemsFunction, args: [range] };
  return { $typeName: "cel.expr.Expr", id: range.id, exprKind: { case: "callExpr", value: call } };
}

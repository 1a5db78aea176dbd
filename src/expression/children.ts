import type { Expr } from "./syntax.ts";

/** The parts of a node that people wrote: of a comprehension the range and the step, without what frames them. */
export function childrenOf(expr: Expr): Expr[] {
  const { case: kind, value } = expr.exprKind;
  switch (kind) {
    case "selectExpr":
      return present(value.operand);
    case "callExpr":
      return present(value.target, ...value.args);
    case "listExpr":
      return value.elements;
    case "structExpr":
      return value.entries.flatMap((entry) =>
        present(entry.keyKind.case === "mapKey" ? entry.keyKind.value : undefined, entry.value),
      );
    case "comprehensionExpr":
      return present(value.iterRange, value.loopStep);
    default:
      return [];
  }
}

function present(...parts: readonly (Expr | undefined)[]): Expr[] {
  return parts.filter((part) => part !== undefined);
}

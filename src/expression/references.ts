import { childrenOf } from "./children.ts";
import type { Expr } from "./syntax.ts";

/**
 * Paths that an expression reads, each as far as it is literal, without repetitions, in the order of the source.
 * Variables of `all`, `map` and so on are none.
 */
export function referencesOf(root: Expr): string[][] {
  const found = new Map<string, string[]>();
  collect(root, new Set(), (path) => found.set(JSON.stringify(path), path));
  return [...found.values()];
}

type Report = (path: string[]) => void;

function collect(expr: Expr, local: ReadonlySet<string>, report: Report): void {
  const path = pathOf(expr);
  if (path !== undefined) {
    if (!local.has(path[0] ?? "")) report(path);
    return;
  }
  const { case: kind, value } = expr.exprKind;
  if (kind !== "comprehensionExpr") {
    for (const child of childrenOf(expr)) collect(child, local, report);
    return;
  }
  if (value.iterRange) collect(value.iterRange, local, report);
  const inside = new Set([...local, value.accuVar, value.iterVar]);
  if (value.loopStep) collect(value.loopStep, inside, report);
}

/** `a.b["c"]` as `["a", "b", "c"]`; undefined for what is not literal all along. */
export function pathOf(expr: Expr): string[] | undefined {
  const { case: kind, value } = expr.exprKind;
  if (kind === "identExpr") return [value.name];
  if (kind === "selectExpr") {
    const operand = value.operand && pathOf(value.operand);
    return operand && [...operand, value.field];
  }
  if (kind !== "callExpr" || value.function !== "_[_]") return undefined;
  const [target, index] = value.args;
  const key = index && literalString(index);
  const path = key === undefined || target === undefined ? undefined : pathOf(target);
  return path && key !== undefined ? [...path, key] : undefined;
}

/** The text of a string literal. */
export function literalString(expr: Expr): string | undefined {
  if (expr.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

/** A literal as the library's messages write it; undefined for what is computed. */
export function literalOf(expr: Expr): string | undefined {
  if (expr.exprKind.case !== "constExpr") return undefined;
  const { value } = expr.exprKind.value.constantKind;
  return typeof value === "object" ? undefined : String(value);
}

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
  switch (kind) {
    case "selectExpr":
      if (value.operand) collect(value.operand, local, report);
      return;
    case "callExpr":
      for (const part of value.target ? [value.target, ...value.args] : value.args)
        collect(part, local, report);
      return;
    case "listExpr":
      for (const element of value.elements) collect(element, local, report);
      return;
    case "structExpr":
      for (const { keyKind, value: entry } of value.entries) {
        if (keyKind.case === "mapKey") collect(keyKind.value, local, report);
        if (entry) collect(entry, local, report);
      }
      return;
    case "comprehensionExpr": {
      if (value.iterRange) collect(value.iterRange, local, report);
      const inside = new Set([...local, value.accuVar, value.iterVar]);
      if (value.loopStep) collect(value.loopStep, inside, report);
      return;
    }
  }
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

import { getChildren, type Expr, parseExpression } from "./syntax.ts";

/**
 * Returns the distinct paths that an expression reads, each up to its first non-literal part, in source order. Excludes
 * the variables of `all`, `map` and so on.
 */
export function findReferences(root: Expr): string[][] {
  const found = new Map<string, string[]>();
  collect(root, new Set(), (path) => found.set(JSON.stringify(path), path));
  return [...found.values()];
}

type Report = (path: string[]) => void;

function collect(expr: Expr, local: ReadonlySet<string>, report: Report): void {
  const path = getLiteralPath(expr);
  if (path !== undefined) {
    if (!local.has(path[0] ?? "")) report(path);
    return;
  }
  const { case: kind, value } = expr.exprKind;
  if (kind !== "comprehensionExpr") {
    for (const child of getChildren(expr)) collect(child, local, report);
    return;
  }
  if (value.iterRange) collect(value.iterRange, local, report);
  const inside = new Set([...local, value.accuVar, value.iterVar]);
  if (value.loopStep) collect(value.loopStep, inside, report);
}

/** Returns `a.b["c"]` as `["a", "b", "c"]`, or undefined unless the whole path is literal. */
export function getLiteralPath(expr: Expr): string[] | undefined {
  const { case: kind, value } = expr.exprKind;
  if (kind === "identExpr") return [value.name];
  if (kind === "selectExpr") {
    const operand = value.operand && getLiteralPath(value.operand);
    return operand && [...operand, value.field];
  }
  if (kind !== "callExpr" || value.function !== "_[_]") return undefined;
  const [target, index] = value.args;
  const key = index && literalString(index);
  const path = key === undefined || target === undefined ? undefined : getLiteralPath(target);
  return path && key !== undefined ? [...path, key] : undefined;
}

/** Returns the value of a string literal, or undefined. */
export function literalString(expr: Expr): string | undefined {
  if (expr.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

/** Returns a literal as the library's messages render it, or undefined if the expression is computed. */
export function formatLiteral(expr: Expr): string | undefined {
  if (expr.exprKind.case !== "constExpr") return undefined;
  const { value } = expr.exprKind.value.constantKind;
  return typeof value === "object" ? undefined : String(value);
}

export interface ComparedText {
  /** The compared path, such as `["nodes", "classify", "choice"]`. */
  readonly path: readonly string[];
  readonly text: string;
  /** 0-based offset of the text in the source. */
  readonly offset: number;
}

/**
 * Returns the strings that an expression compares literal paths with, by `==`, `!=` and `in [...]`. Empty if it does
 * not parse.
 */
export function findComparedTexts(source: string): readonly ComparedText[] {
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const { root, offsetOf } = parsed.value;
  const found: ComparedText[] = [];
  const compare = (path: readonly string[] | undefined, literal: Expr) => {
    const text = literalString(literal);
    if (path !== undefined && text !== undefined)
      found.push({ path, text, offset: offsetOf(literal.id) });
  };
  const open = [root];
  for (let expr = open.pop(); expr !== undefined; expr = open.pop()) {
    const { case: kind, value } = expr.exprKind;
    if (kind === "callExpr" && value.args.length === 2) {
      const [left, right] = value.args as [Expr, Expr];
      if (value.function === "_==_" || value.function === "_!=_") {
        compare(getLiteralPath(left), right);
        compare(getLiteralPath(right), left);
      }
      if (value.function === "@in" && right.exprKind.case === "listExpr")
        for (const element of right.exprKind.value.elements) compare(getLiteralPath(left), element);
    }
    open.push(...partsOf(expr));
  }
  return found.toSorted((a, b) => a.offset - b.offset);
}

function partsOf({ exprKind: { case: kind, value } }: Expr): readonly Expr[] {
  switch (kind) {
    case "selectExpr":
      return value.operand === undefined ? [] : [value.operand];
    case "callExpr":
      return value.target === undefined ? value.args : [value.target, ...value.args];
    case "listExpr":
      return value.elements;
    case "comprehensionExpr":
      return [value.iterRange, value.loopStep, value.result].filter((part) => part !== undefined);
    default:
      return [];
  }
}

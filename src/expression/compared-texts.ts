import { literalString, pathOf } from "./references.ts";
import { parseExpression, type Expr } from "./syntax.ts";

export interface ComparedText {
  /** What is compared, e.g. `["nodes", "classify", "choice"]`. */
  readonly path: readonly string[];
  readonly text: string;
  /** 0-based place of the text in the source. */
  readonly offset: number;
}

/** The texts that an expression compares literal paths with, by `==`, `!=` and `in [...]`. None of one that does not parse. */
export function comparedTexts(source: string): readonly ComparedText[] {
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
        compare(pathOf(left), right);
        compare(pathOf(right), left);
      }
      if (value.function === "@in" && right.exprKind.case === "listExpr")
        for (const element of right.exprKind.value.elements) compare(pathOf(left), element);
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

import { childrenOf } from "./children.ts";
import { limits } from "./limits.ts";
import type { Expr } from "./syntax.ts";

interface Found {
  readonly expr: Expr;
  readonly message: string;
}

/** The first part of a syntax tree that goes beyond `limits`, if any. */
export function treeProblem(root: Expr): Found | undefined {
  let nodes = 0;
  const visit = (expr: Expr, depth: number, loops: number): Found | undefined => {
    nodes += 1;
    if (nodes > limits.nodes || depth > limits.depth)
      return { expr, message: "the expression is too large" };
    const inside = expr.exprKind.case === "comprehensionExpr" ? loops + 1 : loops;
    if (inside > limits.comprehensions)
      return {
        expr,
        message: `all, exists, map and filter are nested more than ${limits.comprehensions} deep`,
      };
    for (const child of childrenOf(expr)) {
      const found = visit(child, depth + 1, inside);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return visit(root, 1, 0);
}

import { childrenOf } from "./children.ts";
import { literalOf } from "./references.ts";
import type { Expr } from "./syntax.ts";

/**
 * The id of the part that failed. For `a.b["c"]` the library names the whole chain by its beginning `a`; the index that
 * its message speaks of says which part it was.
 */
export function placeOfFailure(root: Expr, id: bigint, message: string): bigint {
  const wanted = /^(?:field not found: |index )(.*?)(?: out of bounds .*)?$/s.exec(message)?.[1];
  if (wanted === undefined) return id;
  const indexes = indexesOf(root, id);
  const literal = indexes.find(({ key }) => key === wanted);
  const computed = indexes.find(({ key }) => key === undefined);
  return (literal ?? computed)?.id ?? id;
}

interface Index {
  readonly id: bigint;
  /** Undefined when it is computed. */
  readonly key: string | undefined;
}

/** Every `[…]` on the chain that begins at the node `id`, outermost first. */
function indexesOf(expr: Expr, id: bigint): Index[] {
  const found = childrenOf(expr).flatMap((child) => indexesOf(child, id));
  const { case: kind, value } = expr.exprKind;
  const [target, index] = kind === "callExpr" && value.function === "_[_]" ? value.args : [];
  if (target === undefined || index === undefined || beginningOf(target).id !== id) return found;
  return [{ id: expr.id, key: literalOf(index) }, ...found];
}

function beginningOf(expr: Expr): Expr {
  const { case: kind, value } = expr.exprKind;
  const from =
    kind === "selectExpr"
      ? value.operand
      : kind === "callExpr" && value.function === "_[_]"
        ? value.args[0]
        : undefined;
  return from === undefined ? expr : beginningOf(from);
}

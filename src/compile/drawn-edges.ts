import { endOfWorkflow } from "../state/branch.ts";
import { headOf } from "../state/cut-text.ts";
import type { PlanNode } from "./plan/plan-node.ts";

/** An edge as it is drawn. */
export interface DrawnEdge {
  readonly to: string;
  /** When it is taken; left out for an edge that is always taken. */
  readonly when?: string;
}

/**
 * A workflow node's edges as the author wrote them. Conditions speak of the node's own output without its name; a
 * default among conditions is `else`, and a node that all of them lead to needs no label.
 */
export function drawnEdges({
  name,
  edges,
}: Pick<PlanNode, "name" | "edges">): readonly DrawnEdge[] {
  const hasDefault = edges.some(({ condition }) => condition === null);
  const targets = new Set(edges.flatMap(({ to }) => to));
  return [...targets].map((target) => {
    // A workflow ends where its attempt is judged.
    const to = target === endOfWorkflow ? "reflect" : target;
    const leading = edges.filter((edge) => edge.to.includes(target));
    if (hasDefault && leading.length === edges.length) return { to };
    const labels = leading.map(({ condition }) =>
      condition === null ? "else" : shortCondition(condition, name),
    );
    return { to, when: [...new Set(labels)].join(" or ") };
  });
}

/** UTF-16 units of a condition that are shown. */
const longest = 60;

/** Quoted text, which stays as it is, or the output of a node, by either way to write it. */
const quotedOrOutput =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.])nodes(?:\.(\w+)|\["([\w-]+)"\]|\['([\w-]+)'\])\./gs;

/** A condition on one line, cut where it is long, that leaves the name of the node it is asked at out. */
export function shortCondition(condition: string, node: string): string {
  const own = condition.replaceAll(
    quotedOrOutput,
    (found: string, ...names: (string | undefined)[]) =>
      names.slice(0, 3).includes(node) ? "" : found,
  );
  const line = own.replaceAll(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${headOf(line, longest - 1)}…`;
}

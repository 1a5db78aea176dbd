import type { DefinitionProblem } from "./problems.ts";
import type { WorkflowFlow } from "./workflow-flow.ts";

/** Loops that are named one by one. */
const maxNamed = 50;
/** Nodes of a loop that are named. */
const maxShown = 8;

/**
 * Every loop needs a bound that the definition itself writes.
 *
 * @param maxIterations `execution_config.max_iterations` as written
 */
export function loopProblems(
  { loops }: Pick<WorkflowFlow, "loops">,
  maxIterations: unknown,
): readonly DefinitionProblem[] {
  if (maxIterations !== undefined) return [];
  const problems = loops.slice(0, maxNamed).map(({ edge, way }) => {
    const message = `the loop ${nameLoop(way())} has no bound; write execution_config.max_iterations`;
    return { path: ["workflow_graph", "edges", edge], message };
  });
  const more = loops.length - problems.length;
  if (more <= 0) return problems;
  const message = `${more} more loops have no bound; write execution_config.max_iterations`;
  return [...problems, { path: ["workflow_graph", "edges"], message }];
}

/** `ask → run → ask`; of a long one the middle is left out. */
function nameLoop(nodes: readonly string[]): string {
  const shown =
    nodes.length <= maxShown
      ? nodes
      : [
          ...nodes.slice(0, maxShown / 2),
          `… ${nodes.length - maxShown + 1} more …`,
          ...nodes.slice(1 - maxShown / 2),
        ];
  return [...shown, nodes[0] ?? ""].join(" → ");
}

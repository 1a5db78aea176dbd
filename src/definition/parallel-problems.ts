import { endOfWorkflow } from "../state/branch.ts";
import type { DefinitionProblem } from "./problems.ts";
import type { ReadNode, ReadWorkflow } from "./read-workflow.ts";
import type { WorkflowFlow } from "./workflow-flow.ts";

/** What branches that are under way together must not do. */
export function parallelProblems(
  graph: ReadWorkflow,
  flow: Pick<WorkflowFlow, "targets" | "areParallel">,
  /** Keys of the tiers that have a merge. */
  merged: ReadonlySet<string>,
): readonly DefinitionProblem[] {
  return [...writeProblems(graph, flow, merged), ...endProblems(graph, flow)];
}

/** Nodes in sequence may write the same key; of two in parallel, a merge has to say what becomes of both. */
function writeProblems(
  { nodes }: ReadWorkflow,
  { areParallel }: Pick<WorkflowFlow, "areParallel">,
  merged: ReadonlySet<string>,
): readonly DefinitionProblem[] {
  const writers = new Map<string, ReadNode[]>();
  return nodes.flatMap((later) => {
    const { node, name, index } = later;
    const target = node !== undefined && "writes" in node.config ? node.config.writes : undefined;
    if (target === undefined || merged.has(target)) return [];
    const earlier = writers.get(target) ?? [];
    writers.set(target, [...earlier, later]);
    const other = earlier.find((one) => areParallel(one.name, name));
    if (other === undefined) return [];
    const message = `"${name}" and "${other.name}" may run in parallel and both write ${target}; give each a key of its own, or name a merge for it in state_config.merge`;
    return [{ path: ["workflow_graph", "nodes", index, "config", "writes"], message }];
  });
}

/** Where the workflow ends on several branches, no single node was the last. */
function endProblems(
  { nodes, output }: ReadWorkflow,
  { targets, areParallel }: Pick<WorkflowFlow, "targets" | "areParallel">,
): readonly DefinitionProblem[] {
  if (output !== undefined) return [];
  const names = nodes.map(({ name }) => name);
  const open = names.find((name) => areParallel(name, endOfWorkflow));
  if (open === undefined) return [];
  const last = names.filter((name) => targets(name).includes(endOfWorkflow));
  const pair = firstPair(last, areParallel);
  const what =
    pair === undefined
      ? `a branch may come to END while "${open}" is under way on another`
      : `"${pair[0]}" and "${pair[1]}" may both come to END, on branches of their own`;
  const message = `${what}; write workflow_graph.output to say what the output is`;
  return [{ path: ["workflow_graph"], message }];
}

function firstPair(
  names: readonly string[],
  areParallel: (a: string, b: string) => boolean,
): readonly [string, string] | undefined {
  for (const [index, one] of names.entries()) {
    const other = names.slice(index + 1).find((name) => areParallel(one, name));
    if (other !== undefined) return [one, other];
  }
  return undefined;
}

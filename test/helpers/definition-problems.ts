import { checkDefinition } from "../../src/definition/check/check-definition.ts";
import { describeProblem } from "../../src/definition/check/problems.ts";

/** The problems of a definition with these parts beside its name. */
export function definitionProblems(parts: Record<string, unknown>): readonly string[] {
  const checked = checkDefinition({ name: "a", ...parts });
  return checked.ok ? [] : checked.problems.map(describeProblem);
}

interface Written {
  readonly nodes: readonly (Record<string, unknown> & { readonly name: string })[];
  /** `a > b c | END; b > END`: from a an edge to both b and c, and one to the end. Default: a chain. */
  readonly ways?: string;
  readonly edges?: readonly unknown[];
  readonly output?: unknown;
}

/** The problems of a definition with a workflow of these nodes, and other parts beside it. */
export function workflowProblemsOf(
  { nodes, ways, edges, output }: Written,
  parts: Record<string, unknown> = {},
): readonly string[] {
  const chain = nodes.map(({ name }, index) => `${name} > ${nodes[index + 1]?.name ?? "END"}`);
  return definitionProblems({
    ...parts,
    workflow_graph: {
      entry_point: nodes[0]?.name,
      nodes,
      edges: edges ?? edgesOf(ways ?? chain.join(";")),
      ...(output !== undefined && { output }),
    },
  });
}

function edgesOf(ways: string): readonly unknown[] {
  return ways.split(";").flatMap((part) => {
    const [from = "", rest = ""] = part.split(">").map((text) => text.trim());
    const targets = rest.split("|").map((way) => way.trim().split(" "));
    return targets.map((to, index) => ({
      from,
      to: to.length === 1 ? to[0] : to,
      ...(index < targets.length - 1 && { condition: "steps.size() > 1" }),
    }));
  });
}

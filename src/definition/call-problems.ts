import type { DefinitionProblem } from "./problems.ts";
import { nodesOfType, type ReadWorkflow } from "./read-workflow.ts";
import type { WrittenTools } from "./tool-name-problems.ts";
import type { WorkflowFlow } from "./workflow-flow.ts";
import type { NodeOfType } from "./workflow-schema.ts";

/**
 * Whether calls that models ask for come to a node that runs them. Calls are carried on to the next llm node at most.
 *
 * @param graph one without a node that could not be read
 */
export function callProblems(
  graph: ReadWorkflow,
  flow: Pick<WorkflowFlow, "targets">,
  { names }: WrittenTools,
): readonly DefinitionProblem[] {
  if (names === undefined) return [];
  const thinking = nodesOfType(graph, "llm");
  const thinkers = new Set(thinking.map(({ node }) => node.name));
  const running = nodesOfType(graph, "tool").filter(({ node }) => node.config.tool === undefined);
  const runners = new Set(running.map(({ node }) => node.name));
  const offers = ({ name, config: { tools } }: NodeOfType<"llm">) => {
    if (tools === undefined) return flow.targets(name).some((next) => runners.has(next));
    return Array.isArray(tools) ? tools.length > 0 : tools === "all";
  };
  const offering = names.length === 0 ? [] : thinking.filter(({ node }) => offers(node));
  const stops = (name: string) => thinkers.has(name) || runners.has(name);
  const fed = reached(
    offering.map(({ node }) => node.name),
    flow.targets,
    stops,
  );
  const served = reached([...runners], sources(graph), stops);
  return [
    ...offering.flatMap(({ index, node }) => {
      if (served.has(node.name)) return [];
      const message = `no way leads from "${node.name}" to a tool node that runs the calls it asks for, before the next llm node; add one without config.tool`;
      return [{ path: ["workflow_graph", "nodes", index, "config", "tools"], message }];
    }),
    ...running.flatMap(({ index, node }) => {
      if (fed.has(node.name)) return [];
      const message =
        names.length === 0
          ? `"${node.name}" runs calls of llm nodes, but the definition names no tools`
          : `"${node.name}" runs calls of llm nodes, but none that offers tools leads to it; offer tools there, or name one in config.tool`;
      return [{ path: ["workflow_graph", "nodes", index], message }];
    }),
  ];
}

function sources({ edges }: ReadWorkflow): (name: string) => readonly string[] {
  const from = new Map<string, string[]>();
  for (const edge of edges) {
    for (const to of [edge.to].flat()) {
      const list = from.get(to);
      if (list === undefined) from.set(to, [edge.from]);
      else list.push(edge.from);
    }
  }
  return (name) => from.get(name) ?? [];
}

/** What comes after (or before) the nodes, those that a way stops at included. */
function reached(
  starts: readonly string[],
  next: (name: string) => readonly string[],
  stops: (name: string) => boolean,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = starts.flatMap(next);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    if (!stops(name)) open.push(...next(name));
  }
  return seen;
}

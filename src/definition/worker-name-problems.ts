import { isAgentPath, type AgentReference } from "./agent-references.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";

/**
 * Workers of one planner node that have the same name, by which a plan gives them their subtasks, though the node names
 * them differently: by the paths of two files, or by a path and by the name.
 *
 * @param nameAt the name of the agent in a file; undefined where none could be loaded
 */
export function workerNameProblems(
  references: readonly AgentReference[],
  nameAt: (path: string) => string | undefined,
): readonly DefinitionProblem[] {
  const known = new Map<DefinitionPath, Map<string, AgentReference>>();
  return references.flatMap((reference): DefinitionProblem[] => {
    const { role, agent, at, path } = reference;
    const name = isAgentPath(agent) ? nameAt(agent) : agent;
    if (role !== "worker" || name === undefined) return [];
    const ofNode = known.get(path) ?? new Map<string, AgentReference>();
    known.set(path, ofNode);
    const earlier = ofNode.get(name);
    ofNode.set(name, earlier ?? reference);
    // The same reference twice is refused where the node is read.
    if (earlier === undefined || earlier.agent === agent) return [];
    const message = `"${name}" is already the name of workers[${earlier.at.at(-1)}], ${showFound(earlier.agent)}; rename one of them, or leave one out`;
    return [{ path: at, message, found: showFound(agent) }];
  });
}

import { v5 as uuidv5 } from "uuid";

/**
 * Where an attempt of a subtask keeps its checkpoints: like a task of LangGraph's within the namespace of the node that
 * runs it, so that it is found again when the run goes on, and a further attempt begins anew.
 *
 * @param within the node's namespace, which ends in its task: `planner:task|execute:task`
 */
export function attemptNamespace(
  within: string,
  of: {
    readonly id: string;
    /** From 1. */
    readonly attempt: number;
    /** How often it was cut off, and begun again. */
    readonly cut?: number;
  },
): string {
  const { id, attempt, cut = 0 } = of;
  const task = within.slice(within.lastIndexOf(":") + 1);
  const name = JSON.stringify(cut === 0 ? [id, attempt] : [id, attempt, cut]);
  return `${within}|${id}:${uuidv5(name, task)}`;
}

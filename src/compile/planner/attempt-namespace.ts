import { v5 as uuidv5 } from "uuid";

/**
 * Where an attempt of a subtask keeps its checkpoints: like a task of LangGraph's within the namespace of the node that
 * runs it, so that it is found again when the run goes on, and a further attempt begins anew.
 *
 * @param within the node's namespace, which ends in its task: `planner:task|execute:task`
 * @param attempt from 1
 */
export function attemptNamespace(within: string, id: string, attempt: number): string {
  const task = within.slice(within.lastIndexOf(":") + 1);
  return `${within}|${id}:${uuidv5(JSON.stringify([id, attempt]), task)}`;
}

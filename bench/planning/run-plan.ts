import { randomUUID } from "node:crypto";
import { executeAgent, type AgentDefinition, type Runtime, type Subtask } from "../../src/index.ts";

export interface PlanRun {
  /** Milliseconds from the first `subtask_start` to the last `subtask_end`, when the last result is durable. */
  readonly makespan: number;
  /** Milliseconds of the whole turn: checked, joined and judged too. */
  readonly turn: number;
}

/**
 * One turn of a planner of `definePlanner` with a plan that is given.
 *
 * @throws when anything is not done
 */
export async function runPlan(
  planner: AgentDefinition<{ message: string; plan?: unknown }>,
  subtasks: readonly Subtask[],
  runtime: Runtime,
): Promise<PlanRun> {
  let first = Infinity;
  let last = 0;
  let done = 0;
  const start = performance.now();
  const { status, failure } = await executeAgent(
    planner,
    { message: "Do what is planned.", plan: { subtasks } },
    {
      runtime,
      ...(runtime.checkpointer !== undefined && { threadId: randomUUID() }),
      onEvent: (event) => {
        if (event.type === "subtask_start") first = Math.min(first, performance.now());
        if (event.type !== "subtask_end") return;
        last = performance.now();
        if (event.subtask.status === "done") done += 1;
      },
    },
  );
  const turn = performance.now() - start;
  if (status !== "COMPLETED" || done !== subtasks.length) {
    throw new Error(`${done} of ${subtasks.length} subtasks done: ${failure?.message ?? status}`);
  }
  return { makespan: last - first, turn };
}

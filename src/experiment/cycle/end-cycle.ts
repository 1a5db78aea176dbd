import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/** Ends a cycle with what it has come to. */
export async function endCycle(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run } = cycle.parts;
  const { metrics } = state;
  const reflection = state.reflection_history.at(-1) ?? "";
  await cycle.write({
    event_type: "CYCLE_END",
    payload: { final_reflection: reflection, metrics },
  });
  cycle.tell({ reflection });
  const isOver = state.cycle_number >= run.cycle_count;
  return { log: cycle.written().log, status: isOver ? "COMPLETED" : "EXECUTING" };
}

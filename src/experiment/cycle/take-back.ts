import { MemoryChangedError } from "../errors.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState } from "./cycle-state.ts";

/**
 * Takes back what was changed in the memory after the state that a node goes on from.
 * @throws MemoryChangedError where the memory is another one
 */
export async function takeBack({ changes }: CycleState, { parts }: CycleRun): Promise<void> {
  const { memory } = parts;
  await memory.rewind(changes);
  const left = await memory.lastChange();
  if (left !== changes) throw new MemoryChangedError(parts.run.run_id, changes, left);
}

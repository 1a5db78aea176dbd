import type { RunParts } from "./run-parts.ts";
import { CyclePromptError } from "../errors.ts";

/**
 * What the user says at the beginning of a cycle.
 * @throws CyclePromptError where its template cannot be evaluated
 */
export function cyclePrompt(
  { run, cyclePrompt: template }: Pick<RunParts, "run" | "cyclePrompt">,
  cycle: number,
): string {
  const { run_id, cycle_count } = run;
  try {
    const said = template.render({ run_id, cycle_number: cycle, cycle_count });
    return typeof said === "string" ? said : JSON.stringify(said);
  } catch (thrown) {
    throw new CyclePromptError(run_id, cycle, { cause: thrown });
  }
}

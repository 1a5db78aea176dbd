/** The input of a planner's graph. */
export interface PlannerInput {
  readonly message: string;
  /** A plan to run instead of one that the model makes; null for that. */
  readonly plan: unknown;
  /** Empty where the plan says what the result is judged by. */
  readonly success_criteria: string;
}

/** What a planner is asked, of its graph's input. */
export function taskIn(input: unknown): string {
  return (input as PlannerInput).message;
}

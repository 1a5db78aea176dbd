import type { Observation, StepRecord, ToolResult } from "./step-record.ts";

/**
 * The steps with what was noted on their results by steps after them, since a record never changes once it is written.
 * Of what was noted twice the later word stands, field by field. Steps on which nothing was noted stay the same
 * objects, as does the list where nothing was noted at all.
 */
export function withObservations(steps: readonly StepRecord[]): readonly StepRecord[] {
  const noted = new Map<string, Observation>();
  for (const { turn_number, observations = [] } of steps) {
    for (const one of observations) {
      const key = keyOf(turn_number, one.id);
      noted.set(key, laid(noted.get(key) ?? one, one));
    }
  }
  if (noted.size === 0) return steps;
  return steps.map((step) => {
    const results = step.tool_results.map((result) => {
      const observation = noted.get(keyOf(step.turn_number, result.id));
      return observation === undefined ? result : withObservation(result, observation);
    });
    const isChanged = results.some((result, index) => result !== step.tool_results[index]);
    return isChanged ? { ...step, tool_results: results } : step;
  });
}

/** Ids of calls are unique in their turn alone. */
function keyOf(turn: number, id: string): string {
  return `${turn}:${id}`;
}

/** A result with what was noted on it; what the note leaves empty stays. */
export function withObservation(result: ToolResult, observation: Observation): ToolResult {
  return laid(result, observation);
}

type Noted = Omit<Observation, "id">;

function laid<Under extends Noted>(under: Under, over: Noted): Under {
  return {
    ...under,
    insights: over.insights || under.insights,
    learning: over.learning || under.learning,
    relevance: over.relevance || under.relevance,
  };
}

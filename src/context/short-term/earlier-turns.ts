import type { BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../../state/step-record.ts";
import { spokenTurns } from "../spoken-turns.ts";

/** A turn that is over: what was asked, the records of its steps, what was answered. */
export interface EarlierTurn {
  readonly asked: readonly BaseMessage[];
  readonly steps: readonly StepRecord[];
  readonly answered: readonly BaseMessage[];
}

/** The part of an agent's state that says what was before. */
export interface ThreadHistory {
  readonly messages: readonly BaseMessage[];
  readonly steps: readonly StepRecord[];
  readonly turn_number: number | undefined;
}

/** The turns before the one under way, from turn 0 on, with what was said before it; one that left nothing is empty. */
export function earlierTurns(history: ThreadHistory): readonly EarlierTurn[] {
  const present = history.turn_number ?? 0;
  const turns = Array.from({ length: present }, () => {
    return { asked: [] as BaseMessage[], steps: [] as StepRecord[], answered: [] as BaseMessage[] };
  });
  for (const { turn, asked, answered } of spokenTurns(history.messages, history.steps, present)) {
    const own = turns[Math.max(0, turn)];
    own?.asked.push(...asked);
    own?.answered.push(...answered);
  }
  for (const step of history.steps) turns[step.turn_number]?.steps.push(step);
  return turns;
}

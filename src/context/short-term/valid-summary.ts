import type { RunningSummary } from "../../state/running-summary.ts";
import { earlierTurns, type EarlierTurn, type ThreadHistory } from "./earlier-turns.ts";

/**
 * The summary of a state, if it tells of the turns that are in it: null where it covers the turn under way, or where the
 * records and messages that it covers are no longer there, as in a state that somebody has edited.
 */
export function validSummary(
  summary: RunningSummary | null | undefined,
  history: ThreadHistory,
): RunningSummary | null {
  if (summary === null || summary === undefined) return null;
  const { turns } = summary.covers;
  if (turns < 1 || turns > (history.turn_number ?? 0)) return null;
  const there = coverage(earlierTurns(history), turns);
  const isThere =
    there.steps === summary.covers.steps && there.messages === summary.covers.messages;
  return isThere ? summary : null;
}

/** What a summary of the first `turns` turns covers. */
export function coverage(earlier: readonly EarlierTurn[], turns: number): RunningSummary["covers"] {
  const covered = earlier.slice(0, turns);
  return {
    turns,
    steps: covered.reduce((sum, { steps }) => sum + steps.length, 0),
    messages: covered.reduce((sum, { asked, answered }) => sum + asked.length + answered.length, 0),
  };
}

import { isRecord } from "../../state/is-record.ts";
import type { Draft } from "../../state/turn.ts";
import type { GraphUpdate } from "../../state/channels.ts";

/** A result that was joined and judged. It lives in the attempt's tier: another attempt makes its own. */
export interface Candidate {
  readonly answer: string;
  readonly message_id: string | null;
  readonly gaps: readonly string[];
}

interface AttemptTier {
  /** Joined, and not judged yet. */
  readonly candidate: Omit<Candidate, "gaps"> | null;
  /** The judged one with the fewest gaps; of several, the newest. */
  readonly best: Candidate | null;
}

export function attemptTier(attempt: unknown): AttemptTier {
  const { candidate = null, best = null }: Partial<AttemptTier> = isRecord(attempt) ? attempt : {};
  return { candidate, best };
}

export function betterOf(best: Candidate | null, next: Candidate): Candidate {
  return best === null || next.gaps.length <= best.gaps.length ? next : best;
}

/** The best result there is as the draft of the attempt; null without one. */
export function draftOf(attempt: unknown): {
  readonly draft: Draft;
  readonly update: Pick<GraphUpdate, "gaps" | "criteria_met">;
} | null {
  const { best } = attemptTier(attempt);
  if (best === null) return null;
  const { answer, message_id, gaps } = best;
  return {
    draft: { answer, message_id, incomplete: false, problem: null },
    update: { gaps, criteria_met: gaps.length === 0 },
  };
}

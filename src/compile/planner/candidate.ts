import { isRecord } from "../../state/is-record.ts";
import type { Draft } from "../../state/turn.ts";
import type { GraphUpdate } from "../../state/channels.ts";

/** A result that was joined and judged. It lives in the attempt's tier: another attempt makes its own. */
export interface Candidate {
  readonly answer: string;
  readonly message_id: string | null;
  readonly gaps: readonly string[];
  /** False where no verdict could be had: its gaps are what failed. */
  readonly judged: boolean;
}

interface AttemptTier {
  /** Joined, and not judged yet. */
  readonly candidate: Omit<Candidate, "gaps" | "judged"> | null;
  /** The one with the fewest gaps; see `betterOf`. */
  readonly best: Candidate | null;
}

export function attemptTier(attempt: unknown): AttemptTier {
  const { candidate = null, best = null }: Partial<AttemptTier> = isRecord(attempt) ? attempt : {};
  return { candidate, best };
}

/** The one with fewer known gaps; of two with as many one that was judged, then the newest. */
export function betterOf(best: Candidate | null, next: Candidate): Candidate {
  if (best === null || next.gaps.length < best.gaps.length) return next;
  const isAsGood = next.gaps.length === best.gaps.length && (next.judged || !best.judged);
  return isAsGood ? next : best;
}

/** The best result there is as the draft of the attempt; null without one. */
export function draftOf(attempt: unknown): {
  readonly draft: Draft;
  readonly update: Pick<GraphUpdate, "gaps" | "criteria_met">;
} | null {
  const { best } = attemptTier(attempt);
  if (best === null) return null;
  const { answer, message_id, gaps, judged } = best;
  const withoutGaps = judged ? true : null;
  return {
    draft: { answer, message_id, incomplete: false, problem: null },
    update: { gaps, criteria_met: gaps.length === 0 ? withoutGaps : false },
  };
}

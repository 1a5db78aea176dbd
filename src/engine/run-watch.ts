import type { Clock } from "../clock.ts";
import { TurnCancelledError } from "../compile/errors.ts";
import { LeaseLostError } from "../storage/errors.ts";
import type { RunClaims } from "../storage/platform/runs/claims.ts";
import type { RunClaim } from "../storage/platform/runs/events.ts";

/** Milliseconds between two looks whether a caller wants a run cancelled. */
const cancelPollMs = 500;

/** Watches what callers want of the runs that execute in this process. */
export class RunWatch {
  readonly #looks = new Map<string, () => void>();

  constructor(
    private readonly claims: Pick<RunClaims, "isCancelRequested">,
    private readonly clock: Clock,
  ) {}

  /** Looks at once, as after a notice of the run. */
  look(runId: string): void {
    this.#looks.get(runId)?.();
  }

  /**
   * Aborts the run when a caller wants it cancelled or its claim is lost. Returns a function that stops watching.
   *
   * @param of.onNotice called with each notice of the run
   */
  begin(
    claim: RunClaim,
    { ending, onNotice }: { readonly ending: AbortController; readonly onNotice: () => void },
  ): () => void {
    let isOver = false;
    let cancelTimer = () => {};
    const look = async () => {
      cancelTimer();
      try {
        const isAsked = await this.claims.isCancelRequested(claim);
        if (isAsked === null)
          ending.abort(new LeaseLostError({ runId: claim.id, epoch: claim.epoch }));
        else if (isAsked) ending.abort(new TurnCancelledError(claim.id, null));
      } catch {
        // The next look may succeed.
      }
      if (!isOver && !ending.signal.aborted) later();
    };
    const later = () => {
      cancelTimer();
      cancelTimer = this.clock.after(cancelPollMs, () => void look(), { keepsAlive: false });
    };
    this.#looks.set(claim.id, () => {
      onNotice();
      void look();
    });
    later();
    return () => {
      isOver = true;
      cancelTimer();
      this.#looks.delete(claim.id);
    };
  }
}

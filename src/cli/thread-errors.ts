import { StratagraphError } from "../errors.ts";

/** No thread of this id is kept here. */
export class UnknownThreadError extends StratagraphError {
  readonly code = "unknown_thread";

  constructor(
    readonly threadId: string,
    /** The nearest that is there, or null. */
    readonly suggestion: string | null,
    options?: { cause?: unknown },
  ) {
    const hint = suggestion === null ? "" : ` Did you mean "${suggestion}"?`;
    super(`There is no thread "${threadId}" here.${hint}`, options);
  }
}

/** No planner of a thread's last turn has a plan. */
export class NoPlanError extends StratagraphError {
  readonly code = "no_plan";

  constructor(readonly threadId: string) {
    super(`The last turn of thread "${threadId}" has no plan: no planner node has made one yet.`);
  }
}

/** A thread has no such checkpoint. */
export class UnknownCheckpointError extends StratagraphError {
  readonly code = "unknown_checkpoint";

  constructor(
    readonly threadId: string,
    /** As it was given. */
    readonly reference: string,
    problem: string,
    /** Ids of checkpoints that are there, or none. */
    readonly suggestions: readonly string[] = [],
  ) {
    const hint = suggestions.length === 0 ? "" : ` Its last ones are ${suggestions.join(", ")}.`;
    super(`Thread "${threadId}" has no checkpoint "${reference}": ${problem}.${hint}`);
  }
}

/** The beginning of an id fits several checkpoints. */
export class AmbiguousCheckpointError extends StratagraphError {
  readonly code = "ambiguous_checkpoint";

  constructor(
    readonly threadId: string,
    /** As it was given. */
    readonly reference: string,
    /** Ids that begin so, newest first; the first few. */
    readonly candidates: readonly string[],
    more: number,
  ) {
    const rest = more > 0 ? ` and ${more.toLocaleString("en")} more` : "";
    super(
      `Several checkpoints of thread "${threadId}" begin with "${reference}": ${candidates.join(", ")}${rest}. Give more of the id.`,
    );
  }
}

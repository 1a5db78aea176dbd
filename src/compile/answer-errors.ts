import { StratagraphError } from "../errors.ts";
import { headOf } from "../state/cut-text.ts";
import type { PendingRequest } from "../state/human-request.ts";

type Waiting = readonly Pick<PendingRequest, "id" | "node" | "prompt">[];

/** An answer was refused. Nothing was written: what waits still waits. */
export abstract class AnswerError extends StratagraphError {}

/** A bare answer was given while several requests wait. */
export class AmbiguousAnswerError extends AnswerError {
  readonly code = "ambiguous_answer";

  constructor(readonly waiting: Waiting) {
    super(
      `${waiting.length} requests wait, and the answer does not say which it is for: ${listed(waiting)}.`,
      { advice: "Answer by id, some of them or all: { [id]: answer }." },
    );
  }
}

/** An answer was given to a request that does not wait. */
export class UnknownInterruptError extends AnswerError {
  readonly code = "unknown_interrupt";

  constructor(
    readonly interrupt: string,
    readonly waiting: Waiting,
  ) {
    super(`No request ${interrupt} waits. Waiting: ${listed(waiting)}.`);
  }
}

/** An answer does not fit what was asked. */
export class InvalidAnswerError extends AnswerError {
  readonly code = "invalid_answer";

  constructor(
    readonly interrupt: string,
    readonly node: string,
    /** What was expected, and what came instead. */
    readonly problem: string,
  ) {
    super(`The answer to request ${interrupt} of node "${node}" does not fit. ${problem}`);
  }
}

/** An answer approves something else than what waits: what is asked has changed since it was read. */
export class ApprovalMismatchError extends AnswerError {
  readonly code = "approval_mismatch";

  constructor(
    readonly interrupt: string,
    readonly node: string,
    /** What was expected, and what came instead. */
    readonly problem: string,
  ) {
    super(`The answer to request ${interrupt} of node "${node}" was refused. ${problem}`, {
      advice: "Read what is asked now, and answer with its hash.",
    });
  }
}

/** An answer was given to a thread on which nothing waits for one. */
export class NothingToAnswerError extends AnswerError {
  readonly code = "nothing_to_answer";

  /** `status` is null for a thread that does not exist. */
  constructor(
    readonly threadId: string,
    readonly status: string | null,
  ) {
    const found = status === null ? "does not exist" : `is ${status}`;
    // It is an old checkpoint then: LangGraph would go on with the answer of that time.
    const [why, advice] =
      status === "AWAITING_HUMAN"
        ? ["what waited there has been answered", "Run it without an answer to be asked again."]
        : ["nothing there waits for an answer", "Run it without one."];
    super(`Thread "${threadId}" ${found}: ${why}.`, { advice });
  }
}

/** Requests for a message: each by its id, its node and what it asks. */
export function listed(waiting: Waiting): string {
  return waiting
    .map(({ id, node, prompt }) => {
      const shown = prompt.length > 100 ? `${headOf(prompt, 100)}…` : prompt;
      return `${id} (${node}: ${JSON.stringify(shown)})`;
    })
    .join(", ");
}

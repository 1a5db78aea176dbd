import { StratagraphError } from "../errors.ts";
import type { DeadEnd } from "./dead-end.ts";
import type { Status } from "../state/lifecycle.ts";

/** Characters of a thread id. */
export const maxThreadIdLength = 255;

/** A thread id is empty, too long, or has control characters. */
export class InvalidThreadIdError extends StratagraphError {
  readonly code = "invalid_thread_id";

  constructor(problem: string) {
    super(
      `The thread id ${problem}. Use 1 to ${maxThreadIdLength} characters without control characters.`,
    );
  }
}

/** A thread was to be resumed, and there is nothing to resume. */
export class NothingToResumeError extends StratagraphError {
  readonly code = "nothing_to_resume";

  constructor(
    readonly threadId: string,
    readonly status: Status | null,
  ) {
    const found = status === null ? "does not exist" : `ended ${status}`;
    super(`Thread "${threadId}" ${found}: there is nothing to resume.`, {
      advice: "Give an input to run a turn.",
    });
  }
}

/** The last checkpoint of a thread is one that it cannot go on from. Nothing was written. */
export class RecoveryNeededError extends StratagraphError {
  readonly code = "recovery_needed";
  /** `missing_node`: the agent's definition no longer has a node that is next. */
  readonly reason: DeadEnd["cause"];

  constructor(
    readonly threadId: string,
    { cause, reason }: DeadEnd,
  ) {
    const how = cause === "missing_node" ? ", and accept the changes of the definition" : "";
    super(`Thread "${threadId}" cannot go on from its last checkpoint: ${reason}.`, {
      advice: `Recover the thread${how}: it then goes on from the last checkpoint that it can go on from.`,
    });
    this.reason = cause;
  }
}

/** `threadId` or resuming was asked for, or the run has to wait for a person, and nothing keeps threads. */
export class NoCheckpointerError extends StratagraphError {
  readonly code = "no_checkpointer";

  constructor(
    readonly reason: "thread" | "human",
    options?: { cause?: unknown },
  ) {
    const what =
      reason === "thread"
        ? "Threads need a checkpointer"
        : "The run has to wait for a person, which needs a checkpointer that keeps it until there is an answer";
    super(
      `${what}. Pass a runtime: executeAgent(agent, input, { runtime: await createRuntime() }).`,
      options,
    );
  }
}

/** An option of a run is out of its bounds. */
export class InvalidRunOptionError extends StratagraphError {
  readonly code = "invalid_run_option";

  constructor(
    readonly option: string,
    problem: string,
  ) {
    super(`The option ${option} is not valid: ${problem}.`);
  }
}

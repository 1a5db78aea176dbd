import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { beginnings } from "../compile/guards/inputs.ts";
import { pendingTasks } from "../compile/guards/waiting.ts";
import { StratagraphError } from "../errors.ts";
import { endOfWorkflow } from "../state/branch.ts";
import type { GraphState } from "../state/channels.ts";
import { isTerminal, type Status } from "../state/lifecycle.ts";

/** Maximum length of a thread id, in characters. */
const maxThreadIdLength = 255;

/** A thread id is empty, too long, or has control characters. */
export class InvalidThreadIdError extends StratagraphError {
  readonly code = "invalid_thread_id";

  constructor(problem: string) {
    super(
      `The thread id ${problem}. Use 1 to ${maxThreadIdLength} characters without control characters.`,
    );
  }
}

/** The thread has nothing to resume. */
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

/** The thread cannot resume from its last checkpoint. Nothing was written. */
export class RecoveryNeededError extends StratagraphError {
  readonly code = "recovery_needed";
  /** `missing_node`: the agent's definition no longer has the node to run next. */
  readonly reason: DeadEnd["cause"];

  constructor(
    readonly threadId: string,
    { cause, reason }: DeadEnd,
  ) {
    const how = cause === "missing_node" ? ", and accept the changed definition" : "";
    super(`Thread "${threadId}" cannot resume from its last checkpoint: ${reason}.`, {
      advice: `Recover the thread${how}: it then resumes from the last checkpoint that allows it.`,
    });
    this.reason = cause;
  }
}

/** A turn that began for one user is resumed for another. Nothing was written. */
class OtherUserError extends StratagraphError {
  readonly code = "other_user";

  constructor(
    readonly threadId: string,
    /** Null for a turn without one. */
    readonly user: string | null,
    readonly given: string,
  ) {
    const began = user === null ? "without a user" : `for user ${JSON.stringify(user)}`;
    super(
      `The turn of thread "${threadId}" began ${began}, and user ${JSON.stringify(given)} was given to resume it.`,
      { advice: "Leave the user out: a turn keeps the memories that it began with." },
    );
  }
}

/**
 * Refuses to resume a turn for another user than it began with. A turn that has not begun yet takes the one given.
 *
 * @throws OtherUserError
 */
export function refuseOtherUser(
  tuple: CheckpointTuple | undefined,
  of: { readonly threadId: string; readonly user?: string | undefined },
): void {
  const { threadId, user } = of;
  if (user === undefined || tuple === undefined) return;
  const { turn } = tuple.checkpoint.channel_values as Partial<GraphState>;
  const hasBegun = pendingTasks(tuple).every(({ node }) => !beginnings.includes(node));
  if (turn === undefined || !hasBegun || turn.user === user) return;
  throw new OtherUserError(threadId, turn.user ?? null, user);
}

/** The run needs stored threads (`threadId`, resuming or a human request), and the runtime has no checkpointer. */
export class NoCheckpointerError extends StratagraphError {
  readonly code = "no_checkpointer";

  constructor(
    readonly reason: "thread" | "human",
    options?: { cause?: unknown },
  ) {
    const what =
      reason === "thread"
        ? "Threads need a checkpointer"
        : "The run must wait for a person, which needs a checkpointer that stores it until there is an answer";
    super(
      `${what}. Pass a runtime: executeAgent(agent, input, { runtime: await createRuntime() }).`,
      options,
    );
  }
}

/** A run option is out of range. */
export class InvalidRunOptionError extends StratagraphError {
  readonly code = "invalid_run_option";

  constructor(
    readonly option: string,
    problem: string,
  ) {
    super(`The option ${option} is not valid: ${problem}.`);
  }
}

/** @throws InvalidThreadIdError */
export function checkThreadId(threadId: string): string {
  if (threadId.length === 0) throw new InvalidThreadIdError("is empty");
  if (threadId.length > maxThreadIdLength) {
    throw new InvalidThreadIdError(`has ${threadId.length.toLocaleString("en")} characters`);
  }
  const control = /[\p{Cc}\p{Cs}\u2028\u2029]/u.exec(threadId);
  if (control !== null) {
    const code = (control[0].codePointAt(0) ?? 0).toString(16).padStart(4, "0").toUpperCase();
    throw new InvalidThreadIdError(`has the control character U+${code} at ${control.index}`);
  }
  return threadId;
}

/** The reason why an intact checkpoint cannot be resumed. */
export interface DeadEnd {
  readonly cause: "stray_input" | "missing_node";
  /** Text for users. */
  readonly reason: string;
}

/** Returns null if the thread can resume from the checkpoint. */
export function deadEndAt(
  tuple: CheckpointTuple,
  graph: Pick<AgentGraph, "nodes">,
): DeadEnd | null {
  const next = pendingTasks(tuple).map(({ node }) => node);
  if (next.length === 0) return null;
  const { status = "CREATED", branches = [] } = tuple.checkpoint
    .channel_values as Partial<GraphState>;
  const isOver = status === "CREATED" || status === "COMPLETED" || isTerminal(status);
  // Earlier versions wrote an input on top of the existing checkpoint.
  if (!isOver && next.every((node) => beginnings.includes(node))) {
    const reason = `an input was written there while the previous turn was ${status}, and no turn can begin from it`;
    return { cause: "stray_input", reason };
  }
  const places = branches.flatMap(({ at }) => (at === endOfWorkflow ? [] : at));
  const missing = [...next, ...places].find((node) => !Object.hasOwn(graph.nodes, node));
  if (missing === undefined) return null;
  const reason = `the node ${missing} is next, and the agent has no such node`;
  return { cause: "missing_node", reason };
}

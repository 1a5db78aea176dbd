import { deadline, sleep } from "../../async.ts";
import { beginnings } from "../../compile/guards/inputs.ts";
import { pendingTasks } from "../../compile/guards/waiting.ts";
import { heldThread, withThread } from "../../compile/run/acquire-thread.ts";
import { logTurn } from "../../compile/run/log-turn.ts";
import { durableSaver } from "../../durable-saver.ts";
import { StratagraphError } from "../../errors.ts";
import type { GraphState } from "../../state/channels.ts";
import { canTransition, type Status } from "../../state/lifecycle.ts";
import { checkThreadId, InvalidRunOptionError } from "../errors.ts";
import { threadConfig } from "../run-turn.ts";
import { checkpointerOf, type ThreadServices } from "./services.ts";
import { valuesOf } from "./stored.ts";
import type { Cancellation, CancelOptions } from "./threads.ts";
import { updateCheckpointState } from "./travel.ts";

/** The thread has no unfinished turn. Nothing was written. */
export class NothingToCancelError extends StratagraphError {
  readonly code = "nothing_to_cancel";

  constructor(
    readonly threadId: string,
    readonly status: Status,
  ) {
    super(
      `Thread "${threadId}" has no unfinished turn to cancel: its last one is ${status}. A turn that was not taken up yet is replaced by the next input.`,
    );
  }
}

const maxReasonLength = 500;
const maxWaitMs = 600_000;
/** Milliseconds between two tries to take a thread that another process runs. */
const retryMs = 200;

/** @throws NoCheckpointError, NothingToCancelError, InvalidRunOptionError, NoCheckpointerError, ThreadLockedError */
export async function cancelThread(
  services: ThreadServices,
  threadId: string,
  options: CancelOptions = {},
): Promise<Cancellation> {
  const { reason, waitMs } = checked(threadId, options);
  const checkpointer = checkpointerOf(services);
  const { clock } = services.run;
  const until = clock.monotonic() + waitMs;
  /** The run that was asked to end: of this process, or of another one. */
  let asked: Asked | null = null;
  for (;;) {
    const here = heldThread({ checkpointer }, threadId);
    if (here !== undefined) {
      if (asked !== null && asked !== here) return lastState(services, threadId, "ended");
      here.cancel(reason);
      asked = here;
      const remainingMs = until - clock.monotonic();
      const limit = deadline({ clock, outer: [], remainingMs, timeUp: () => new Error() });
      await limit.race(here.released).catch(() => undefined);
      limit.release();
      if (here.isHeld) return lastState(services, threadId, "requested");
      continue;
    }
    try {
      return await withThread(services.run, threadId, () =>
        endTurn(services, threadId, { reason, isAsked: asked !== null }),
      );
    } catch (thrown) {
      const { code } = thrown as { code?: unknown };
      // Taken in this process meanwhile.
      if (code === "thread_busy") continue;
      const requests = services.cancelRequests;
      if (code !== "thread_locked" || requests === undefined) throw thrown;
      if (asked === null || typeof asked !== "string") asked = await requests.add(threadId, reason);
      else if (!(await requests.isOpen(threadId, asked))) {
        return lastState(services, threadId, "ended");
      }
    }
    const left = until - clock.monotonic();
    if (left <= 0) return lastState(services, threadId, "requested");
    await sleep(Math.min(retryMs, left), { clock });
  }
}

/** A run of this process, or the time of a request to another one. */
type Asked = object | string;

/** @throws InvalidThreadIdError, InvalidRunOptionError */
function checked(threadId: string, { reason, waitMs = 10_000 }: CancelOptions) {
  checkThreadId(threadId);
  if (!Number.isFinite(waitMs) || waitMs < 0 || waitMs > maxWaitMs) {
    throw new InvalidRunOptionError("waitMs", `expected 0 to ${maxWaitMs}, got ${waitMs}`);
  }
  if (reason === undefined) return { reason: null, waitMs };
  if (reason === "" || reason.length > maxReasonLength || /[\p{Cc}\p{Cs}]/u.test(reason)) {
    throw new InvalidRunOptionError(
      "reason",
      `expected 1 to ${maxReasonLength} characters without control characters, got ${reason.length}`,
    );
  }
  return { reason, waitMs };
}

/**
 * Ends a turn that no process runs, as its next node would for an aborted signal: with a checkpoint that has no next
 * nodes. Its parent is the checkpoint from which the turn resumes.
 */
async function endTurn(
  services: ThreadServices,
  threadId: string,
  of: { readonly reason: string | null; readonly isAsked: boolean },
): Promise<Cancellation> {
  const checkpointer = checkpointerOf(services);
  const archive = durableSaver(checkpointer, ["drain"]);
  await archive?.drain(threadId);
  const tuple = await checkpointer.getTuple(threadConfig(threadId));
  if (tuple === undefined) {
    if (of.isAsked) return { threadId, outcome: "ended", status: "CREATED" };
    throw services.noCheckpoint(threadId, null);
  }
  const { status = "CREATED", turn } = valuesOf(tuple) as Partial<GraphState>;
  const next = pendingTasks(tuple).map(({ node }) => node);
  const isOpen = next.some((node) => !beginnings.includes(node));
  if (!isOpen || !canTransition(status, "CANCELLED")) {
    // The run that was asked has ended in the meantime.
    if (of.isAsked) return { threadId, outcome: outcomeOf(status), status };
    throw new NothingToCancelError(threadId, status);
  }
  const why = of.reason !== null && { cancel_reason: of.reason };
  const values = { status: "CANCELLED", ...(turn !== undefined && { turn: { ...turn, ...why } }) };
  await updateCheckpointState(checkpointer, tuple, { values, endsTurn: true });
  await archive?.drain(threadId);
  await logTurn(services.run, checkpointer, threadId);
  return { threadId, outcome: "cancelled", status: "CANCELLED" };
}

function outcomeOf(status: Status): "cancelled" | "ended" {
  return status === "CANCELLED" ? "cancelled" : "ended";
}

/** Reads the status of a thread that runs. */
async function lastState(
  services: ThreadServices,
  threadId: string,
  outcome: "requested" | "ended",
): Promise<Cancellation> {
  const tuple = await checkpointerOf(services).getTuple(threadConfig(threadId));
  const values: Partial<GraphState> = tuple === undefined ? {} : valuesOf(tuple);
  const { status = "CREATED" } = values;
  return { threadId, outcome: outcome === "ended" ? outcomeOf(status) : outcome, status };
}

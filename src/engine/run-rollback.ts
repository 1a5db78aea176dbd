import type { CompileServices } from "../compile/compile-agent.ts";
import { logTurn } from "../compile/run/log-turn.ts";
import { durableSaver, type SavedWrites } from "../durable-saver.ts";
import { LeaseLostError } from "../storage/errors.ts";
import type { ThreadFences } from "../storage/tenant-pool.ts";
import type { RunClaims } from "../storage/platform/runs/claims.ts";
import type { RunClaim } from "../storage/platform/runs/events.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import type { GraphRequest } from "./graph/graph-request.ts";
import type { RunResult } from "./run-request.ts";
import { cancelledResult } from "./run-results.ts";

/** What removing a run needs of its executor. */
interface RollbackServices {
  readonly platform: { readonly claims: Pick<RunClaims, "rollbackRequest" | "markRolledBack"> };
  readonly useServices: <T>(
    tenantId: string,
    work: (of: { readonly services: CompileServices; readonly fences: ThreadFences }) => Promise<T>,
  ) => Promise<T>;
}

/** Characters of base64 that a run keeps of the pending writes that it continues. */
const maxSavedChars = 8_388_608;

/** Returns a function that stores the request of a claimed run. It throws LeaseLostError. */
export function requestWriter(
  claims: Pick<RunClaims, "writeRequest">,
  { id, tenantId, epoch }: RunClaim,
): (request: GraphRequest) => Promise<void> {
  return async (request) => {
    const isWritten = await claims.writeRequest({ id, tenantId, epoch }, request);
    if (!isWritten) throw new LeaseLostError({ runId: id, epoch });
  };
}

/** Whether a run may write to a checkpoint that it did not make itself. */
function continues({ input, command, checkpoint_id: from }: GraphRequest): boolean {
  return input === null || command !== undefined || from !== undefined;
}

/**
 * Returns the request of a run with the pending writes that it continues, so that a rollback restores them. The request
 * as it is where the run continues nothing, has them from an earlier claim, or they are too large.
 */
export async function withSavedWrites(
  checkpointer: object | undefined,
  threadId: string,
  request: GraphRequest,
): Promise<GraphRequest> {
  const saver = durableSaver(checkpointer, ["readPendingWrites"]);
  if (saver === null || request.saved_writes !== undefined || !continues(request)) return request;
  const of = { threadId, checkpointId: request.checkpoint_id };
  const saved: SavedWrites = await saver.readPendingWrites(of);
  const chars = saved.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
  return chars > maxSavedChars ? request : { ...request, saved_writes: saved };
}

/**
 * Executes a claimed run unless a caller has asked for it to be removed with what it wrote. If one asks meanwhile, what it
 * wrote is removed after it was cancelled or has failed, and the next run of its thread begins after that.
 *
 * @throws what `execute` throws; LeaseLostError
 */
export async function withRollback(
  options: RollbackServices,
  run: Run,
  execute: () => Promise<RunResult>,
): Promise<RunResult> {
  const undo = async () =>
    (await rollBackRun(options, run))
      ? cancelledResult(run.request as unknown as GraphRequest, null)
      : null;
  const undone = run.rollback === null ? null : await undo();
  if (undone !== null) return undone;
  const ended = await execute();
  const isOver = ended.status === "cancelled" || ended.status === "failed";
  return isOver ? ((await undo()) ?? ended) : ended;
}

/**
 * Removes what a claimed run of a graph wrote to its thread, if a caller has asked for that. Twice is once.
 *
 * @returns whether the thread is as before the run
 * @throws LeaseLostError
 */
async function rollBackRun(
  { platform, useServices }: RollbackServices,
  run: Pick<Run, "id" | "tenantId" | "threadId" | "epoch">,
): Promise<boolean> {
  const { id: runId, tenantId, threadId, epoch } = run;
  const claim: RunClaim = { id: runId, tenantId, epoch };
  const request = (await platform.claims.rollbackRequest(claim)) as GraphRequest | null;
  if (request === null) return false;
  return useServices(tenantId, async ({ services, fences }) => {
    const { checkpointer } = services;
    const saver = durableSaver(checkpointer, ["rollBackRun"]);
    const { saved_writes: saved = continues(request) ? null : [] } = request;
    if (checkpointer === undefined || saver === null || saved === null) return false;
    fences.fence(threadId, { runId, epoch });
    try {
      await saver.rollBackRun({ threadId, runId, restored: saved });
    } finally {
      fences.release(threadId);
    }
    // Shows the turn before the run as the newest again.
    await logTurn(services, checkpointer, threadId);
    if (!(await platform.claims.markRolledBack(claim))) throw new LeaseLostError({ runId, epoch });
    return true;
  });
}

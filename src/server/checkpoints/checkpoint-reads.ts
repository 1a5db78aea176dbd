import { z } from "zod";
import { diffStates } from "../../runtime/threads/checkpoint-view.ts";
import type { CheckpointView, StoredState } from "../../runtime/threads/threads.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { pageQuery, parameterText } from "../paging.ts";
import type { TenantRuntime } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { StateViewer } from "./shown-state.ts";

const idParameter = parameterText.describe("Id of a checkpoint of the thread.");
/** Queries of the routes that read checkpoints, of a run or of a thread. */
export const listQuery = z.strictObject({
  ...pageQuery,
  before: idParameter.describe("Only checkpoints older than this one.").optional(),
});
export const stateQuery = z.strictObject({
  channel: parameterText.describe("Only this channel of the state.").optional(),
});
export const diffQuery = z.strictObject({
  from: idParameter.describe("The changes since this one. Default: the parent.").optional(),
  to: idParameter.describe("The changes up to this one instead.").optional(),
});

const view = {
  id: z.string(),
  thread_id: z.string(),
  parent_id: z.string().nullable().describe("Null for the first one of a thread."),
  sequence_num: z.int().describe("Supersteps before it on its branch, from 0."),
  trigger: z.enum(["input", "node", "tool_result", "turn_complete", "manual"]),
  status: z.string().nullable().describe("Status of the thread's lifecycle."),
  node: z
    .string()
    .nullable()
    .describe("The node that made it, the first of several; null if none did."),
  nodes: z.array(z.string()),
  node_outcomes: z.record(z.string(), z.enum(["success", "failure", "interrupted"])),
  bytes: z.int().describe("Bytes that it added to storage."),
  created_at: z.string(),
  forked_from: z
    .strictObject({ thread_id: z.string(), checkpoint_id: z.string() })
    .nullable()
    .describe("The checkpoint of which it is a copy."),
};
export const checkpointSchema = z.strictObject(view).meta({ id: "Checkpoint" });

const anything = z.record(z.string(), z.unknown());
export const stateSchema = z
  .strictObject({
    ...view,
    integrity_hash: z.string().nullable().describe("SHA-256 (hex) over the stored content."),
    next: z.array(z.string()).describe("The nodes to run next."),
    requests: z.array(anything).describe("Requests that wait here for people or for results."),
    redacted: z.boolean().describe("Whether placeholders stand for values that rails redacted."),
    state: anything.describe("The values by channel."),
  })
  .meta({ id: "CheckpointState" });

const change = z.strictObject({
  path: z.string(),
  kind: z.enum(["added", "removed", "changed"]),
  before: z.string().nullable(),
  after: z.string().nullable(),
  text: z.string(),
});
export const diffSchema = z
  .strictObject({
    from: z.string().nullable().describe("Null: compared with an empty state."),
    to: z.string(),
    redacted: z.boolean(),
    channels: z.array(
      z.strictObject({
        channel: z.string(),
        kind: z.enum(["added", "removed", "changed"]),
        changes: z.array(change),
        omitted: z.int().describe("Changes that are left out."),
      }),
    ),
  })
  .meta({ id: "CheckpointDiff" });

/** Returns a page of a thread's checkpoints. @throws HttpProblem `invalid_cursor` */
export async function pageOfCheckpoints(
  { threads }: TenantRuntime["runtime"],
  threadId: string,
  { limit, before, cursor: given }: z.output<typeof listQuery>,
) {
  const cursor = checkCursor(given) ?? before;
  const page = { limit, ...(cursor !== undefined && { cursor }) };
  return threads.history(threadId, page).catch(emptyIfNone);
}

/** A checkpoint of a thread, for one caller. */
export interface CheckpointOf {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly principal: Principal;
}

/** Returns the state at a checkpoint, or one channel of it. @throws HttpProblem */
export async function readState(
  runtime: TenantRuntime["runtime"],
  { threadId, checkpointId, principal }: CheckpointOf,
  { channel }: z.output<typeof stateQuery>,
) {
  const viewer = new StateViewer(runtime, threadId, principal);
  const state = await viewer.stateAt(checkpointId);
  const { requests } = await viewer.shown({ requests: state.waiting }, state);
  return {
    ...checkpointOf(state),
    integrity_hash: state.integrityHash,
    next: state.next,
    requests,
    redacted: viewer.isRedacted,
    state: await viewer.shown(valuesOf(state, channel), state),
  };
}

/** Returns how a checkpoint differs from its parent, or from another one. @throws HttpProblem */
export async function readDiff(
  runtime: TenantRuntime["runtime"],
  { threadId, checkpointId, principal }: CheckpointOf,
  { from, to }: z.output<typeof diffQuery>,
) {
  if (from !== undefined && to !== undefined) {
    throw new HttpProblem("invalid_request", {
      detail: "Give `from` or `to`, not both.",
      errors: [{ pointer: "/to", in: "query", detail: "given together with from" }],
    });
  }
  const viewer = new StateViewer(runtime, threadId, principal);
  const named = await viewer.stateAt(checkpointId);
  const beforeId = to === undefined ? (from ?? named.parentId) : named.id;
  const before = beforeId === null ? null : await viewer.stateAt(beforeId);
  const after = to === undefined ? named : await viewer.stateAt(to);
  const shown = async (of: StoredState | null) => (of === null ? {} : viewer.shown(of.values, of));
  const channels = diffStates(await shown(before), await shown(after));
  return { from: beforeId, to: after.id, redacted: viewer.isRedacted, channels };
}

function valuesOf({ values }: StoredState, channel: string | undefined) {
  if (channel === undefined) return values;
  if (Object.hasOwn(values, channel)) return { [channel]: values[channel] };
  throw new HttpProblem("invalid_request", {
    detail: "The state has no value for this channel.",
    errors: [
      { pointer: "/channel", in: "query", detail: "unknown channel", allowed: Object.keys(values) },
    ],
  });
}

/** Returns a checkpoint as the API lists it. */
export function checkpointOf(of: CheckpointView): z.output<typeof checkpointSchema> {
  const { forkedFrom } = of;
  return {
    id: of.id,
    thread_id: of.threadId,
    parent_id: of.parentId,
    sequence_num: of.sequenceNum,
    trigger: of.trigger,
    status: of.status,
    node: of.nodes[0] ?? null,
    nodes: [...of.nodes],
    node_outcomes: of.nodeOutcomes,
    bytes: of.bytes,
    created_at: of.createdAt,
    forked_from: forkedFrom
      ? { thread_id: forkedFrom.threadId, checkpoint_id: forkedFrom.checkpointId }
      : null,
  };
}

/** @throws HttpProblem `invalid_cursor` */
export function checkCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined || /^[0-9a-f-]{36}$/.test(cursor)) return cursor;
  throw new HttpProblem("invalid_cursor", { detail: "Use `next_cursor` of the page before." });
}

/** A thread has no checkpoint before its first run began. */
export function emptyIfNone(thrown: unknown): {
  readonly items: readonly CheckpointView[];
  next: null;
} {
  if ((Object(thrown) as { code?: unknown }).code !== "no_checkpoint") throw thrown;
  return { items: [], next: null };
}

import { z } from "zod";
import { InvalidStateUpdateError } from "../../compile/guards/updates.ts";
import { diffStates } from "../../runtime/threads/checkpoint-view.ts";
import type { CheckpointView, StoredState } from "../../runtime/threads/threads.ts";
import { forkForReplay } from "../../runtime/threads/travel.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { pageAnswer, pageQuery, pageSchema, parameterText } from "../paging.ts";
import type { ApiBase, TenantRuntime } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { refuseDamaged, StateViewer } from "./shown-state.ts";

const id = z.string().min(1).max(100);
const runParams = z.strictObject({
  agent_id: id.describe("Id of the agent."),
  run_id: id.describe("Id of the run."),
});
const checkpointParams = runParams.extend({
  checkpoint_id: id.describe("Id of a checkpoint of the run's thread."),
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
const stateSchema = z
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
const diffSchema = z
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

/** What callers may change of a state. The other channels are the engine's, approvals and usage among them. */
export const modifiableChannels = ["input", "execution", "attempt", "nodes", "output"] as const;

export const modifiedState = z
  .strictObject(
    Object.fromEntries(modifiableChannels.map((name) => [name, z.unknown().optional()])),
  )
  .nullable()
  .optional()
  .describe("Updates by channel, applied as those of a node would be.");

const replayBody = z
  .strictObject({
    checkpoint_id: z.string().min(1).max(100),
    modified_state: modifiedState,
    config: z
      .strictObject({
        model_override: z.string().min(1).max(200).nullable().optional(),
        user: z.string().min(1).max(200).optional(),
      })
      .optional(),
  })
  .meta({ id: "ReplayRequest" });

const replaySchema = z
  .strictObject({ new_run_id: z.string(), thread_id: z.string(), status: z.string() })
  .meta({ id: "Replay" });

const idParameter = parameterText.describe("Id of a checkpoint of the thread.");
const path = "/v1/agents/{agent_id}/runs/{run_id}";

/** Creates the routes of the checkpoints of runs. */
export function checkpointRoutes(base: ApiBase): readonly Route[] {
  const { platform, runtimes } = base;

  /** @throws NotFoundError unless the run is one of the agent */
  const findRun = async (tenantId: string, of: { agent_id: string; run_id: string }) => {
    const run = await platform.runs.get(tenantId, of.run_id, { agentId: of.agent_id });
    const definitionId = String(run.request["definition_id"]);
    return { run, definitionId };
  };

  return [
    defineRoute({
      method: "get",
      path: `${path}/checkpoints`,
      operationId: "listCheckpoints",
      summary: "Lists the checkpoints of a run's thread, newest first.",
      description: "Runs of one thread share its checkpoints: those of all of them are listed.",
      tag: "checkpoints",
      scopes: ["checkpoints:read"],
      params: runParams,
      query: z.strictObject({
        ...pageQuery,
        before: idParameter.describe("Only checkpoints older than this one.").optional(),
      }),
      answers: {
        200: {
          description: "A page of checkpoints.",
          schema: pageSchema("checkpoints", checkpointSchema),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal, request }) {
        const { tenantId } = principal;
        const { run } = await findRun(tenantId, params);
        const { limit, before } = query;
        const cursor = checkCursor(query.cursor) ?? before;
        const page = await runtimes.use(tenantId, ({ runtime }) =>
          runtime.threads
            .history(run.threadId, { limit, ...(cursor !== undefined && { cursor }) })
            .catch(emptyIfNone),
        );
        return pageAnswer(request, page, { name: "checkpoints", item: checkpointOf });
      },
    }),
    defineRoute({
      method: "get",
      path: `${path}/checkpoints/{checkpoint_id}`,
      operationId: "getCheckpoint",
      summary: "Reads the state of a thread at a checkpoint.",
      description:
        "Values that rails redacted are placeholders, unless the key has the scope `checkpoints:unredacted`.",
      tag: "checkpoints",
      scopes: ["checkpoints:read"],
      params: checkpointParams,
      query: z.strictObject({
        channel: parameterText.describe("Only this channel of the state.").optional(),
      }),
      answers: { 200: { description: "The checkpoint.", schema: stateSchema } },
      problems: ["conflict", "invalid_input"],
      async handle({ params, query, principal }) {
        const { run } = await findRun(principal.tenantId, params);
        return runtimes.use(principal.tenantId, async ({ runtime }) => {
          const viewer = new StateViewer(runtime, run.threadId, principal);
          const state = await viewer.stateAt(params.checkpoint_id);
          const { requests } = await viewer.shown({ requests: state.waiting }, state);
          const body = {
            ...checkpointOf(state),
            integrity_hash: state.integrityHash,
            next: state.next,
            requests,
            redacted: viewer.isRedacted,
            state: await viewer.shown(valuesOf(state, query.channel), state),
          };
          return { status: 200, body };
        });
      },
    }),
    defineRoute({
      method: "get",
      path: `${path}/checkpoints/{checkpoint_id}/diff`,
      operationId: "diffCheckpoints",
      summary: "Compares a checkpoint with its parent, or with another one of its thread.",
      tag: "checkpoints",
      scopes: ["checkpoints:read"],
      params: checkpointParams,
      query: z.strictObject({
        from: idParameter.describe("The changes since this one. Default: the parent.").optional(),
        to: idParameter.describe("The changes up to this one instead.").optional(),
      }),
      answers: { 200: { description: "The changes by channel.", schema: diffSchema } },
      problems: ["conflict", "invalid_input"],
      async handle({ params, query, principal }) {
        const { from, to } = query;
        if (from !== undefined && to !== undefined) {
          throw new HttpProblem("invalid_request", {
            detail: "Give `from` or `to`, not both.",
            errors: [{ pointer: "/to", in: "query", detail: "given together with from" }],
          });
        }
        const { run } = await findRun(principal.tenantId, params);
        return runtimes.use(principal.tenantId, async ({ runtime }) => {
          const viewer = new StateViewer(runtime, run.threadId, principal);
          const named = await viewer.stateAt(params.checkpoint_id);
          const beforeId = to === undefined ? (from ?? named.parentId) : named.id;
          const before = beforeId === null ? null : await viewer.stateAt(beforeId);
          const after = to === undefined ? named : await viewer.stateAt(to);
          const shown = async (of: StoredState | null) =>
            of === null ? {} : viewer.shown(of.values, of);
          const channels = diffStates(await shown(before), await shown(after));
          const { isRedacted: redacted } = viewer;
          return { status: 200, body: { from: beforeId, to: after.id, redacted, channels } };
        });
      },
    }),
    defineRoute({
      method: "post",
      path: `${path}/replay`,
      operationId: "replayRun",
      summary: "Runs again from a checkpoint, in a new thread.",
      description:
        "The new thread begins at the checkpoint, with the modified state. Its nodes run again, tools included, and people are asked again. The run's own thread stays as it is.",
      tag: "checkpoints",
      scopes: ["runs:write"],
      params: runParams,
      body: replayBody,
      spends: true,
      answers: {
        202: {
          description: "The new run, queued.",
          schema: replaySchema,
          headers: { Location: "Path of the new run." },
        },
      },
      problems: ["conflict", "invalid_input"],
      async handle({ params, body, principal }) {
        const { tenantId } = principal;
        const { run, definitionId } = await findRun(tenantId, params);
        await refuseInactive(params.agent_id, platform.agents.get(tenantId, params.agent_id));
        const queued = await runtimes.use(tenantId, (of) =>
          queueReplay(base, of, { run, definitionId, body }),
        );
        base.queue.wake(queued);
        return {
          status: 202,
          body: { new_run_id: queued.id, thread_id: queued.threadId, status: queued.state },
          headers: { Location: `/v1/agents/${params.agent_id}/runs/${queued.id}` },
        };
      },
    }),
  ];
}

/** Forks the thread of a run, and queues a run on the new one. A fork whose run cannot be queued is removed. */
async function queueReplay(
  { platform, loadAgent, ids }: ApiBase,
  { runtime }: TenantRuntime,
  of: {
    readonly run: Run;
    readonly definitionId: string;
    readonly body: z.output<typeof replayBody>;
  },
): Promise<Run> {
  const { definitionId, body } = of;
  const { tenantId, threadId } = of.run;
  const { modified_state: changes, checkpoint_id: checkpointId } = body;
  const { model_override: model, user } = body.config ?? {};
  const agent = await loadAgent(runtime, { tenantId, definitionId });
  const [newThreadId, turnId] = [ids(), ids()];
  const options = {
    ...(typeof model === "string" && { model }),
    ...(user !== undefined && { user }),
  };
  const noCheckpoint = () => new NotFoundError("checkpoint", checkpointId);
  await forkForReplay({ run: agent.services, noCheckpoint }, agent.definition, {
    ...options,
    threadId,
    checkpointId,
    newThreadId,
    turnId,
    ...(changes && { modifiedState: changes }),
  }).catch(refuseFork);
  try {
    const metadata = {
      replayed_from: { run_id: of.run.id, thread_id: threadId, checkpoint_id: checkpointId },
    };
    const instance = await platform.instances.create(tenantId, {
      threadId: newThreadId,
      agent: agent.definition.spec.name,
      definitionId,
      metadata,
    });
    const request = { definition_id: definitionId, turn_id: turnId, ...options };
    const first = { instanceId: instance.id, definitionId, metadata };
    const given = { ...first, kind: "replay", request } as const;
    return await platform.runs.create(tenantId, given);
  } catch (thrown) {
    await runtime.threads.delete(newThreadId);
    throw thrown;
  }
}

/** @throws HttpProblem `conflict` for an agent without an active version */
async function refuseInactive(agentId: string, active: Promise<unknown>): Promise<void> {
  try {
    await active;
  } catch (thrown) {
    if (!(thrown instanceof NotFoundError)) throw thrown;
    throw new HttpProblem("conflict", {
      detail: `The agent ${agentId} was deactivated, and takes no new runs.`,
      extensions: { code: "inactive_agent" },
    });
  }
}

/** @throws HttpProblem for a state that does not fit and for a damaged checkpoint, else what was thrown */
export function refuseFork(thrown: unknown): never {
  throw thrown instanceof InvalidStateUpdateError ? stateProblem(thrown) : refuseDamaged(thrown);
}

function stateProblem({ problems, message }: InvalidStateUpdateError): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail: message.slice(0, 4000),
    errors: problems.map(({ channel, message: detail }) => ({
      pointer: `/modified_state/${channel.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      detail: detail.slice(0, 1000),
    })),
    extensions: { code: "invalid_state_update" },
  });
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
function checkCursor(cursor: string | undefined): string | undefined {
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

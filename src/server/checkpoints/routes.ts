import { z } from "zod";
import { InvalidStateUpdateError } from "../../compile/guards/updates.ts";
import { forkForReplay } from "../../runtime/threads/travel.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { pageAnswer, pageSchema } from "../paging.ts";
import type { ApiBase, TenantRuntime } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import {
  checkpointOf,
  checkpointSchema,
  diffQuery,
  diffSchema,
  listQuery,
  pageOfCheckpoints,
  readDiff,
  readState,
  stateQuery,
  stateSchema,
} from "./checkpoint-reads.ts";
import { refuseDamaged } from "./shown-state.ts";

const id = z.string().min(1).max(100);
const runParams = z.strictObject({
  agent_id: id.describe("Id of the agent."),
  run_id: id.describe("Id of the run."),
});
const checkpointParams = runParams.extend({
  checkpoint_id: id.describe("Id of a checkpoint of the run's thread."),
});

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
      query: listQuery,
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
        const page = await runtimes.use(tenantId, ({ runtime }) =>
          pageOfCheckpoints(runtime, run.threadId, query),
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
      query: stateQuery,
      answers: { 200: { description: "The checkpoint.", schema: stateSchema } },
      problems: ["conflict", "invalid_input"],
      async handle({ params, query, principal }) {
        const { threadId } = (await findRun(principal.tenantId, params)).run;
        const of = { threadId, checkpointId: params.checkpoint_id, principal };
        const body = await runtimes.use(principal.tenantId, ({ runtime }) =>
          readState(runtime, of, query),
        );
        return { status: 200, body };
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
      query: diffQuery,
      answers: { 200: { description: "The changes by channel.", schema: diffSchema } },
      problems: ["conflict", "invalid_input"],
      async handle({ params, query, principal }) {
        const { threadId } = (await findRun(principal.tenantId, params)).run;
        const of = { threadId, checkpointId: params.checkpoint_id, principal };
        const body = await runtimes.use(principal.tenantId, ({ runtime }) =>
          readDiff(runtime, of, query),
        );
        return { status: 200, body };
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

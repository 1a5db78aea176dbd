import { z } from "zod";
import { StratagraphError } from "../../errors.ts";
import { statuses } from "../../state/lifecycle.ts";
import type { CheckpointRef } from "../../runtime/threads/threads.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { headOf } from "../../values/text.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { maxSearched } from "../../storage/platform/runs/instance-list.ts";
import type { Instance } from "../../storage/platform/runs/instances.ts";
import {
  pageAnswer,
  pageQuery,
  pageRequest,
  pageSchema,
  parameterText,
  textUpTo,
} from "../paging.ts";
import type { ApiBase, TenantRuntime } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { forkThread } from "../../runtime/threads/travel.ts";
import { checkpointOf, checkpointSchema, emptyIfNone } from "./checkpoint-reads.ts";
import { modifiedState, refuseFork } from "./routes.ts";

const thread = {
  thread_id: z.string(),
  instance_id: z.string(),
  agent_id: z.string().nullable().describe("Null if the agent is not stored here."),
  agent: z.string().nullable().describe("Name of the agent; null before the first run."),
  version_id: z.string().nullable().describe("The version of the agent with which it began."),
  status: z.string().describe("Status of the lifecycle, from CREATED."),
  turns: z.int(),
  title: z
    .string()
    .nullable()
    .describe(
      "`title` or `name` of its metadata, else the beginning of its first message; null without.",
    ),
  tokens_in: z.int().describe("Of all turns."),
  tokens_out: z.int(),
  cost_usd: z.number().describe("Calls without a known price count as nothing."),
  metadata: z.record(z.string(), z.unknown()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().describe("When its metadata, or one of its runs, last changed."),
  started_at: z.iso.datetime().nullable(),
  completed_at: z.iso.datetime().nullable(),
};
const threadSummary = z.strictObject(thread).meta({ id: "ThreadSummary" });
const threadSchema = z
  .strictObject({ ...thread, last_checkpoint: checkpointSchema.nullable() })
  .meta({ id: "Thread" });

const threadParams = z.strictObject({
  thread_id: textUpTo(255).describe("Id of the thread."),
});

/** Creates the routes of threads. */
export function threadRoutes(base: ApiBase): readonly Route[] {
  const { platform, runtimes } = base;
  return [
    defineRoute({
      method: "get",
      path: "/v1/threads",
      operationId: "listThreads",
      summary: "Lists threads, newest or last active first.",
      tag: "threads",
      scopes: ["runs:read"],
      query: z.strictObject({
        ...pageQuery,
        agent_id: parameterText.describe("Threads of this agent, of all its versions.").optional(),
        status: z.enum(statuses).optional(),
        q: parameterText
          .describe(
            "Threads whose `title`, in upper or lower case, or `thread_id` begins with this. Titles from messages are not searched while values are encrypted.",
          )
          .optional(),
        order: z
          .enum(["created", "activity"])
          .default("created")
          .describe(
            "`activity`: by the time of their last change. Threads that change move while they are listed.",
          ),
      }),
      answers: {
        200: {
          description: "A page of threads.",
          schema: pageSchema("threads", threadSummary).extend({
            is_cut: z
              .boolean()
              .describe(
                `Whether more than ${maxSearched.toLocaleString("en")} titles or ids begin with \`q\`: the others are left out.`,
              ),
          }),
        },
      },
      problems: ["invalid_cursor", "not_found"],
      async handle({ query, principal, request }) {
        const { agent_id: agentId, status, order, q } = query;
        const page = await platform.instances.list(principal.tenantId, {
          ...pageRequest(query),
          order,
          ...(agentId !== undefined && { agentId }),
          ...(status !== undefined && { status }),
          ...(q !== undefined && { beginning: q }),
        });
        const more = { is_cut: page.isCut };
        return pageAnswer(request, page, { name: "threads", item: threadOf, more });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}",
      operationId: "getThread",
      summary: "Reads a thread.",
      tag: "threads",
      scopes: ["runs:read"],
      params: threadParams,
      answers: { 200: { description: "The thread.", schema: threadSchema } },
      async handle({ params, principal }) {
        const { tenantId } = principal;
        const { thread_id: threadId } = params;
        const instance = await platform.instances.onThread(tenantId, threadId);
        if (instance === null) throw new NotFoundError("thread", threadId);
        const last = await runtimes.use(tenantId, ({ runtime }) =>
          lastCheckpoint(runtime, threadId),
        );
        return { status: 200, body: { ...threadOf(instance), last_checkpoint: last } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/v1/threads/{thread_id}/fork",
      operationId: "forkThread",
      summary: "Makes a thread that begins at a checkpoint of this one. Nothing runs.",
      description:
        "A run with the new `thread_id` continues it: at the last checkpoint of a turn, with another message than this thread had.",
      tag: "threads",
      scopes: ["runs:write"],
      params: threadParams,
      body: z
        .strictObject({
          checkpoint_id: z.string().min(1).max(100).describe("Default: the newest.").optional(),
          modified_state: modifiedState,
        })
        .meta({ id: "ForkRequest" }),
      answers: {
        201: {
          description: "The new thread.",
          schema: z
            .strictObject({ thread_id: z.string(), checkpoint_id: z.string() })
            .meta({ id: "ForkedThread" }),
          headers: { Location: "Path of the new thread." },
        },
      },
      problems: ["conflict", "invalid_input"],
      async handle({ params, body, principal }) {
        const { tenantId } = principal;
        const of = await platform.instances.onThread(tenantId, params.thread_id);
        if (of === null) throw new NotFoundError("thread", params.thread_id);
        const made = await runtimes.use(tenantId, ({ runtime }) =>
          fork(base, runtime, { of, body, tenantId }),
        );
        const Location = `/v1/threads/${made.threadId}`;
        const { threadId: thread_id, checkpointId: checkpoint_id } = made;
        return { status: 201, body: { thread_id, checkpoint_id }, headers: { Location } };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/threads/{thread_id}",
      operationId: "deleteThread",
      summary: "Deletes a thread: its runs, events, checkpoints, calls and attachments.",
      tag: "threads",
      scopes: ["runs:write"],
      params: threadParams,
      query: z.strictObject({
        memory: z
          .enum(["short_term", "all"])
          .default("short_term")
          .describe("`all`: also what agents remember from the thread beyond its end."),
      }),
      answers: { 204: { description: "Deleted." } },
      problems: ["conflict"],
      async handle({ params, query, principal }) {
        await deleteThread(base, principal, {
          threadId: params.thread_id,
          memory: query.memory === "all",
        });
        return { status: 204 };
      },
    }),
  ];
}

/** Forks a thread, with an instance of its agent. A fork without an instance is removed. */
async function fork(
  { platform, loadAgent, ids }: ApiBase,
  runtime: TenantRuntime["runtime"],
  {
    of: { threadId, agent, definitionId },
    body,
    tenantId,
  }: {
    readonly of: Instance;
    readonly body: {
      checkpoint_id?: string | undefined;
      modified_state?: object | null | undefined;
    };
    readonly tenantId: string;
  },
): Promise<CheckpointRef> {
  const { checkpoint_id: checkpointId, modified_state: changes } = body;
  // The edited state is checked by the version with which the thread began.
  const loaded =
    changes && definitionId !== null ? await loadAgent(runtime, { tenantId, definitionId }) : null;
  const noCheckpoint = (_: string, id: string | null) =>
    new NotFoundError("checkpoint", id ?? "of the thread");
  const made = await forkThread(
    { run: loaded?.services ?? runtime, noCheckpoint },
    {
      threadId,
      newThreadId: ids(),
      acceptChanges: true,
      ...(checkpointId !== undefined && { checkpointId }),
      ...(loaded !== null && { agent: loaded.definition }),
      ...(changes && { modifiedState: { ...changes } }),
    },
  ).catch(refuseFork);
  const from = { thread_id: threadId, checkpoint_id: checkpointId ?? made.checkpointId };
  const metadata = { forked_from: from };
  const given = { threadId: made.threadId, agent, definitionId, metadata };
  try {
    await platform.instances.create(tenantId, given);
  } catch (thrown) {
    await runtime.threads.delete(made.threadId);
    throw thrown;
  }
  return made;
}

/**
 * Deletes a thread, with an entry in the audit log.
 *
 * @param by.keyId null for the server itself
 * @param of.memory whether agents also lose what they remember from it beyond its end; default false
 * @throws NotFoundError; HttpProblem `conflict` while a run of the thread is queued or running
 */
export async function deleteThread(
  base: Pick<ApiBase, "platform" | "runtimes">,
  { tenantId, keyId }: Pick<Principal, "tenantId"> & { readonly keyId: Principal["keyId"] | null },
  { threadId, memory = false }: { readonly threadId: string; readonly memory?: boolean },
): Promise<void> {
  const { platform, runtimes } = base;
  const instance = await platform.instances.onThread(tenantId, threadId);
  await refuseUnderWay(base, tenantId, threadId);
  await runtimes.use(tenantId, async ({ runtime }) => {
    // A replay that broke off leaves checkpoints without an instance.
    if (instance === null && (await lastCheckpoint(runtime, threadId)) === null)
      throw new NotFoundError("thread", threadId);
    await runtime.threads.delete(threadId, { memory });
  });
  const entry = { action: "thread.delete", subject: threadId };
  const actor = keyId === null ? "system" : `key:${keyId}`;
  await platform.audit.append(tenantId, { actor, ...entry });
}

/**
 * Deletes the thread of a stateless run. One that is not there, that another process deletes, or that runs again is fine.
 */
export async function deleteEphemeralThread(
  base: Pick<ApiBase, "platform" | "runtimes">,
  { tenantId, threadId }: { readonly tenantId: string; readonly threadId: string },
): Promise<void> {
  try {
    await deleteThread(base, { tenantId, keyId: null }, { threadId });
  } catch (thrown) {
    const isLocked =
      thrown instanceof StratagraphError && ["thread_busy", "thread_locked"].includes(thrown.code);
    const isInUse = thrown instanceof HttpProblem && thrown.type === "conflict";
    if (!isLocked && !isInUse && !(thrown instanceof NotFoundError)) throw thrown;
  }
}

/** @throws HttpProblem `conflict` while a run of the thread is queued or running */
export async function refuseUnderWay(
  { platform }: Pick<ApiBase, "platform">,
  tenantId: string,
  threadId: string,
): Promise<void> {
  for (const state of ["running", "queued"] as const) {
    const { items } = await platform.runs.list(tenantId, { threadId, state, limit: 1 });
    const [run] = items;
    if (run === undefined) continue;
    throw new HttpProblem("conflict", {
      detail: `Run ${run.id} of the thread is ${state}. Cancel it or wait for its end, then try again.`,
      extensions: { run_id: run.id, state },
    });
  }
}

async function lastCheckpoint({ threads }: TenantRuntime["runtime"], threadId: string) {
  const page = await threads.history(threadId, { limit: 1 }).catch(emptyIfNone);
  const [last] = page.items;
  return last === undefined ? null : checkpointOf(last);
}

function threadOf(of: Instance): z.output<typeof threadSummary> {
  return {
    thread_id: of.threadId,
    instance_id: of.id,
    agent_id: of.agentId,
    agent: of.agent,
    version_id: of.definitionId,
    status: of.status,
    turns: of.turns,
    title: titleIn(of.metadata) ?? of.title,
    tokens_in: of.tokensIn,
    tokens_out: of.tokensOut,
    cost_usd: of.costUsd,
    metadata: of.metadata,
    created_at: of.createdAt,
    updated_at: of.updatedAt,
    started_at: of.startedAt,
    completed_at: of.completedAt,
  };
}

function titleIn({ title, name }: Instance["metadata"]): string | null {
  const found = [title, name].find((one) => typeof one === "string" && one !== "");
  return typeof found === "string" ? headOf(found, 200) : null;
}

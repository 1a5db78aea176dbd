import { threadParams } from "./run-schemas.ts";
import { z } from "zod";
import type { Principal } from "../../storage/platform/platform.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import {
  type FoundThread,
  threadOrders,
  threadStates,
} from "../../storage/platform/runs/thread-search.ts";
import { checkScopes } from "../authenticate.ts";
import { deleteThread, refuseUnderWay } from "../checkpoints/thread-routes.ts";
import { textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { supersteps, ThreadStates } from "./thread-states.ts";
import { ThreadFinder } from "./thread-finder.ts";
import {
  anything,
  metadataOf,
  type ShownThread,
  ThreadPresenter,
  threadSchema,
} from "./thread-view.ts";

const tag = "langgraph";

const createBody = z
  .object({
    thread_id: z.guid().optional().describe("Default: a new id."),
    metadata: anything
      .optional()
      .describe(
        "At most 65,536 bytes of JSON. `graph_id`: the agent of states written before a run.",
      ),
    if_exists: z.enum(["raise", "do_nothing"]).default("raise"),
    supersteps: supersteps.optional().describe("Updates of the state, applied in order."),
  })
  .meta({ id: "LangGraphThreadCreate" });

const filter = {
  metadata: anything.optional().describe("What the metadata contains."),
  status: z.enum(threadStates).optional(),
  values: anything
    .optional()
    .describe("What the newest state contains. The other filters must leave 500 threads at most."),
};
const searchBody = z
  .object({
    ...filter,
    ids: z.array(textUpTo(255)).max(1_000).optional(),
    limit: z.int().min(1).max(1_000).default(10),
    offset: z.int().min(0).max(1_000_000).default(0),
    sort_by: z.enum(threadOrders).default("created_at"),
    sort_order: z.enum(["asc", "desc"]).default("desc"),
    select: z.array(z.string().max(50)).max(20).optional().describe("Fields of the answer."),
  })
  .meta({ id: "LangGraphThreadSearch" });
const countBody = z.object(filter).meta({ id: "LangGraphThreadCount" });

/** Threads of one request of pruning. */
const maxPruned = 100;

/** Creates the routes of threads of LangGraph's protocol. */
export function threadRoutes(base: ApiBase): readonly Route[] {
  const { platform, runtimes } = base;
  const states = new ThreadStates(base);

  const find = async (tenantId: string, threadId: string): Promise<FoundThread> => {
    const thread = await platform.threads.find(tenantId, threadId);
    if (thread === null) throw new NotFoundError("thread", threadId);
    return thread;
  };
  const present = <T>(principal: Principal, work: (by: ThreadPresenter) => Promise<T>) =>
    runtimes.use(principal.tenantId, ({ runtime }) =>
      work(new ThreadPresenter(runtime, principal)),
    );
  const shown = async (principal: Principal, threadId: string): Promise<ShownThread> => {
    const thread = await find(principal.tenantId, threadId);
    return present(principal, (by) => by.show(thread));
  };
  const thread = { description: "The thread.", schema: threadSchema };

  return [
    defineRoute({
      method: "post",
      path: "/threads",
      operationId: "createLangGraphThread",
      summary: "Creates a thread.",
      tag,
      scopes: ["runs:write"],
      body: createBody,
      answers: { 200: thread },
      problems: ["conflict", "invalid_input"],
      async handle({ body, principal }) {
        const { tenantId } = principal;
        const { metadata = {}, supersteps: steps = [] } = body;
        const threadId = body.thread_id ?? base.ids();
        if (steps.length > 0) states.checkUpdates(principal, steps);
        const given = { threadId, agent: null, metadata };
        const { isNew } = await platform.instances.create(tenantId, given);
        if (!isNew && body.if_exists === "raise") {
          throw new HttpProblem("conflict", {
            detail: "There is a thread with this id. Use it with if_exists: do_nothing.",
          });
        }
        if (steps.length > 0) {
          try {
            await states.update(principal, { threadId, supersteps: steps });
          } catch (thrown) {
            if (isNew) await deleteThread(base, principal, { threadId });
            throw thrown;
          }
        }
        return { status: 200, body: await shown(principal, threadId) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/search",
      operationId: "searchLangGraphThreads",
      summary: "Lists threads by metadata, status, ids and values.",
      description:
        "`values` is null for threads whose states would make the answer larger than 33,554,432 bytes.",
      tag,
      scopes: ["runs:read"],
      body: searchBody,
      answers: {
        200: {
          description: "The threads.",
          schema: z.array(z.looseObject({})),
          headers: {
            "X-Pagination-Next": "The offset of the next page; absent at the end.",
            "X-Pagination-Total": "Threads up to here, and one more if there are more.",
          },
        },
      },
      problems: ["invalid_input"],
      async handle({ body, principal }) {
        const { limit, offset, sort_by, sort_order, select } = body;
        const query = { ...filterOf(body), limit, offset, sortBy: sort_by, order: sort_order };
        // A filter by values tells what states hold.
        if (body.values !== undefined) checkScopes(principal, ["checkpoints:read"]);
        const withState =
          select === undefined || select.includes("values") || select.includes("interrupts");
        return present(principal, async (by) => {
          const finder = new ThreadFinder(platform.threads, principal.tenantId, by);
          const { matches, hasMore } = await finder.page(query, body.values);
          const threads: object[] = [];
          for (const { thread: found, head } of matches)
            threads.push(pick(await by.show(found, withState ? head : null), select));
          const next = offset + matches.length;
          return {
            status: 200,
            body: threads,
            headers: {
              ...(hasMore && { "X-Pagination-Next": String(next) }),
              "X-Pagination-Total": String(hasMore ? next + 1 : next),
            },
          };
        });
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/count",
      operationId: "countLangGraphThreads",
      summary: "Counts threads by metadata, status and values.",
      tag,
      scopes: ["runs:read"],
      body: countBody,
      answers: { 200: { description: "How many there are.", schema: z.int() } },
      problems: ["invalid_input"],
      async handle({ body, principal }) {
        // A filter by values tells what states hold.
        if (body.values !== undefined) checkScopes(principal, ["checkpoints:read"]);
        const count = await present(principal, (by) =>
          new ThreadFinder(platform.threads, principal.tenantId, by).count(
            filterOf(body),
            body.values,
          ),
        );
        return { status: 200, body: count };
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/prune",
      operationId: "pruneLangGraphThreads",
      summary: "Deletes threads, or all their checkpoints but the newest.",
      description:
        "Unknown threads are left out. Nothing is pruned while a run of one is queued or running.",
      tag,
      scopes: ["runs:write"],
      body: z
        .object({
          thread_ids: z.array(textUpTo(255)).max(maxPruned),
          strategy: z.enum(["delete", "keep_latest"]).default("delete"),
        })
        .meta({ id: "LangGraphThreadPrune" }),
      answers: {
        200: {
          description: "How many threads were pruned.",
          schema: z.strictObject({ pruned_count: z.int() }),
        },
      },
      problems: ["conflict"],
      async handle({ body, principal }) {
        const { tenantId } = principal;
        const asked = [...new Set(body.thread_ids)];
        const found = await platform.threads.search(tenantId, {
          threadIds: asked,
          limit: maxPruned,
        });
        for (const { threadId } of found) await refuseUnderWay(base, tenantId, threadId);
        for (const { threadId } of found) {
          if (body.strategy === "delete") await deleteThread(base, principal, { threadId });
          else await states.keepLatest(tenantId, threadId);
        }
        return { status: 200, body: { pruned_count: found.length } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}",
      operationId: "getLangGraphThread",
      summary: "Reads a thread with its newest state.",
      tag,
      scopes: ["runs:read"],
      params: threadParams,
      query: z.strictObject({
        include: z.string().max(200).optional().describe("Ignored: threads have no `ttl`."),
      }),
      answers: { 200: thread },
      async handle({ params, principal }) {
        return { status: 200, body: await shown(principal, params.thread_id) };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/threads/{thread_id}",
      operationId: "patchLangGraphThread",
      summary: "Merges entries into the metadata of a thread.",
      tag,
      scopes: ["runs:write"],
      params: threadParams,
      body: z.object({ metadata: anything }).meta({ id: "LangGraphThreadPatch" }),
      headers: { Prefer: "`return=minimal` for an answer without the thread." },
      answers: { 200: thread, 204: { description: "Changed, with `Prefer: return=minimal`." } },
      problems: ["invalid_input"],
      async handle({ params, body, principal, request }) {
        const { thread_id: threadId } = params;
        const { instances } = platform;
        const changed = await instances.mergeMetadata(principal.tenantId, threadId, body.metadata);
        if (changed === null) throw new NotFoundError("thread", threadId);
        if (request.headers.get("prefer") === "return=minimal") return { status: 204 };
        return { status: 200, body: await shown(principal, threadId) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/threads/{thread_id}",
      operationId: "deleteLangGraphThread",
      summary: "Deletes a thread with its runs and states.",
      tag,
      scopes: ["runs:write"],
      params: threadParams,
      answers: { 204: { description: "Deleted." } },
      problems: ["conflict"],
      async handle({ params, principal }) {
        await deleteThread(base, principal, { threadId: params.thread_id });
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/copy",
      operationId: "copyLangGraphThread",
      summary: "Copies a thread with its newest state.",
      description: "The copy has no runs, and its history begins with the copied state.",
      tag,
      scopes: ["runs:write"],
      params: threadParams,
      answers: { 200: thread },
      problems: ["conflict"],
      async handle({ params, principal }) {
        const original = await find(principal.tenantId, params.thread_id);
        const threadId = base.ids();
        const { agent, definitionId } = original;
        const metadata = { ...metadataOf(original), thread_id: threadId };
        const isCopied = await states.copy(principal.tenantId, params.thread_id, threadId);
        try {
          const given = { threadId, agent, definitionId, metadata };
          await platform.instances.create(principal.tenantId, given);
        } catch (thrown) {
          if (isCopied) await states.remove(principal.tenantId, threadId);
          throw thrown;
        }
        return { status: 200, body: await shown(principal, threadId) };
      },
    }),
  ];
}

function filterOf({
  metadata,
  status,
  ids,
}: z.output<typeof countBody> & { readonly ids?: string[] | undefined }) {
  return {
    ...(metadata !== undefined && { metadata }),
    ...(status !== undefined && { state: status }),
    ...(ids !== undefined && ids.length > 0 && { threadIds: ids }),
  };
}

function pick(thread: ShownThread, select: readonly string[] | undefined): object {
  if (select === undefined) return thread;
  return Object.fromEntries(Object.entries(thread).filter(([name]) => select.includes(name)));
}

import { z } from "zod";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { pageAnswer, pageSchema, textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
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

const threadParams = z.strictObject({
  thread_id: textUpTo(255).describe("Id of the thread."),
});
const checkpointParams = threadParams.extend({
  checkpoint_id: z.string().min(1).max(100).describe("Id of a checkpoint of the thread."),
});

/** Creates the routes that read the checkpoints of a thread, also of one without a run. */
export function threadCheckpointRoutes({ platform, runtimes }: ApiBase): readonly Route[] {
  /** @throws NotFoundError for a thread of another tenant */
  const checkThread = async (tenantId: string, threadId: string) => {
    if ((await platform.instances.onThread(tenantId, threadId)) !== null) return;
    throw new NotFoundError("thread", threadId);
  };
  return [
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/checkpoints",
      operationId: "listThreadCheckpoints",
      summary: "Lists the checkpoints of a thread, newest first.",
      tag: "checkpoints",
      scopes: ["checkpoints:read"],
      params: threadParams,
      query: listQuery,
      answers: {
        200: {
          description: "A page of checkpoints.",
          schema: pageSchema("checkpoints", checkpointSchema),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal: { tenantId }, request }) {
        const { thread_id: threadId } = params;
        await checkThread(tenantId, threadId);
        const page = await runtimes.use(tenantId, ({ runtime }) =>
          pageOfCheckpoints(runtime, threadId, query),
        );
        return pageAnswer(request, page, { name: "checkpoints", item: checkpointOf });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/checkpoints/{checkpoint_id}",
      operationId: "getThreadCheckpoint",
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
        const { thread_id: threadId, checkpoint_id: checkpointId } = params;
        await checkThread(principal.tenantId, threadId);
        const of = { threadId, checkpointId, principal };
        const body = await runtimes.use(principal.tenantId, ({ runtime }) =>
          readState(runtime, of, query),
        );
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/checkpoints/{checkpoint_id}/diff",
      operationId: "diffThreadCheckpoints",
      summary: "Compares a checkpoint of a thread with its parent, or with another one.",
      tag: "checkpoints",
      scopes: ["checkpoints:read"],
      params: checkpointParams,
      query: diffQuery,
      answers: { 200: { description: "The changes by channel.", schema: diffSchema } },
      problems: ["conflict", "invalid_input"],
      async handle({ params, query, principal }) {
        const { thread_id: threadId, checkpoint_id: checkpointId } = params;
        await checkThread(principal.tenantId, threadId);
        const of = { threadId, checkpointId, principal };
        const body = await runtimes.use(principal.tenantId, ({ runtime }) =>
          readDiff(runtime, of, query),
        );
        return { status: 200, body };
      },
    }),
  ];
}

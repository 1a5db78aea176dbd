import { z } from "zod";
import type { PathEntry } from "../../runtime/threads/path.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { integerParameter, parameterText, textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { checkCursor } from "./checkpoint-reads.ts";

const pathEntry = z
  .strictObject({
    namespace: z.string().describe("Empty for the thread itself."),
    within: z
      .array(z.string())
      .describe("The nodes around a nested agent, outermost first; subtasks by their ids."),
    node: z.string(),
    turn: z.int(),
    attempt: z.int().describe("Of the turn in its namespace, from 0."),
    superstep: z.int().describe("Nodes of one superstep of a namespace ran in parallel."),
    lane: z.int().describe("Position among the nodes of its superstep, from 0."),
    outcome: z
      .enum(["success", "interrupted", "failure", "pending"])
      .describe("`failure`: it threw, and runs again when the thread is resumed."),
    started_at: z.string().nullable().describe("Null if the checkpoint before is not stored."),
    ended_at: z.string().nullable().describe("Null until it has ended."),
    checkpoint_id: z.string().nullable().describe("The checkpoint after it; null until then."),
    was_interrupted: z.boolean().describe("Whether its superstep waited for an answer."),
    had_failed: z.boolean().describe("Whether a task of its superstep threw before it ended."),
    is_current: z
      .boolean()
      .describe("False for what a replay from an earlier checkpoint left behind."),
  })
  .meta({ id: "PathEntry" });

const threadParams = z.strictObject({ thread_id: textUpTo(255).describe("Id of the thread.") });

/** Creates the routes of what a thread and its nested agents ran. */
export function pathRoutes({ platform, runtimes }: ApiBase): readonly Route[] {
  /** @throws NotFoundError for a thread of another tenant */
  const checkThread = async (tenantId: string, threadId: string) => {
    if ((await platform.instances.onThread(tenantId, threadId)) !== null) return;
    throw new NotFoundError("thread", threadId);
  };
  return [
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/path",
      operationId: "getPath",
      summary: "Lists the nodes that a thread and its nested agents ran, in order of their ends.",
      description:
        "Read from the metadata of the newest 10,000 checkpoints. The last page has the nodes that run next, without an end. A page may go over `limit` for the nodes of one superstep. `cursor` may be the id of any checkpoint.",
      tag: "threads",
      scopes: ["checkpoints:read"],
      params: threadParams,
      query: z.strictObject({
        limit: integerParameter({
          from: 1,
          to: 10_000,
          default: 1_000,
          description: "Nodes of a page.",
        }),
        cursor: parameterText.describe("`next_cursor` of the page before.").optional(),
      }),
      answers: {
        200: {
          description: "A page of the path.",
          schema: z
            .strictObject({
              path: z.array(pathEntry),
              is_cut: z.boolean().describe("Whether older checkpoints are left out."),
              next_cursor: z.string().nullable().describe("Null at the end."),
            })
            .meta({ id: "ThreadPath" }),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal: { tenantId } }) {
        const { limit } = query;
        const cursor = checkCursor(query.cursor) ?? "";
        await checkThread(tenantId, params.thread_id);
        const { entries, isCut } = await runtimes.use(tenantId, ({ runtime }) =>
          runtime.threads.path(params.thread_id).catch(emptyBeforeFirst),
        );
        const isAfter = ({ checkpointId: id }: PathEntry) => id === null || id > cursor;
        const rest = entries.filter(isAfter);
        const last = rest[limit - 1]?.checkpointId ?? null;
        const end =
          last === null
            ? -1
            : rest.findIndex(({ checkpointId: id }) => id !== last && (id === null || id > last));
        const page = end === -1 ? rest : rest.slice(0, end);
        const next = end === -1 ? null : last;
        return {
          status: 200,
          body: { path: page.map(entryOf), is_cut: isCut, next_cursor: next },
        };
      },
    }),
  ];
}

/** A thread has no checkpoint before its first run began. */
function emptyBeforeFirst(thrown: unknown): { entries: readonly PathEntry[]; isCut: boolean } {
  if ((Object(thrown) as { code?: unknown }).code !== "no_checkpoint") throw thrown;
  return { entries: [], isCut: false };
}

function entryOf(of: PathEntry): z.output<typeof pathEntry> {
  const { namespace, node, turn, attempt, superstep, lane, outcome } = of;
  return {
    namespace,
    within: [...of.within],
    node,
    turn,
    attempt,
    superstep,
    lane,
    outcome,
    started_at: of.startedAt,
    ended_at: of.endedAt,
    checkpoint_id: of.checkpointId,
    was_interrupted: of.wasInterrupted,
    had_failed: of.hadFailed,
    is_current: of.isCurrent,
  };
}

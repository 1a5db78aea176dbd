import { isOfThread } from "../../api/changes.ts";
import { api, bodyOf } from "../../api/client.ts";
import { type GrowingList, useGrowingList } from "../../api/growing-list.ts";
import { type Loaded, useQuery } from "../../api/query.ts";
import type { PathEntry, Run, Step, Thread } from "./thread-records.ts";

export function useThread(threadId: string): Loaded<Thread> {
  return useQuery(
    `thread ${threadId}`,
    (signal) =>
      bodyOf(
        api.GET("/v1/threads/{thread_id}", { params: { path: { thread_id: threadId } }, signal }),
      ),
    { refreshOn: isOfThread(threadId) },
  );
}

/** The newest 100 runs of a thread, newest first. */
export function useRuns(threadId: string): Loaded<readonly Run[]> {
  return useQuery(
    `runs ${threadId}`,
    async (signal) => {
      const query = { thread_id: threadId, limit: 100 };
      return (await bodyOf(api.GET("/v1/runs", { params: { query }, signal }))).runs;
    },
    { refreshOn: isOfThread(threadId) },
  );
}

/** A run with how its last turn ended. */
export function useRun(run: Run | undefined) {
  const { run_id: runId = "", agent_id: agentId = null, status = "" } = run ?? {};
  return useQuery(agentId === null ? null : `run ${runId} ${status}`, (signal) =>
    bodyOf(
      api.GET("/v1/agents/{agent_id}/runs/{run_id}", {
        params: { path: { agent_id: agentId ?? "", run_id: runId } },
        signal,
      }),
    ),
  );
}

/** All steps of a thread, or of a nested agent in it, without their texts. */
export function useSteps(threadId: string, namespace: string): GrowingList<Step> {
  return useGrowingList<Step>(`steps ${threadId} ${namespace}`, {
    load: async (cursor, signal) => {
      const body = await bodyOf(
        api.GET("/v1/threads/{thread_id}/steps", {
          params: {
            path: { thread_id: threadId },
            query: {
              limit: 500,
              brief: "true",
              ...(cursor !== null && { cursor }),
              ...(namespace !== "" && { namespace }),
            },
          },
          signal,
        }),
      );
      return { items: body.steps, next: body.next_cursor };
    },
    cursorOf: (step) => (step.is_open ? null : step.id),
    refreshOn: isOfThread(threadId),
  });
}

/** All nodes that a thread and its nested agents ran, and those that run. */
export function usePath(threadId: string): GrowingList<PathEntry> {
  return useGrowingList<PathEntry>(`path ${threadId}`, {
    load: async (cursor, signal) => {
      const body = await bodyOf(
        api.GET("/v1/threads/{thread_id}/path", {
          params: {
            path: { thread_id: threadId },
            query: { limit: 2_000, ...(cursor !== null && { cursor }) },
          },
          signal,
        }),
      );
      return { items: body.path, next: body.next_cursor };
    },
    cursorOf: ({ checkpoint_id: id }) => id,
    refreshOn: isOfThread(threadId),
  });
}

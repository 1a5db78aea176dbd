import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { waitsOfSubtasks } from "../../compile/planner/subtask-log.ts";
import { isRecord } from "../../state/is-record.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { publicRequest, requestOf } from "../../compile/waiting-requests.ts";
import { namespaceInside, namespaceOf, pendingTasks } from "../../compile/pending-tasks.ts";

/** What people are asked at a checkpoint, in agents inside of it too. */
export async function storedRequests(
  checkpointer: Pick<BaseCheckpointSaver, "getTuple">,
  tuple: CheckpointTuple,
): Promise<readonly PendingRequest[]> {
  const found = new Map<string, PendingRequest>();
  for (const { id, value } of waitsOfSubtasks(tuple.pendingWrites ?? [])) {
    found.set(String(id), publicRequest(requestOf(String(id), value, "subtask")));
  }
  for (const task of pendingTasks(tuple)) {
    if (task.state !== "interrupted") continue;
    const namespace = namespaceInside(task, namespaceOf(tuple));
    const thread_id: unknown = tuple.config.configurable?.["thread_id"];
    const inside = await checkpointer.getTuple({
      configurable: { thread_id, checkpoint_ns: namespace },
    });
    // Before version 1.7 LangGraph kept one interrupt with a task: of a graph inside of it, the last.
    const requests = inside === undefined ? [] : await storedRequests(checkpointer, inside);
    const own = (tuple.pendingWrites ?? []).flatMap(([id, channel, value]) =>
      id === task.id && channel === "__interrupt__" ? requestsIn(value, task.node) : [],
    );
    for (const request of requests.length > 0 ? requests : own) found.set(request.id, request);
  }
  return [...found.values()];
}

/** LangGraph stores the interrupts of a task as a list; before version 1.7 it stored one of them. */
function requestsIn(value: unknown, node: string): readonly PendingRequest[] {
  return [value].flat().flatMap((one: unknown) => {
    if (!isRecord(one)) return [];
    return [publicRequest(requestOf(String(one["id"]), one["value"], node))];
  });
}

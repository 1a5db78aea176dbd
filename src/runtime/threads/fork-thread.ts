import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { tryUpdate } from "../../compile/check-update.ts";
import { holdThread } from "../../compile/hold-thread.ts";
import { refuseOthers } from "../definition-changed.ts";
import { InvalidRunOptionError } from "../errors.ts";
import { graphOf } from "../run-turn.ts";
import { checkThreadId } from "../thread-id.ts";
import { amendCheckpoint } from "./amend-checkpoint.ts";
import { hasAnsweredTask, pendingTasks } from "../../compile/pending-tasks.ts";
import { valuesOf } from "./stored-state.ts";
import { archiveOf, checkpointAt, checkpointerOf, type ThreadServices } from "./thread-services.ts";
import type { CheckpointRef, ForkOptions } from "./threads.ts";

/** Everything is checked before anything is written. */
export async function forkThread(
  services: ThreadServices,
  options: ForkOptions,
): Promise<CheckpointRef> {
  const archive = archiveOf(services, "fork", "forkThread", "listSummaries", "settled");
  const checkpointer = checkpointerOf(services);
  const { checkpointId } = options;
  const threadId = checkThreadId(options.threadId);
  const newThreadId = checkThreadId(options.newThreadId ?? services.run.ids());
  await archive.settled(threadId);
  const tuple = await checkpointAt(services, { threadId, checkpointId });
  const values = await modifiedValues(services, tuple, options);
  const [last] = (await archive.listSummaries({ threadId, limit: 1 })).items;
  // What came next at an old checkpoint is stored with it, and would be applied as it was.
  const isPast = last?.id !== tuple.checkpoint.id && pendingTasks(tuple).length > 0;
  return holdThread(services.run, newThreadId, async () => {
    await archive.forkThread({ threadId, checkpointId: tuple.checkpoint.id, newThreadId });
    try {
      if (values === null && !isPast && !(await isAnsweredIn(checkpointer, newThreadId)))
        return { threadId: newThreadId, checkpointId: tuple.checkpoint.id };
      const copied = await checkpointAt(services, { threadId: newThreadId });
      const { configurable } = await amendCheckpoint(checkpointer, copied, {
        values: values ?? {},
      });
      await archive.settled(newThreadId);
      return { threadId: newThreadId, checkpointId: String(configurable?.["checkpoint_id"]) };
    } catch (thrown) {
      await checkpointer.deleteThread(newThreadId);
      throw thrown;
    }
  });
}

/** Whether answers to the thread it was forked from would count in a thread, also those to agents inside. */
async function isAnsweredIn(checkpointer: BaseCheckpointSaver, threadId: string): Promise<boolean> {
  // There is one checkpoint for each agent.
  for await (const tuple of checkpointer.list({ configurable: { thread_id: threadId } })) {
    if (hasAnsweredTask(tuple)) return true;
  }
  return false;
}

/** What the fork is to have instead of what is stored; null where that is nothing. */
async function modifiedValues(
  { run }: ThreadServices,
  tuple: CheckpointTuple,
  options: ForkOptions,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { agent, modifiedState } = options;
  if (agent === undefined) {
    if (modifiedState === undefined) return null;
    throw new InvalidRunOptionError(
      "agent",
      "modifiedState is checked against the agent's definition; pass the agent with it",
    );
  }
  const graph = await graphOf(agent, run);
  await refuseOthers(graph, tuple, { ...options, checkpointer: run.checkpointer });
  if (modifiedState === undefined) return null;
  const { channels } = graph;
  const values = tryUpdate({ definition: agent, channels }, valuesOf(tuple), modifiedState);
  return Object.keys(values).length === 0 ? null : values;
}

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  getCheckpointId,
  type BaseCheckpointSaver,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { namespaceInside, namespaceOf, pendingTasks } from "../../compile/pending-tasks.ts";
import {
  soundCheckpoint,
  type CheckpointSource,
  type SkippedCheckpoint,
} from "./sound-checkpoint.ts";

/** How far what is pending at a checkpoint has come. */
export type Progress =
  /** Nothing is pending. */
  | "over"
  /** All that has not ended waits for people. */
  | "waiting"
  /** Everything has ended and is stored, and has only to be applied. */
  | "applicable"
  /** Something has to run. */
  | "runnable";

export function progressAt(tuple: CheckpointTuple): Progress {
  const states = pendingTasks(tuple).map(({ state }) => state);
  if (states.length === 0) return "over";
  const left = states.filter((state) => state !== "done");
  if (left.length === 0) return "applicable";
  return left.every((state) => state === "interrupted") ? "waiting" : "runnable";
}

/** What agents inside of a checkpoint's tasks go on from. */
export interface InsideStart {
  /** Checkpoints by namespace, where it is not the last one. */
  readonly checkpoints: Readonly<Record<string, string>>;
  readonly skipped: readonly SkippedCheckpoint[];
  /** Whether an agent has no sound checkpoint at all, and begins its turn again. */
  readonly beginsAgain: boolean;
}

/** Looks through the agents that are under way inside of a checkpoint's tasks, however deep. */
export async function insideStart(
  source: CheckpointSource,
  tuple: CheckpointTuple,
): Promise<InsideStart> {
  const checkpoints: Record<string, string> = {};
  const skipped: SkippedCheckpoint[] = [];
  const threadId = String(tuple.config.configurable?.["thread_id"]);
  for (const task of pendingTasks(tuple)) {
    if (task.state === "done") continue;
    const namespace = namespaceInside(task, namespaceOf(tuple));
    const found = await soundCheckpoint(source, { threadId, namespace }).catch(noneSound);
    if ("thrown" in found) return { checkpoints, skipped: found.skipped, beginsAgain: true };
    if (found.tuple === null) continue;
    if (found.skipped.length > 0) checkpoints[namespace] = found.tuple.checkpoint.id;
    const deeper = await insideStart(source, found.tuple);
    skipped.push(...found.skipped, ...deeper.skipped);
    if (deeper.beginsAgain) return { checkpoints, skipped, beginsAgain: true };
    Object.assign(checkpoints, deeper.checkpoints);
  }
  return { checkpoints, skipped, beginsAgain: false };
}

function noneSound(thrown: unknown): { thrown: unknown; skipped: readonly SkippedCheckpoint[] } {
  const { code, checkpointId, reason } = thrown as Record<string, unknown>;
  if (code !== "corrupt_checkpoint") throw thrown;
  return {
    thrown,
    skipped: [{ checkpointId: String(checkpointId), cause: "damaged", reason: String(reason) }],
  };
}

/**
 * A config that makes LangGraph go on from the given checkpoints, by namespace, as if they were the last ones. Asked for
 * a checkpoint by its id, LangGraph forks it, and runs again what has ended there.
 */
export function startFrom(
  checkpointer: BaseCheckpointSaver,
  threadId: string,
  checkpoints: Readonly<Record<string, string>>,
): RunnableConfig {
  return {
    configurable: {
      thread_id: threadId,
      checkpoint_ns: "",
      ...(Object.keys(checkpoints).length > 0 && {
        __pregel_checkpointer: withLast(checkpointer, new Map(Object.entries(checkpoints))),
      }),
    },
  };
}

/** A saver that gives `last` for the last checkpoint of a namespace, until one is put there. */
function withLast(
  checkpointer: BaseCheckpointSaver,
  last: Map<string, string>,
): BaseCheckpointSaver {
  const own: Pick<BaseCheckpointSaver, "getTuple" | "put"> = {
    getTuple: (config) => {
      const { configurable = {} } = config;
      const id = last.get(namespaceOf({ config }));
      if (id === undefined || getCheckpointId(config) !== "") return checkpointer.getTuple(config);
      return checkpointer.getTuple({ configurable: { ...configurable, checkpoint_id: id } });
    },
    put: (config, ...checkpoint) => {
      last.delete(namespaceOf({ config }));
      return checkpointer.put(config, ...checkpoint);
    },
  };
  return new Proxy(checkpointer, {
    get(target, key) {
      const value: unknown = Object.hasOwn(own, key)
        ? Reflect.get(own, key)
        : Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

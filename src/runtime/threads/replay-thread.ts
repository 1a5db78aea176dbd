import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { stampOf } from "../../compile/definition-stamps.ts";
import { holdThread } from "../../compile/hold-thread.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { GraphState } from "../../state/channels.ts";
import { refuseOthers } from "../definition-changed.ts";
import { NothingToResumeError } from "../errors.ts";
import type { ExecuteResult } from "../run-result.ts";
import { prepareRun, runTurn, threadConfig, type PreparedRun } from "../run-turn.ts";
import { checkThreadId } from "../thread-id.ts";
import { amendCheckpoint } from "./amend-checkpoint.ts";
import { pendingTasks } from "../../compile/pending-tasks.ts";
import { valuesOf } from "./stored-state.ts";
import { checkpointAt, checkpointerOf, type ThreadServices } from "./thread-services.ts";
import type { ReplayOptions } from "./threads.ts";

export async function replayThread(
  services: ThreadServices,
  agent: AgentDefinition,
  options: ReplayOptions,
): Promise<ExecuteResult> {
  const { threadId, checkpointId } = options;
  checkThreadId(threadId);
  const checkpointer = checkpointerOf(services);
  const run = await prepareRun(agent, services.run, options);
  return holdThread(services.run, threadId, async (held) => {
    const tuple = await checkpointAt(services, { threadId, checkpointId });
    await refuseOthers(run.graph, tuple, { ...options, checkpointer });
    const { turn, status } = valuesOf(tuple) as Partial<GraphState>;
    if (pendingTasks(tuple).length === 0) {
      throw new NothingToResumeError(threadId, status ?? "CREATED");
    }
    // Another run of the turn: what its calls gave the first time is not theirs.
    const values = turn === undefined ? {} : { turn: { ...turn, run: services.run.ids() } };
    held.lost?.throwIfAborted();
    await newBranch(services, { run, tuple, values });
    return runTurn(run, { held, input: null, start: threadConfig(threadId) });
  });
}

/** Makes a checkpoint the one that its thread goes on from, whatever has come after it. */
export function newBranch(
  services: ThreadServices,
  of: { run: PreparedRun; tuple: CheckpointTuple; values: Readonly<Record<string, unknown>> },
): Promise<RunnableConfig> {
  const hash = stampOf(of.run.graph)?.hash;
  return amendCheckpoint(checkpointerOf(services), of.tuple, {
    values: of.values,
    ...(hash !== undefined && { definitionHash: hash }),
  });
}

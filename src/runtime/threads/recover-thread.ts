import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { acceptingDamage } from "../../compile/loop/call-rules.ts";
import type { GraphState } from "../../state/channels.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { definitionHashIn, refuseChanges } from "../definition-changed.ts";
import { holdThread } from "../hold-thread.ts";
import { prepareRun, runTurn, type PreparedRun } from "../run-turn.ts";
import type { ExecuteResult } from "../run-result.ts";
import { checkThreadId } from "../thread-id.ts";
import { archiveIn } from "./archive.ts";
import { channelWarnings } from "./channel-warnings.ts";
import { insideStart, progressAt, startFrom, type InsideStart } from "./recovery-start.ts";
import { newBranch } from "./replay-thread.ts";
import { soundCheckpoint, type SoundCheckpoint } from "./sound-checkpoint.ts";
import { storedRequests } from "./stored-requests.ts";
import { valuesOf } from "./stored-state.ts";
import { checkpointerOf, type ThreadServices } from "./thread-services.ts";
import type { CheckpointRef, RecoverOptions, Recovery } from "./threads.ts";
import type { SettledCall } from "./watch-journal.ts";

export async function recoverThread(
  services: ThreadServices,
  agent: AgentDefinition,
  options: RecoverOptions,
): Promise<Recovery> {
  const { threadId, checkpointId, acceptChanges, ...turnOptions } = options;
  checkThreadId(threadId);
  const checkpointer = checkpointerOf(services);
  const archive = archiveIn(checkpointer, ["listSummaries", "settled"]);
  const run = await prepareRun(agent, services.run, turnOptions);
  return holdThread(services.run, threadId, async (lost) => {
    await archive?.settled(threadId);
    const source = { checkpointer, archive };
    const found = await soundCheckpoint(source, { threadId, namespace: "", checkpointId });
    const { tuple } = found;
    if (tuple === null) throw services.noCheckpoint(threadId, checkpointId ?? null);
    const madeUnder = definitionHashIn(tuple.metadata);
    await refuseChanges(run.graph, { threadId, madeUnder, acceptChanges, checkpointer });
    const inside = await insideStart(source, tuple);
    return goOn(services, { run, threadId, tuple, found, inside, lost });
  });
}

interface Located {
  readonly run: PreparedRun;
  readonly threadId: string;
  readonly tuple: CheckpointTuple;
  readonly found: SoundCheckpoint;
  readonly inside: InsideStart;
  readonly lost: AbortSignal | undefined;
}

async function goOn(services: ThreadServices, of: Located): Promise<Recovery> {
  const { run, threadId, tuple, found, inside } = of;
  const progress = progressAt(tuple);
  const known = {
    threadId,
    from: { threadId, checkpointId: tuple.checkpoint.id },
    skipped: [...found.skipped, ...inside.skipped],
    warnings: channelWarnings(tuple, run.graph),
    settled: [],
    waiting: [],
    result: null,
  };
  // What has ended at an old checkpoint is applied as it is; anything else has to become the last checkpoint first.
  const asItIs = !inside.beginsAgain && (found.isLast || progress === "applicable");
  of.lost?.throwIfAborted();
  if (!asItIs) await newBranch(services, { run, tuple, values: {} });
  if (progress === "over") {
    return { ...known, reason: "over", message: overMessage(threadId, tuple, found) };
  }
  if (progress === "waiting" && asItIs && inside.skipped.length === 0) {
    const waiting = await storedRequests(checkpointerOf(services), tuple);
    return { ...known, reason: "waiting", message: waitingMessage(threadId, waiting), waiting };
  }
  const root: Record<string, string> = found.isLast ? {} : { "": tuple.checkpoint.id };
  const checkpoints = asItIs ? { ...root, ...inside.checkpoints } : {};
  const settled: SettledCall[] = [];
  const unwatch = services.journal?.watch(threadId, (call) => settled.push(call));
  try {
    // Who recovers a thread is told of damage, and decides what becomes of it.
    const start = acceptingDamage(startFrom(threadId, checkpoints));
    const result = await runTurn(run, { threadId, input: null, start, lost: of.lost });
    const message = resumedMessage(result, settled, known.from);
    const { interrupts: waiting } = result;
    return { ...known, settled, reason: "resumed", message, waiting, result };
  } finally {
    unwatch?.();
  }
}

/** Calls that were not made again, though their results are lost, need a person. */
function resumedMessage(
  { threadId, status }: ExecuteResult,
  settled: readonly SettledCall[],
  from: CheckpointRef,
): string {
  const resumed = `Thread "${threadId}" went on, and is ${status}.`;
  const lost = settled.filter(({ state, idempotent }) => state === "damaged" && !idempotent);
  if (lost.length === 0) return resumed;
  const calls = lost.map(({ tool, callId }) => `${tool} (${callId})`).join(", ");
  return `${resumed} The records of these calls are damaged, and what came of them is not known: ${calls}. They were not made again: find out whether they took effect. Replay checkpoint ${from.checkpointId} to make them again.`;
}

function overMessage(threadId: string, tuple: CheckpointTuple, found: SoundCheckpoint): string {
  const { status = "CREATED" } = valuesOf(tuple) as Partial<GraphState>;
  const nothing = `Nothing is pending on thread "${threadId}": its last turn is ${status}.`;
  if (found.isLast) return nothing;
  return `${nothing} It goes on from checkpoint ${tuple.checkpoint.id}; what came after that is left behind.`;
}

function waitingMessage(threadId: string, waiting: readonly PendingRequest[]): string {
  const asked = waiting.map(({ node, prompt }) => `${node} (${prompt})`).join(", ");
  return `Thread "${threadId}" waits for people: ${asked}. Answer with executeAgent; there is nothing to recover.`;
}

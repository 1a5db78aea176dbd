import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { holdThread, type HeldThread } from "../../compile/hold-thread.ts";
import { acceptingDamage } from "../../compile/loop/call-rules.ts";
import type { GraphState } from "../../state/channels.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { deadEndAt } from "../dead-end.ts";
import { refuseOthers } from "../definition-changed.ts";
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
  const { threadId, checkpointId } = options;
  checkThreadId(threadId);
  const checkpointer = checkpointerOf(services);
  const archive = archiveIn(checkpointer, ["listSummaries", "settled"]);
  const run = await prepareRun(agent, services.run, options);
  return holdThread(services.run, threadId, async (held) => {
    await archive?.settled(threadId);
    const source = { checkpointer, archive };
    const deadEnd = (at: CheckpointTuple) => deadEndAt(at, run.graph);
    const found = await soundCheckpoint(source, {
      threadId,
      namespace: "",
      checkpointId,
      deadEnd,
    });
    const { tuple } = found;
    if (tuple === null) throw services.noCheckpoint(threadId, checkpointId ?? null);
    await refuseOthers(run.graph, tuple, { ...options, checkpointer });
    const inside = await insideStart(source, tuple);
    held.lost?.throwIfAborted();
    const isLast = found.isLast || (await removeStrays(checkpointer, threadId, found));
    return goOn(services, { run, tuple, found: { ...found, isLast }, inside, held });
  });
}

/**
 * Removes inputs that earlier versions wrote on top of a turn that had not ended. Nothing began from them, and only the
 * checkpoint below keeps what has ended and what is asked there.
 * @returns whether it is the last one now
 */
async function removeStrays(
  checkpointer: BaseCheckpointSaver,
  threadId: string,
  { skipped, isBelowSkipped }: SoundCheckpoint,
): Promise<boolean> {
  const archive = archiveIn(checkpointer, ["removeCheckpoints"]);
  if (archive === null || !isBelowSkipped) return false;
  if (skipped.some(({ cause }) => cause !== "stray_input")) return false;
  const checkpointIds = skipped.map(({ checkpointId }) => checkpointId);
  await archive.removeCheckpoints({ threadId, checkpointIds });
  return true;
}

interface Located {
  readonly run: PreparedRun;
  readonly tuple: CheckpointTuple;
  readonly found: SoundCheckpoint;
  readonly inside: InsideStart;
  readonly held: HeldThread;
}

async function goOn(services: ThreadServices, of: Located): Promise<Recovery> {
  const { run, held, tuple, found, inside } = of;
  const { threadId, lost } = held;
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
  // What has ended before a node that is not there any more leads to that node.
  const leadsOn = !found.skipped.some(({ cause }) => cause === "missing_node");
  // What has ended at an old checkpoint is applied as it is; anything else has to become the last checkpoint first.
  const asItIs = leadsOn && !inside.beginsAgain && (found.isLast || progress === "applicable");
  lost?.throwIfAborted();
  if (!asItIs) await newBranch(services, { run, tuple, values: {} });
  if (progress === "over") {
    return { ...known, reason: "over", message: overMessage(threadId, tuple, found) };
  }
  if (progress === "waiting" && asItIs && inside.skipped.length === 0) {
    const waiting = await storedRequests(checkpointerOf(services), tuple);
    const message = waitingMessage(threadId, waiting, known.skipped.length > 0);
    return { ...known, reason: "waiting", message, waiting };
  }
  const root: Record<string, string> = found.isLast ? {} : { "": tuple.checkpoint.id };
  const checkpoints = asItIs ? { ...root, ...inside.checkpoints } : {};
  const settled: SettledCall[] = [];
  const unwatch = services.journal?.watch(threadId, (call) => settled.push(call));
  try {
    // Who recovers a thread is told of damage, and decides what becomes of it.
    const start = acceptingDamage(startFrom(checkpointerOf(services), threadId, checkpoints));
    const result = await runTurn(run, { held, input: null, start });
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

function waitingMessage(
  threadId: string,
  waiting: readonly PendingRequest[],
  isRecovered: boolean,
): string {
  const asked = waiting.map(({ node, prompt }) => `${node} (${prompt})`).join(", ");
  const rest = isRecovered ? "" : "; there is nothing to recover";
  return `Thread "${threadId}" waits for people: ${asked}. Answer with executeAgent${rest}.`;
}

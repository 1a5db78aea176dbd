import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  type CheckpointTuple,
  getCheckpointId,
} from "@langchain/langgraph-checkpoint";
import { namespaceInside, namespaceOf, pendingTasks } from "../../compile/guards/waiting.ts";
import { recoveredMemories } from "../../compile/loop/loop-config.ts";
import { acceptingDamage } from "../../compile/loop/tools.ts";
import { type HeldThread, withThread } from "../../compile/run/acquire-thread.ts";
import { inspectorOf } from "../../compile/context-inspector.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { errorMessage } from "../../errors.ts";
import type { MemoryEntry } from "../../memory/entry.ts";
import type { GraphState } from "../../state/channels.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { refuseOthers } from "../definition-changed.ts";
import { checkThreadId, deadEndAt, refuseOtherUser } from "../errors.ts";
import type { ExecuteResult } from "../run-result.ts";
import { type PreparedRun, prepareRun, runTurn } from "../run-turn.ts";
import { durableSaver } from "../../durable-saver.ts";
import { checkpointerOf, type SettledCall, type ThreadServices } from "./services.ts";
import {
  type CheckpointSource,
  type SkippedCheckpoint,
  findIntactCheckpoint,
  type IntactCheckpoint,
} from "./intact-checkpoint.ts";
import { storedRequests, valuesOf } from "./stored.ts";
import type { CheckpointRef, RecoverOptions, Recovery } from "./threads.ts";
import { newBranch } from "./travel.ts";

export async function recoverThread(
  services: ThreadServices,
  agent: AgentDefinition,
  options: RecoverOptions,
): Promise<Recovery> {
  const { threadId, checkpointId } = options;
  checkThreadId(threadId);
  const checkpointer = checkpointerOf(services);
  const archive = durableSaver(checkpointer, ["listSummaries", "drain"]);
  const run = await prepareRun(agent, services.run, options);
  return withThread(services.run, threadId, async (held) => {
    await archive?.drain(threadId);
    const source = { checkpointer, archive };
    const deadEnd = (at: CheckpointTuple) => deadEndAt(at, run.graph);
    const found = await findIntactCheckpoint(source, {
      threadId,
      namespace: "",
      checkpointId,
      deadEnd,
    });
    const { tuple } = found;
    if (tuple === null) throw services.noCheckpoint(threadId, checkpointId ?? null);
    await refuseOthers(run.graph, tuple, { ...options, checkpointer });
    refuseOtherUser(tuple, options);
    const inside = await insideStart(source, tuple);
    held.lockLost?.throwIfAborted();
    const isLast = found.isLast || (await removeStrays(checkpointer, threadId, found));
    return resumeFrom(services, { run, tuple, found: { ...found, isLast }, inside, held });
  });
}

/**
 * Removes inputs that earlier versions wrote on top of an unfinished turn. They have no descendants, and only the
 * checkpoint below has the completed writes and pending requests.
 *
 * @returns whether that checkpoint is now the last one
 */
async function removeStrays(
  checkpointer: BaseCheckpointSaver,
  threadId: string,
  { skipped, isBelowSkipped }: IntactCheckpoint,
): Promise<boolean> {
  const archive = durableSaver(checkpointer, ["removeCheckpoints"]);
  if (archive === null || !isBelowSkipped) return false;
  if (skipped.some(({ cause }) => cause !== "stray_input")) return false;
  const checkpointIds = skipped.map(({ checkpointId }) => checkpointId);
  await archive.removeCheckpoints({ threadId, checkpointIds });
  return true;
}

interface Located {
  readonly run: PreparedRun;
  readonly tuple: CheckpointTuple;
  readonly found: IntactCheckpoint;
  readonly inside: InsideStart;
  readonly held: HeldThread;
}

async function resumeFrom(services: ThreadServices, of: Located): Promise<Recovery> {
  const { run, held, tuple, found, inside } = of;
  const { threadId, lockLost } = held;
  const progress = progressAt(tuple);
  const reread = await lastMemories(run, tuple, threadId);
  const known = {
    threadId,
    from: { threadId, checkpointId: tuple.checkpoint.id },
    skipped: [...found.skipped, ...inside.skipped],
    warnings: [...channelWarnings(tuple, run.graph), ...reread.warnings],
    memories: reread.memories,
    settled: [],
    waiting: [],
    result: null,
  };
  // Completed tasks that precede a missing node would lead to that node.
  const leadsOn = !found.skipped.some(({ cause }) => cause === "missing_node");
  // Completed writes at an old checkpoint are applied as they are; anything else must become the last checkpoint first.
  const asItIs = leadsOn && !inside.beginsAgain && (found.isLast || progress === "applicable");
  lockLost?.throwIfAborted();
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
    // The caller of `recover` receives the damage report and decides what to do.
    const start = recoveredMemories.with(
      acceptingDamage(startFrom(checkpointerOf(services), threadId, checkpoints)),
      reread.entries,
    );
    const result = await runTurn(run, { held, input: null, start });
    const message = resumedMessage(result, settled, known.from);
    const { interrupts: waiting } = result;
    return { ...known, settled, reason: "resumed", message, waiting, result };
  } finally {
    unwatch?.();
  }
}

/** Returns the entries of the agent in its thread that were accessed last. A failing store does not stop the recovery. */
async function lastMemories(
  run: PreparedRun,
  tuple: CheckpointTuple,
  threadId: string,
): Promise<Pick<Recovery, "memories" | "warnings"> & { readonly entries: readonly MemoryEntry[] }> {
  const memory = inspectorOf(run.graph)?.loop.memory ?? null;
  if (memory === null) return { entries: [], memories: [], warnings: [] };
  const { turn } = valuesOf(tuple) as Partial<GraphState>;
  try {
    const entries = await memory.recent({ threadId, user: turn?.user });
    const memories = entries.map(({ id, memory_type, last_accessed }) => {
      return { id, memory_type, last_accessed };
    });
    return { entries, memories, warnings: [] };
  } catch (thrown) {
    const warnings = [`the memory was not read: ${errorMessage(thrown)}`];
    return { entries: [], memories: [], warnings };
  }
}

/**
 * Builds the message of a resumed recovery. Calls that were not repeated although their results are lost need a person.
 */
function resumedMessage(
  { threadId, status }: ExecuteResult,
  settled: readonly SettledCall[],
  from: CheckpointRef,
): string {
  const resumed = `Thread "${threadId}" went on, and is ${status}.`;
  const lost = settled.filter(({ state, idempotent }) => state === "damaged" && !idempotent);
  if (lost.length === 0) return resumed;
  const calls = lost.map(({ tool, callId }) => `${tool} (${callId})`).join(", ");
  return `${resumed} The records of these calls are damaged, and their outcome is unknown: ${calls}. They were not repeated: check whether they took effect. Replay checkpoint ${from.checkpointId} to repeat them.`;
}

function overMessage(threadId: string, tuple: CheckpointTuple, found: IntactCheckpoint): string {
  const { status = "CREATED" } = valuesOf(tuple) as Partial<GraphState>;
  const nothing = `Nothing is pending on thread "${threadId}": its last turn is ${status}.`;
  if (found.isLast) return nothing;
  return `${nothing} It resumes from checkpoint ${tuple.checkpoint.id}; later checkpoints are left behind.`;
}

function waitingMessage(
  threadId: string,
  waiting: readonly PendingRequest[],
  isRecovered: boolean,
): string {
  const asked = waiting.map(({ node, prompt }) => `${node} (${prompt})`).join(", ");
  const rest = isRecovered ? "" : "; there is nothing to recover";
  const others = waiting.filter(({ kind }) => kind !== "wait");
  const isForCaller = others.every(({ kind }) => kind === "tool_calls");
  const whom =
    others.length === 0
      ? "a time or an event"
      : isForCaller
        ? "the results of client tools"
        : "people";
  return `Thread "${threadId}" waits for ${whom}: ${asked}. Answer with executeAgent${rest}.`;
}

/** Progress of the pending tasks at a checkpoint. */
export type Progress =
  /** Nothing is pending. */
  | "over"
  /** All unfinished tasks wait for people. */
  | "waiting"
  /** All tasks have completed and are stored; their writes must only be applied. */
  | "applicable"
  /** At least one task must run. */
  | "runnable";

function progressAt(tuple: CheckpointTuple): Progress {
  const states = pendingTasks(tuple).map(({ state }) => state);
  if (states.length === 0) return "over";
  const left = states.filter((state) => state !== "done");
  if (left.length === 0) return "applicable";
  return left.every((state) => state === "interrupted") ? "waiting" : "runnable";
}

/** The checkpoints from which nested agents resume. */
interface InsideStart {
  /** Checkpoints by namespace, for agents that do not resume from their last one. */
  readonly checkpoints: Readonly<Record<string, string>>;
  readonly skipped: readonly SkippedCheckpoint[];
  /** Whether a nested agent has no intact checkpoint and restarts its turn. */
  readonly beginsAgain: boolean;
}

/** Finds the checkpoints from which nested agents resume, at any depth. */
async function insideStart(source: CheckpointSource, tuple: CheckpointTuple): Promise<InsideStart> {
  const checkpoints: Record<string, string> = {};
  const skipped: SkippedCheckpoint[] = [];
  const threadId = String(tuple.config.configurable?.["thread_id"]);
  for (const task of pendingTasks(tuple)) {
    if (task.state === "done") continue;
    const namespace = namespaceInside(task, namespaceOf(tuple));
    const found = await findIntactCheckpoint(source, { threadId, namespace }).catch(
      noIntactCheckpoint,
    );
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

function noIntactCheckpoint(thrown: unknown): {
  thrown: unknown;
  skipped: readonly SkippedCheckpoint[];
} {
  const { code, checkpointId, reason } = thrown as Record<string, unknown>;
  if (code !== "corrupt_checkpoint") throw thrown;
  return {
    thrown,
    skipped: [{ checkpointId: String(checkpointId), cause: "damaged", reason: String(reason) }],
  };
}

/**
 * Returns a config that makes LangGraph resume from the given checkpoints, by namespace, as if they were the last ones.
 * With a checkpoint id, LangGraph would fork the checkpoint and repeat its completed tasks.
 */
function startFrom(
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

/** Wraps a saver so that `last` is the last checkpoint of a namespace until another is put there. */
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

/** Describes the channels that only the checkpoint has, and those that only the graph has. */
function channelWarnings(
  tuple: CheckpointTuple,
  graph: {
    readonly channels: Readonly<Record<string, unknown>>;
  },
): readonly string[] {
  const stored = Object.keys(valuesOf(tuple));
  const known = Object.keys(graph.channels).filter((name) => !/^(branch:|join:|__)/.test(name));
  const hasBegun = tuple.checkpoint.channel_versions["turn"] !== undefined;
  const written = new Set([...stored, ...Object.keys(tuple.checkpoint.channel_versions)]);
  // A turn that has not begun has not written them yet, and a channel with a default may be missing.
  const missing = hasBegun
    ? known.filter((channel) => !written.has(channel) && !hasDefault(graph.channels[channel]))
    : [];
  return [
    ...stored
      .filter((channel) => !known.includes(channel))
      .map((channel) => `the channel ${channel} is stored, but the agent has no such channel`),
    ...missing.map((channel) => `the agent has a channel ${channel}, but it is not stored`),
  ];
}

function hasDefault(channel: unknown): boolean {
  return (channel as { isAvailable(): boolean }).isAvailable();
}

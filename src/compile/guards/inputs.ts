import { publicRequest } from "../../state/human-request.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isCommand, Overwrite } from "@langchain/langgraph";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { BlobStore } from "../../durable-saver.ts";
import type { GraphState } from "../../state/channels.ts";
import { isTerminal } from "../../state/lifecycle.ts";
import { isRecord } from "../../values/json.ts";
import { receiveMessages } from "../attachments/receive-messages.ts";
import { type AgentGraph, overrideGraph } from "../agent-graph.ts";
import { TurnLimitError, UnfinishedTurnError } from "../errors.ts";
import { checkInput } from "../input.ts";
import { isInsideGraph, PrivateConfig } from "../run/run-config.ts";
import { readWaiting } from "./waiting.ts";

/** The parts of a compiled graph that the guard needs: `invoke` and `streamEvents` go through `stream`. */
interface Runnable extends StartableGraph {
  stream(input: never, options?: never): Promise<unknown>;
  withConfig(config: never): unknown;
  /** The config bound to the graph, which may name a thread. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/**
 * Makes a graph start a turn where `executeAgent` starts it, and returns it. An input is refused before anything is
 * written while the thread waits for an answer or its turn has not ended. After a FAILED or CANCELLED turn the next one
 * begins from the last completed turn. LangGraph by itself writes an input on top of any checkpoint. Data in messages is
 * stored as attachments, so that checkpoints only refer to it. Changes the graph itself; graphs derived by `withConfig` do the same. A nested agent is not affected.
 */
export function guardInputs<Compiled extends Runnable>(
  compiled: Compiled,
  { definition, blobs }: { readonly definition: AgentDefinition; readonly blobs: BlobStore },
): Compiled {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    return {
      stream: async (input: unknown, options?: RunnableConfig) => {
        const start = await started(graph, { input, options, definition });
        return stream((await received(graph, { input, options, blobs })) as never, start as never);
      },
    };
  });
}

/**
 * Returns the input with its attachments stored. Without a thread there is no checkpoint for the data to stay out of.
 *
 * @throws AttachmentError
 */
async function received(
  { config }: Pick<Runnable, "config">,
  of: Pick<Run, "input" | "options"> & { readonly blobs: BlobStore },
): Promise<unknown> {
  const { input, options, blobs } = of;
  if (!isRecord(input) || input["messages"] === undefined || isCommand(input)) return input;
  const configurable = { ...config?.configurable, ...options?.configurable };
  // An outer agent has stored what it passes on.
  if (isInsideGraph(configurable)) return input;
  const { thread_id: threadId = "" } = configurable as { thread_id?: unknown };
  return receiveMessages(input, { threadId: String(threadId), blobs });
}

interface Run {
  readonly input: unknown;
  readonly options: RunnableConfig | undefined;
  readonly definition: AgentDefinition;
}

/** The thread whose new turn starts at the config. Tools that run agents pass it on to other threads. */
const startedThread = new PrivateConfig<unknown>("started");

/** Marks a config as the start of a new turn of its thread. */
export function startingAt(config: RunnableConfig): RunnableConfig {
  return startedThread.with(config, config.configurable?.["thread_id"]);
}

/**
 * Returns the options of a run with the checkpoint from which it starts.
 *
 * @throws InvalidInputError, UnfinishedTurnError, TurnLimitError
 */
async function started(
  graph: Runnable,
  { input, options, definition }: Run,
): Promise<RunnableConfig | undefined> {
  if (input === null || input === undefined || isCommand(input)) return options;
  const configurable = { ...graph.config?.configurable, ...options?.configurable };
  const threadId: unknown = configurable["thread_id"];
  // Without a thread LangGraph throws its own errors.
  if (typeof graph.checkpointer !== "object" || typeof threadId !== "string") return options;
  if (isInsideGraph(configurable) || startedThread.in({ configurable }) === threadId)
    return options;
  if (isRecord(input) && input["input"] != null) checkInput(definition, input["input"]);
  // LangGraph ignores the namespace of a client.
  const { checkpoint_id: named, checkpoint_ns: _namespace, ...ofThread } = configurable;
  const thread = { configurable: ofThread };
  // Chat clients send the newest checkpoint with every message.
  if (typeof named === "string" && named !== (await newestCheckpoint(graph, thread))) {
    await refuseWaiting(graph, { configurable }, threadId);
    return options;
  }
  const { max_turns: maxTurns } = definition.spec.execution_config;
  const start = await startOfNewTurn(graph, thread, { threadId, everyTurn: false, maxTurns });
  if (start === thread) return options;
  return { ...options, configurable: { ...options?.configurable, ...start.configurable } };
}

async function newestCheckpoint(graph: Runnable, thread: RunnableConfig): Promise<unknown> {
  const { config } = await graph.getState(thread);
  return config.configurable?.["checkpoint_id"];
}

/** Refuses to fork a turn from a checkpoint that waits; it is forked from the end of a turn. */
async function refuseWaiting(
  graph: Runnable,
  config: RunnableConfig,
  threadId: string,
): Promise<void> {
  const { snapshot, waiting } = await readWaiting(graph, config);
  if (waiting.length === 0) return;
  const { status = "CREATED" } = snapshot.values as Partial<GraphState>;
  throw new UnfinishedTurnError(threadId, status, waiting.map(publicRequest));
}

/** The parts of a graph that finding the start of a turn needs. */
type StartableGraph = Pick<
  AgentGraph,
  "checkpointer" | "getState" | "getStateHistory" | "updateState"
>;

/**
 * Returns the last checkpoint of a thread; null if it has none. Where all nodes of a superstep have written and its
 * checkpoint is missing, since a process ended in between, the turn is as it was before them: LangGraph shows it with
 * their writes, but forgets these when an input comes.
 */
export async function lastState(graph: StartableGraph, config: RunnableConfig) {
  const newest = await graph.getState(config);
  const isWritten = newest.next.length === 0 && newest.tasks.length > 0;
  const snapshot = isWritten ? await graph.getState(newest.config) : newest;
  const values = snapshot.values as Partial<GraphState>;
  const exists = snapshot.createdAt !== undefined;
  const { status = "CREATED" } = values;
  // A turn that COMPLETED has nodes after its last status.
  const isOver = status === "COMPLETED" && hasNotBegun(snapshot.next);
  return exists ? { snapshot, values, status, isOver } : null;
}

/**
 * Returns the checkpoint from which a new turn starts: the thread's last one. A turn that FAILED, was CANCELLED or did
 * not get past its input is skipped: the new one starts where that one did, so the thread continues from its last
 * completed turn. If that checkpoint is not stored, it starts after the FAILED turn, whose messages stay.
 *
 * @param everyTurn whether each turn stores one checkpoint. A new thread then gets an empty one first, as a start for
 * retries.
 * @throws UnfinishedTurnError, TurnLimitError
 */
export async function startOfNewTurn(
  graph: StartableGraph,
  thread: RunnableConfig,
  limits: { threadId: string; everyTurn: boolean; maxTurns: number },
): Promise<RunnableConfig> {
  const last = await lastState(graph, thread);
  if (last === null) {
    if (limits.everyTurn) await graph.updateState(thread, { status: "CREATED" }, "finalize");
    return thread;
  }
  const { status, snapshot } = last;
  const turnNumber = last.values.turn_number ?? -1;
  const isOver = status === "COMPLETED" || status === "CREATED";
  if (isOver && snapshot.next.length === 0) {
    if (turnNumber + 1 >= limits.maxTurns) throw new TurnLimitError(limits.maxTurns);
    return thread;
  }
  const neverBegan = isOver && hasNotBegun(snapshot.next);
  if (!isTerminal(status) && !neverBegan) {
    const { waiting } = await readWaiting(graph, thread);
    throw new UnfinishedTurnError(limits.threadId, status, waiting.map(publicRequest));
  }
  const turnBefore = neverBegan ? turnNumber : turnNumber - 1;
  for await (const begun of graph.getStateHistory(thread, { filter: { source: "input" } })) {
    const before = begun.parentConfig;
    if (before === undefined) {
      if (turnBefore < 0) return begun.config;
      break;
    }
    // Refused inputs may be stacked, and a turn with one checkpoint has none for its start.
    const state = await graph.getState(before);
    const values = state.values as Partial<GraphState>;
    const reached = values.turn_number ?? -1;
    if (reached === turnBefore && state.next.length === 0) return before;
    if (reached < turnBefore) break;
  }
  const { parentConfig } = snapshot;
  if (parentConfig !== undefined && (await lastState(graph, parentConfig)) !== null) {
    return parentConfig;
  }
  // Its start was pruned, or belongs to the thread from which this one was forked.
  return graph.updateState(thread, { status: new Overwrite("CREATED") }, "finalize");
}

/** The next nodes while a turn has only its input. */
export const beginnings: readonly string[] = ["__start__", "initialize"];

/** Whether no node but those that begin a turn is left. */
function hasNotBegun(next: readonly string[]): boolean {
  return next.every((node) => beginnings.includes(node));
}

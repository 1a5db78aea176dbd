import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, GraphDrained } from "@langchain/langgraph";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph, Durability } from "../../compile/agent-graph.ts";
import type { CompileServices } from "../../compile/compile-agent.ts";
import { AnswerError } from "../../compile/errors.ts";
import { refuseForeign } from "../../compile/guards/threads.ts";
import { readWaiting, type WaitingThread } from "../../compile/guards/waiting.ts";
import { type HeldThread, withThread } from "../../compile/run/acquire-thread.ts";
import { logTurn } from "../../compile/run/log-turn.ts";
import { cancellable, type Inbox, withInbox, withTurnId } from "../../compile/run/run-config.ts";
import { isWithholding } from "../../compile/run/withheld-callbacks.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { DrainControl, TurnDrainedError } from "../../runtime/drain-control.ts";
import { NoCheckpointerError } from "../../runtime/errors.ts";
import { toResult } from "../../runtime/run-result.ts";
import { prepareRun, threadConfig } from "../../runtime/run-turn.ts";
import { withWriteFailureGuard } from "../../runtime/write-failure-guard.ts";
import type { GraphState } from "../../state/channels.ts";
import { publicRequest } from "../../state/human-request.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { type GraphEvent, GraphEventLog, write } from "./graph-events.ts";
import type { GraphCommand, GraphRequest } from "./graph-request.ts";
import { streamGraph } from "./graph-stream.ts";
import { RepeatedGraphEvents } from "./repeated-graph-events.ts";
import type { RunEventWriter } from "../run-events.ts";
import { withSavedWrites } from "../run-rollback.ts";
import type { RunRequest, RunResult } from "../run-request.ts";
import { takenCodes, toRunResult } from "../run-results.ts";

export interface GraphExecution {
  readonly agent: { readonly definition: AgentDefinition; readonly services: CompileServices };
  readonly writer: RunEventWriter;
  readonly signal: AbortSignal;
  readonly drain: AbortSignal;
  readonly inbox: Inbox;
  /** Whether an earlier claim has begun to execute the request. */
  readonly isContinued: boolean;
  /** Reads the log of the run. */
  readonly readEvents: (of: {
    readonly after: number;
    readonly limit: number;
  }) => Promise<readonly GraphEvent[]>;
  /** Stores the request of the run. @throws LeaseLostError */
  readonly writeRequest: (request: GraphRequest) => Promise<void>;
}

/**
 * Executes a run of LangGraph's protocol: the agent's graph with the run's input or command, its stream in the run's log.
 * A run that is claimed again resumes from the checkpoints that an earlier claim wrote, and repeats no finished step.
 *
 * @throws what the graph throws; TurnDrainedError; the error of a failed checkpoint write
 */
export async function runGraph(run: Run, of: GraphExecution): Promise<RunResult> {
  const request = run.request as unknown as GraphRequest;
  const { definition, services } = of.agent;
  const { context, durability: asked } = request;
  const { checkpointer } = services;
  if (checkpointer === undefined) throw new NoCheckpointerError("thread");
  write(of.writer, { event: "metadata", data: { run_id: run.id, attempt: run.attempts } });
  const prepared = await prepareRun(definition, services, {
    ...context,
    ...(asked !== undefined && { durability: asked }),
  });
  const { graph, durability } = prepared;
  let logged: Promise<void> | undefined;
  const result = withThread(services, run.threadId, async (held) => {
    const thread = held.within(threadConfig(run.threadId));
    const last = await checkpointer.getTuple(thread);
    refuseForeign(definition.spec.name, last, { threadId: run.threadId });
    const repeated = of.isContinued
      ? await RepeatedGraphEvents.read(run.lastEvent, of.readEvents)
      : null;
    const log = new GraphEventLog(of.writer, {
      secrets: services.secrets,
      isHeld: isWithholding(graph),
      repeated,
    });
    log.know(last?.checkpoint.channel_values);
    try {
      const hasBegun = last !== undefined && isOfRun(last, run.id);
      const before = repeated && (await readWaiting(graph, thread));
      if (before !== null && hasBegun && isOver(before)) {
        log.know(before.snapshot.values);
        await log.release();
        for (const event of repeated?.missing(before, request) ?? []) await log.write(event);
      } else {
        const { snapshot } = before ?? {};
        const removals = snapshot && repeated?.removals({ last, snapshot });
        for (const event of removals ?? []) write(of.writer, event);
        const saved = await withSavedWrites(checkpointer, run.threadId, request);
        if (saved !== request) await of.writeRequest(saved);
        const start = startOf(request, { run, held, hasBegun, durability });
        await execute(run, { ...of, graph, log, held, hasBegun, start, durability });
      }
      return await resultOf(graph, thread, request);
    } finally {
      // Stored while the thread is released.
      logged = logTurn(services, checkpointer, run.threadId);
    }
  });
  try {
    return await result;
  } finally {
    await logged;
  }
}

interface GraphStart extends GraphExecution {
  readonly graph: AgentGraph;
  readonly log: GraphEventLog;
  readonly held: HeldThread;
  /** Whether the newest checkpoint was written by an earlier claim of the run. */
  readonly hasBegun: boolean;
  readonly start: RunnableConfig;
  readonly durability: Durability;
}

async function execute(run: Run, of: GraphStart): Promise<void> {
  const request = run.request as unknown as GraphRequest;
  const input = of.hasBegun ? null : inputOf(request, of.isContinued);
  try {
    await stream(run, of, input);
  } catch (thrown) {
    const isTaken = thrown instanceof AnswerError && takenCodes.has(thrown.code);
    if (!of.isContinued || !isTaken) throw thrown;
    // An earlier claim of this request has given the answers.
    await stream(run, of, null);
  }
}

async function stream(run: Run, of: GraphStart, input: unknown): Promise<void> {
  const request = run.request as unknown as GraphRequest;
  const { graph, log, held, agent } = of;
  const { cancelled, threadId, lockLost } = held;
  const signal = AbortSignal.any([of.signal, cancelled]);
  const ends = { threadId, signal, lockLost, durability: of.durability };
  await withWriteFailureGuard(agent.services.checkpointer, ends, async (ending) => {
    const drain = of.durability === "exit" ? null : new DrainControl(of.drain);
    const start = withInbox(of.start, of.inbox);
    const options = { ...cancellable(start, ending), ...(drain && { control: drain }) };
    let states = 0;
    try {
      for await (const part of streamGraph(graph, input, { request, options })) {
        log.know(part.state);
        if (part.state !== undefined) states += 1;
        for (const event of part.events) await log.write(event);
        // The first state has the input as it came, and the next one as rails left it.
        if (states > 1) await log.release();
      }
    } catch (thrown) {
      if (thrown instanceof GraphDrained) throw new TurnDrainedError(threadId);
      throw thrown;
    }
    const { values } = await graph.getState(held.within(threadConfig(threadId)));
    log.know(values);
    await log.release();
  });
}

function isOfRun({ metadata }: CheckpointTuple, runId: string): boolean {
  return (metadata as { readonly run_id?: unknown } | undefined)?.run_id === runId;
}

/** Whether nothing is left to execute: the turn has ended, or waits for answers. */
function isOver({ snapshot, waiting }: WaitingThread): boolean {
  // `next` is empty also where all tasks of a step have ended, and the next step is still to come.
  return snapshot.tasks.length === 0 || waiting.length > 0;
}

function startOf(
  request: GraphRequest,
  of: {
    readonly run: Run;
    readonly held: HeldThread;
    readonly hasBegun: boolean;
    readonly durability: string;
  },
): RunnableConfig {
  const { run, held } = of;
  const { config, context, interrupt_before, interrupt_after, checkpoint_id: from } = request;
  const { tags, recursion_limit: recursionLimit, configurable, metadata } = config;
  const start = threadConfig(run.threadId).configurable;
  const named = from !== undefined && !of.hasBegun ? { checkpoint_id: from } : {};
  const own = {
    metadata: { ...metadata, run_id: run.id },
    // The saver writes the id into the metadata of checkpoints.
    configurable: { ...configurable, ...start, ...named },
    runId: run.id,
    context,
    durability: of.durability,
    ...(tags !== undefined && { tags: [...tags] }),
    ...(recursionLimit !== undefined && { recursionLimit }),
    ...(interrupt_before !== undefined && { interruptBefore: interrupt_before }),
    ...(interrupt_after !== undefined && { interruptAfter: interrupt_after }),
  };
  return withTurnId(held.within(own as RunnableConfig), request.turn_id);
}

function inputOf({ input, command }: GraphRequest, isContinued: boolean): unknown {
  if (command === undefined) return input;
  // Whether an earlier claim gave an answer without an id is unknown: a next request must not get it.
  if (isContinued && command.resume !== undefined && !isById(command.resume)) return null;
  return toCommand(command);
}

function isById(resume: unknown): boolean {
  const ids = typeof resume === "object" && resume !== null ? Object.keys(resume) : [];
  return ids.length > 0 && ids.every((id) => /^[0-9a-f]{32}$/.test(id));
}

function toCommand({ resume, update, goto }: GraphCommand): Command {
  return new Command({
    ...(resume !== undefined && { resume }),
    ...(update !== undefined && { update }),
    ...(goto !== undefined && { goto: [...goto] }),
  });
}

async function resultOf(
  graph: AgentGraph,
  thread: RunnableConfig,
  request: GraphRequest,
): Promise<RunResult> {
  const { snapshot, waiting } = await readWaiting(graph, thread);
  const state = snapshot.values as Partial<GraphState>;
  const requests = waiting.map(publicRequest);
  const ended = toResult({ state, requests, usageBefore: null }, "");
  const id: unknown = snapshot.config.configurable?.["checkpoint_id"];
  const checkpointId = typeof id === "string" ? id : null;
  const { turn_id: turnId, definition_id } = request;
  const of: RunRequest = { definition_id, turn_id: turnId };
  const result = toRunResult(ended, { request: of, checkpointId });
  // Stopped before or after a node, as the caller asked.
  const isStopped = waiting.length === 0 && snapshot.next.length > 0;
  return isStopped ? { ...result, status: "awaiting_human", cause: null } : result;
}

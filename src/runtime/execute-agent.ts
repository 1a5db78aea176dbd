import type { RunnableConfig } from "@langchain/core/runnables";
import { Command } from "@langchain/langgraph";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../compile/agent-graph.ts";
import type { CompileServices } from "../compile/compile-agent.ts";
import { checkAnswers, type GivenAnswers } from "../compile/guards/answers.ts";
import { lastState, startingAt, startOfNewTurn } from "../compile/guards/inputs.ts";
import { WrongAnswerKindError } from "../compile/guards/tool-results.ts";
import { refuseForeign } from "../compile/guards/threads.ts";
import { readWaiting } from "../compile/guards/waiting.ts";
import { type Attachment, readAttachments } from "../compile/attachments/read-attachments.ts";
import { messageWithFiles } from "../compile/attachments/receive-messages.ts";
import { checkInput } from "../compile/input.ts";
import { inputText } from "../context/answer-form.ts";
import { withThread } from "../compile/run/acquire-thread.ts";
import { type Inbox, withInbox, withTurnId } from "../compile/run/run-config.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { GraphState } from "../state/channels.ts";
import { type PendingRequest, publicRequest } from "../state/human-request.ts";
import { isTerminal } from "../state/lifecycle.ts";
import { type AcceptOptions, refuseOthers } from "./definition-changed.ts";
import {
  checkThreadId,
  deadEndAt,
  InvalidRunOptionError,
  NoCheckpointerError,
  RecoveryNeededError,
  refuseOtherUser,
} from "./errors.ts";
import { type ExecuteResult, type StreamedTurn, toResult } from "./run-result.ts";
import { prepareRun, runTurn, threadConfig, type TurnOptions, type TurnStart } from "./run-turn.ts";
import { startOfResumption } from "./thread-start.ts";
export type { AttemptOutcome, ExecuteResult } from "./run-result.ts";

export interface ExecuteOptions extends TurnOptions, AnswerOptions, AcceptOptions {
  /** The conversation to continue. 1 to 255 characters. Default: a new one. */
  readonly threadId?: string;
  /**
   * Names the turn, so that it runs once: if the thread's last turn has this id, it is not begun again. One that was
   * interrupted is resumed, and of one that has ended or waits the result is returned. With `input: null`, it names the
   * turn to resume: of one that has ended the result is returned. 1 to 200 characters. Default: a new id.
   */
  readonly turnId?: string;
  /** Files that come with the input. At most 10, of 20 MB each (text 1 MB) and 50 MB together. */
  readonly attachments?: readonly Attachment[];
}

/**
 * Runs one turn of an agent. With `input: null` it resumes the thread's turn: a waiting one (with answers or tool results,
 * or without them so that an expired timeout takes effect), an unfinished one or a cancelled one. A turn that fails returns FAILED
 * with its cause. Errors of the caller are thrown before anything is written.
 *
 * @throws AttachmentError, InvalidInputError, InvalidThreadIdError, InvalidRunOptionError, UnfinishedTurnError, NothingToResumeError,
 * NoCheckpointerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, ApprovalMismatchError,
 * NothingToAnswerError, WrongAnswerKindError, UnknownToolCallError, InvalidToolResultError, AmbiguousToolResultError,
 * ForeignThreadError, DefinitionChangedError, RecoveryNeededError, ThreadBusyError,
 * ThreadLockedError, OtherUserError, and the errors of compiling; HandlerMutationError, HandlerReturnError and HandlerTierError for a
 * stateful tool that breaks its contract
 */
export async function executeAgentWith<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  input: Input | null,
  options: ExecuteOptions & {
    services: CompileServices;
    /** Messages for the running turn, which the steps of the standard loop read. Default: none. */
    inbox?: Inbox;
  },
): Promise<ExecuteResult<Output, Exec, Attempt>> {
  const { services } = options;
  const general = definition as AgentDefinition;
  const given = givenAnswers(options, input);
  const turnId = checkTurnId(options.turnId);
  const { checkpointer } = services;
  if (checkpointer === undefined && (input === null || options.threadId !== undefined)) {
    throw new NoCheckpointerError("thread");
  }
  const threadId = checkThreadId(options.threadId ?? services.ids());
  const checked: unknown = input === null ? null : checkInput(general, input);
  const turnInput = await turnInputOf({ input, checked }, options);
  const run = await prepareRun(general, services, options);
  const { graph } = run;
  const result = await withThread(services, threadId, async (held) => {
    const thread = held.within(threadConfig(threadId));
    if (checkpointer === undefined) {
      return runTurn(run, { held, input: turnInput, start: named(thread, turnId) });
    }
    const last = options.threadId === undefined ? undefined : await checkpointer.getTuple(thread);
    refuseForeign(general.spec.name, last, { ...options, threadId });
    const known = turnId === undefined ? null : await knownTurn(graph, thread, turnId);
    if (known) refuseOtherUser(last, { ...options, threadId });
    const ended = known?.streamed ?? null;
    // A turn that waits continues with answers, or with a time limit that is over.
    if (ended !== null && (input !== null || ended.requests.length === 0)) {
      return toResult(ended, threadId);
    }
    const resumes = input === null || known !== null;
    if (resumes) refuseDeadEnd(graph, threadId, last);
    const start = await startOf(graph, thread, {
      definition: general,
      input: resumes ? null : turnInput,
      given,
      threadId,
      keepsEnds: run.durability === "exit",
    });
    if (resumes) {
      const from = start.start === thread ? last : await checkpointer.getTuple(start.start);
      refuseDeadEnd(graph, threadId, from);
      refuseOtherUser(from, { ...options, threadId });
      await refuseOthers(graph, from, { ...options, threadId, checkpointer });
    }
    const begin = withInbox(named(start.start, turnId), options.inbox);
    return runTurn(run, { held, input: start.input, start: begin });
  });
  return result as ExecuteResult<Output, Exec, Attempt>;
}

/**
 * Returns the graph's input: attachments come as a message of the person, whose text is that of the input.
 *
 * @throws AttachmentError, InvalidRunOptionError
 */
async function turnInputOf(
  { input, checked }: { readonly input: unknown; readonly checked: unknown },
  { attachments = [], signal, services }: ExecuteOptions & { services: CompileServices },
) {
  if (attachments.length === 0) return { input };
  if (input === null) {
    throw new InvalidRunOptionError("attachments", "the input null begins no new turn");
  }
  const { httpAllow } = services;
  const read = await readAttachments(attachments, { httpAllow, signal });
  return { input, messages: [messageWithFiles(inputText(checked), read, services.ids())] };
}

/** @throws InvalidRunOptionError */
function checkTurnId(turnId: string | undefined): string | undefined {
  if (turnId === undefined) return undefined;
  if (turnId === "" || turnId.length > 200 || /[\p{Cc}\p{Surrogate}]/u.test(turnId)) {
    throw new InvalidRunOptionError(
      "turnId",
      "expected 1 to 200 characters without control characters",
    );
  }
  return turnId;
}

function named(config: RunnableConfig, turnId: string | undefined): RunnableConfig {
  return turnId === undefined ? config : withTurnId(config, turnId);
}

/**
 * Returns the thread's last turn if it has this id, else null. `streamed` is null for a turn that was interrupted.
 */
async function knownTurn(
  graph: AgentGraph,
  thread: RunnableConfig,
  turnId: string,
): Promise<{ readonly streamed: StreamedTurn | null } | null> {
  const last = await lastState(graph, thread);
  if (last?.values.turn?.run !== turnId) return null;
  const { values: state } = last;
  const usageBefore = state.usage ?? null;
  if (last.isOver || isTerminal(last.status)) {
    return { streamed: { state, requests: [], usageBefore } };
  }
  const { waiting } = await readWaiting(graph, thread);
  if (waiting.length === 0) return { streamed: null };
  return { streamed: { state, requests: waiting.map(publicRequest), usageBefore } };
}

/** @throws RecoveryNeededError */
function refuseDeadEnd(
  graph: AgentGraph,
  threadId: string,
  tuple: CheckpointTuple | undefined,
): void {
  const deadEnd = tuple && deadEndAt(tuple, graph);
  if (deadEnd) throw new RecoveryNeededError(threadId, deadEnd);
}

async function startOf(
  graph: AgentGraph,
  thread: RunnableConfig,
  of: {
    definition: AgentDefinition;
    /** The graph's input; null resumes. */
    input: TurnStart["input"];
    given: GivenAnswers | null;
    threadId: string;
    /** Whether checkpoints are written only when the run ends. */
    keepsEnds: boolean;
  },
): Promise<TurnStart> {
  const { input, given, threadId } = of;
  if (given !== null) {
    return { input: await resumeWith(graph, thread, { given, threadId }), start: thread };
  }
  if (input === null) {
    return { input, start: await startOfResumption(graph, thread, threadId) };
  }
  const { max_turns } = of.definition.spec.execution_config;
  const start = await startOfNewTurn(graph, thread, {
    threadId,
    everyTurn: of.keepsEnds,
    maxTurns: max_turns,
  });
  return { input, start: startingAt(start) };
}

/**
 * The result of a client tool's call: what came of it, as JSON, or the text of why it broke. `request_id` is needed only
 * if calls of several agents have the same id.
 */
export type ToolCallResult = { readonly call_id: string; readonly request_id?: string } & (
  | { readonly output: unknown }
  | { readonly error: string }
);

interface AnswerOptions {
  /** The answer to the only pending request, with `input: null`. */
  readonly answer?: unknown;
  /** Answers by request id, for some or all pending requests, with `input: null`. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /**
   * Results of client tools for some or all calls of `toolCalls`, with `input: null`. At most 16 MiB of JSON in all. They
   * are stored; while others are missing, the turn stays AWAITING_TOOL.
   */
  readonly toolResults?: readonly ToolCallResult[];
}

/**
 * Returns the given answers, or null.
 *
 * @throws InvalidRunOptionError
 */
function givenAnswers(
  { answer, answers, toolResults }: AnswerOptions,
  input: unknown,
): GivenAnswers | null {
  if (answer === undefined && answers === undefined && toolResults === undefined) return null;
  const option =
    toolResults !== undefined ? "toolResults" : answers === undefined ? "answer" : "answers";
  if (input !== null) {
    throw new InvalidRunOptionError(option, "it requires the input null, which begins no new turn");
  }
  if (toolResults !== undefined) {
    if (answer !== undefined || answers !== undefined) {
      throw new InvalidRunOptionError(option, "give either answers or toolResults, not both");
    }
    return { toolResults };
  }
  if (answers === undefined) return { bare: answer };
  if (answer !== undefined) {
    throw new InvalidRunOptionError(option, "give either answer or answers, not both");
  }
  if (Object.keys(answers).length === 0) {
    throw new InvalidRunOptionError(option, "it contains no answer");
  }
  return { byId: answers };
}

/** Whether one of the answers names a request for tool results. */
function isForTools(given: GivenAnswers, waiting: readonly PendingRequest[]): boolean {
  if (!("byId" in given)) return false;
  return waiting.some(({ id, kind }) => kind === "tool_calls" && Object.hasOwn(given.byId, id));
}

/**
 * Returns the graph input that resumes the thread with these answers.
 *
 * @throws AnswerError
 */
async function resumeWith(
  graph: AgentGraph,
  thread: RunnableConfig,
  of: { readonly given: GivenAnswers; readonly threadId: string },
): Promise<Command> {
  const { snapshot, waiting } = await readWaiting(graph, thread);
  const { status = "CREATED" } = snapshot.values as Partial<GraphState>;
  const exists = snapshot.createdAt !== undefined;
  const { given, threadId } = of;
  // Both kinds may wait at once, in concurrent branches: an answer is for people.
  const asked =
    "toolResults" in given ? waiting : waiting.filter(({ kind }) => kind !== "tool_calls");
  if (asked.length < waiting.length && (asked.length === 0 || isForTools(given, waiting))) {
    throw new WrongAnswerKindError(threadId, "toolResults");
  }
  const found = { threadId, status: exists ? status : null, waiting: asked };
  return new Command({ resume: checkAnswers(given, found) });
}

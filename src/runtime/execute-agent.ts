import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../compile/agent-graph.ts";
import type { GivenAnswers } from "../compile/check-answers.ts";
import type { CompileServices } from "../compile/compile-agent.ts";
import { holdThread } from "../compile/hold-thread.ts";
import { checkInput } from "../compile/input.ts";
import { startingAt } from "../compile/input-guard.ts";
import { refuseForeign } from "../compile/thread-owner.ts";
import { startOfNewTurn } from "../compile/turn-start.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { deadEndAt } from "./dead-end.ts";
import { refuseOthers, type AcceptOptions } from "./definition-changed.ts";
import { NoCheckpointerError, RecoveryNeededError } from "./errors.ts";
import { givenAnswers, resumeWith, type AnswerOptions } from "./run-answers.ts";
import type { ExecuteResult } from "./run-result.ts";
import { prepareRun, runTurn, threadConfig, type TurnOptions, type TurnStart } from "./run-turn.ts";
import { checkThreadId } from "./thread-id.ts";
import { startOfResumption } from "./thread-start.ts";

export type { AttemptOutcome, ExecuteResult } from "./run-result.ts";

export interface ExecuteOptions extends TurnOptions, AnswerOptions, AcceptOptions {
  /** The conversation to go on with. 1 to 255 characters. Default: a new one. */
  readonly threadId?: string;
}

/**
 * Runs one turn of an agent, or with `input: null` goes on with the thread's turn: one that waits for people (with
 * their answers, or without, so that a time that is over takes effect), an unfinished one, or a cancelled one. A turn
 * that goes wrong comes back as FAILED with its cause; what the caller did wrong is thrown, and nothing was written then.
 *
 * @throws InvalidInputError, InvalidThreadIdError, InvalidRunOptionError, UnfinishedTurnError, NothingToResumeError,
 * NoCheckpointerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, ApprovalMismatchError, NothingToAnswerError,
 * ForeignThreadError, DefinitionChangedError, RecoveryNeededError, ThreadBusyError, ThreadLockedError, and what compiling
 * throws; HandlerMutationError, HandlerReturnError and HandlerTierError for a stateful tool that breaks its contract
 */
export async function executeAgentWith<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  input: Input | null,
  options: ExecuteOptions & { services: CompileServices },
): Promise<ExecuteResult<Output, Exec, Attempt>> {
  const { services } = options;
  const general = definition as AgentDefinition;
  const given = givenAnswers(options, input);
  const { checkpointer } = services;
  if (checkpointer === undefined && (input === null || options.threadId !== undefined)) {
    throw new NoCheckpointerError("thread");
  }
  const threadId = checkThreadId(options.threadId ?? services.ids());
  if (input !== null) checkInput(general, input);
  const run = await prepareRun(general, services, options);
  const { graph } = run;
  const result = await holdThread(services, threadId, async (held) => {
    const thread = held.within(threadConfig(threadId));
    if (checkpointer === undefined) {
      return runTurn(run, { held, input: { input }, start: thread });
    }
    const last = options.threadId === undefined ? undefined : await checkpointer.getTuple(thread);
    refuseForeign(general.spec.name, last, { ...options, threadId });
    if (input === null) refuseDeadEnd(graph, threadId, last);
    const start = await startOf(graph, thread, {
      definition: general,
      input,
      given,
      threadId,
      keepsEnds: run.durability === "exit",
    });
    if (input === null) {
      const from = start.start === thread ? last : await checkpointer.getTuple(start.start);
      refuseDeadEnd(graph, threadId, from);
      await refuseOthers(graph, from, { ...options, threadId, checkpointer });
    }
    return runTurn(run, { held, ...start });
  });
  return result as ExecuteResult<Output, Exec, Attempt>;
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
    input: unknown;
    given: GivenAnswers | null;
    threadId: string;
    /** Whether nothing is kept until the run ends. */
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
  return { input: { input }, start: startingAt(start) };
}

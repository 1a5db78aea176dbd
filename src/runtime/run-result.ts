import {
  type ClientCall,
  clientCallsIn,
  type PendingRequest,
  publicRequest,
} from "../state/human-request.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { DrainControl } from "./drain-control.ts";
import { forwardToken, PartialOutput, type TokenOrigin } from "./streamed-text.ts";
import { type Command, isInterrupted } from "@langchain/langgraph";
import type { AgentGraph, Durability } from "../compile/agent-graph.ts";
import { ownerChecked } from "../compile/guards/threads.ts";
import { readWaiting } from "../compile/guards/waiting.ts";
import { withWholeState } from "../compile/run/gated-streams.ts";
import { cancellable } from "../compile/run/run-config.ts";
import type { GraphState, RunContext } from "../state/channels.ts";
import type { AgentEvent } from "../state/events.ts";
import type { Status } from "../state/lifecycle.ts";
import type { RailRecord } from "../state/rails.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { AgentState } from "../state/tiers.ts";
import {
  type Draft,
  type FailedAttempt,
  type IncompleteReason,
  stepsOfTurn,
  type TurnFailure,
  turnUsage,
} from "../state/turn.ts";
import { noUsage, type Usage, usageSince } from "../state/usage.ts";
import { isRecord } from "../values/json.ts";

/** One attempt of a turn; the accepted one has no errors. */
export interface AttemptOutcome {
  readonly attempt_number: number;
  readonly errors: readonly string[];
}

export interface ExecuteResult<Output = unknown, Exec = unknown, Attempt = unknown> {
  /** Null unless `status` is COMPLETED. */
  readonly output: Output | null;
  /**
   * AWAITING_HUMAN while a person is asked; else AWAITING_TOOL while calls of client tools have no result, or a
   * wait node waits.
   */
  readonly status: Status;
  /** Pending human requests; each is answered by its id. Empty unless `status` is AWAITING_HUMAN. */
  readonly interrupts: readonly PendingRequest[];
  /**
   * What wait nodes wait for, a time (`expires_at`) or an event (`event`), whose payload is the answer by its id. Empty
   * unless the turn waits.
   */
  readonly waits: readonly PendingRequest[];
  /** Calls of client tools that wait for the caller's results. Empty unless the turn waits. */
  readonly toolCalls: readonly ClientCall[];
  readonly state: AgentState<Exec, Attempt>;
  /** The step records of this turn. */
  readonly steps: readonly StepRecord[];
  /** The rail records of this turn. */
  readonly rails: readonly RailRecord[];
  /** The usage of the whole turn: of every call that ran it, where it waited or was interrupted and resumed. */
  readonly usage: Usage;
  /** The part of `usage` that this call added. */
  readonly invocation_usage: Usage;
  readonly attempts: readonly AttemptOutcome[];
  /** Whether the answer is incomplete, for the reason that follows. */
  readonly incomplete: boolean;
  /** Null for a complete answer. */
  readonly incomplete_reason: IncompleteReason | null;
  /** Why the turn FAILED; else null. */
  readonly failure: TurnFailure | null;
  /** Why the turn was CANCELLED by `threads.cancel`; null otherwise, and without a reason. */
  readonly cancel_reason: string | null;
  readonly threadId: string;
}

export function toResult(streamed: StreamedTurn, threadId: string): ExecuteResult {
  const { state, requests, usageBefore } = streamed;
  const interrupts = requests.filter(({ kind }) => kind !== "tool_calls" && kind !== "wait");
  const waits = requests.filter(({ kind }) => kind === "wait");
  const toolCalls = clientCallsIn(requests);
  const { turn, usage = noUsage } = state;
  const ofTurn = turnUsage({ turn, usage });
  const failed = turn?.failed_attempts ?? [];
  const accepted =
    state.status === "COMPLETED" ? [{ attempt_number: failed.length, errors: [] }] : [];
  return {
    output: state.output ?? null,
    status: waitingStatus({ interrupts, toolCalls, waits }) ?? state.status ?? "CREATED",
    interrupts,
    waits,
    toolCalls,
    state: { execution: state.execution, attempt: state.attempt },
    steps: stepsOfTurn(state.steps ?? [], state.turn_number ?? 0),
    rails: (state.rails ?? []).filter(({ turn_number }) => turn_number === state.turn_number),
    usage: ofTurn,
    invocation_usage: usageBefore === null ? ofTurn : usageSince(usageBefore, usage),
    attempts: [...failed.map(outcomeOf), ...accepted],
    incomplete: turn?.draft?.incomplete ?? false,
    incomplete_reason: incompleteReason(turn?.draft ?? null),
    failure: turn?.failure ?? null,
    cancel_reason: turn?.cancel_reason ?? null,
    threadId,
  };
}

function waitingStatus({
  interrupts,
  toolCalls,
  waits,
}: Pick<ExecuteResult, "interrupts" | "toolCalls" | "waits">): Status | null {
  if (interrupts.length > 0) return "AWAITING_HUMAN";
  return toolCalls.length > 0 || waits.length > 0 ? "AWAITING_TOOL" : null;
}

/** Earlier versions stored no reason; there was only one. */
function incompleteReason(draft: Draft | null): IncompleteReason | null {
  if (draft === null || draft.problem !== null || !draft.incomplete) return null;
  return draft.incomplete_reason ?? "max_iterations";
}

function outcomeOf({ attempt_number, errors }: FailedAttempt): AttemptOutcome {
  return { attempt_number, errors };
}

export interface TurnRun {
  readonly graph: AgentGraph;
  /** The thread's config, without a checkpoint. */
  readonly thread: RunnableConfig;
  /** The graph's input, and the checkpoint from which it resumes. */
  readonly input: { readonly input: unknown } | Command | null;
  readonly start: RunnableConfig;
  readonly context: RunContext;
  readonly durability: Durability;
  readonly signal?: AbortSignal | undefined;
  readonly drain?: AbortSignal | undefined;
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  readonly onToken?: ((text: string, of: TokenOrigin) => void) | undefined;
  readonly onReasoning?: ((text: string, of: TokenOrigin) => void) | undefined;
  readonly onPartialOutput?: ((value: Readonly<Record<string, unknown>>) => void) | undefined;
}

/** A turn as it ended or waits. */
export interface StreamedTurn {
  readonly state: Partial<GraphState>;
  /** Pending requests. */
  readonly requests: readonly PendingRequest[];
  /** The thread's usage when a turn was resumed; null for a turn that began. */
  readonly usageBefore: Usage | null;
}

/** Streams the run, forwards its events and returns the last state. */
export async function streamTurn(run: TurnRun): Promise<StreamedTurn> {
  const checked = ownerChecked(run.start);
  const start = run.signal ? cancellable(checked, run.signal) : checked;
  const { onToken, onReasoning, onPartialOutput } = run;
  const readsTokens = [onToken, onReasoning, onPartialOutput].some((one) => one !== undefined);
  const partial = onPartialOutput && new PartialOutput(onPartialOutput);
  const usageBefore = await usageAtStart(run);
  const stream = await run.graph.stream(run.input, {
    ...withWholeState(start),
    context: run.context,
    durability: run.durability,
    ...(run.drain && { control: new DrainControl(run.drain) }),
    subgraphs: true,
    streamMode: [
      "values",
      ...(run.onEvent ? (["custom"] as const) : []),
      ...(readsTokens ? (["messages"] as const) : []),
    ],
  });
  let state: Partial<GraphState> = {};
  let waits = false;
  for await (const [within, mode, chunk] of stream as AsyncIterable<[string[], string, unknown]>) {
    if (mode === "custom") {
      if (isAgentEvent(chunk)) run.onEvent?.(chunk);
    } else if (mode === "messages") {
      forwardToken(chunk, {
        onReasoning,
        onToken(text, of) {
          partial?.token(text, of);
          onToken?.(text, of);
        },
      });
    } else if (within.length === 0) {
      if (isInterrupted(chunk)) waits = true;
      else state = chunk as Partial<GraphState>;
    }
  }
  if (!waits) return { state, requests: [], usageBefore };
  // The stored state also includes writes of other branches in the last superstep.
  const { snapshot, waiting } = await readWaiting(run.graph, run.thread);
  return {
    state: snapshot.values as Partial<GraphState>,
    requests: waiting.map(publicRequest),
    usageBefore,
  };
}

/** Reads the thread's usage before a turn is resumed, with that of nodes whose siblings have not ended. */
async function usageAtStart({ graph, input, start }: TurnRun): Promise<Usage | null> {
  if (input !== null && "input" in input) return null;
  const { usage = noUsage } = (await graph.getState(start)).values as Partial<GraphState>;
  return usage;
}

/** Returns whether a chunk is an agent event. Graphs run by tools may write to the same stream. */
function isAgentEvent(chunk: unknown): chunk is AgentEvent {
  return isRecord(chunk) && typeof chunk["type"] === "string" && Array.isArray(chunk["within"]);
}

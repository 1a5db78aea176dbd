import { type PendingRequest, publicRequest } from "../state/human-request.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
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
import { type FailedAttempt, stepsOfTurn, type TurnFailure, turnUsage } from "../state/turn.ts";
import { noUsage, type Usage } from "../state/usage.ts";
import { isRecord } from "../values/json.ts";

/** One attempt of a turn; the accepted one has no errors. */
export interface AttemptOutcome {
  readonly attempt_number: number;
  readonly errors: readonly string[];
}

export interface ExecuteResult<Output = unknown, Exec = unknown, Attempt = unknown> {
  /** Null unless `status` is COMPLETED. */
  readonly output: Output | null;
  /** AWAITING_HUMAN while any request waits. */
  readonly status: Status;
  /** Pending human requests; each is answered by its id. Empty unless `status` is AWAITING_HUMAN. */
  readonly interrupts: readonly PendingRequest[];
  readonly state: AgentState<Exec, Attempt>;
  /** The step records of this turn. */
  readonly steps: readonly StepRecord[];
  /** The rail records of this turn. */
  readonly rails: readonly RailRecord[];
  /** The usage of this turn. */
  readonly usage: Usage;
  readonly attempts: readonly AttemptOutcome[];
  /** True if the answer was synthesized from known results because `max_iterations` was reached. */
  readonly incomplete: boolean;
  /** Why the turn FAILED; else null. */
  readonly failure: TurnFailure | null;
  readonly threadId: string;
}

export function toResult({ state, interrupts }: StreamedTurn, threadId: string): ExecuteResult {
  const { turn, usage = noUsage } = state;
  const failed = turn?.failed_attempts ?? [];
  const accepted =
    state.status === "COMPLETED" ? [{ attempt_number: failed.length, errors: [] }] : [];
  return {
    output: state.output ?? null,
    status: interrupts.length > 0 ? "AWAITING_HUMAN" : (state.status ?? "CREATED"),
    interrupts,
    state: { execution: state.execution, attempt: state.attempt },
    steps: stepsOfTurn(state.steps ?? [], state.turn_number ?? 0),
    rails: (state.rails ?? []).filter(({ turn_number }) => turn_number === state.turn_number),
    usage: turnUsage({ turn, usage }),
    attempts: [...failed.map(outcomeOf), ...accepted],
    incomplete: turn?.draft?.incomplete ?? false,
    failure: turn?.failure ?? null,
    threadId,
  };
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
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  readonly onToken?: ((text: string) => void) | undefined;
}

interface StreamedTurn {
  readonly state: Partial<GraphState>;
  /** Pending human requests. */
  readonly interrupts: readonly PendingRequest[];
}

/** Streams the run, forwards its events and returns the last state. */
export async function streamTurn(run: TurnRun): Promise<StreamedTurn> {
  const checked = ownerChecked(run.start);
  const start = run.signal ? cancellable(checked, run.signal) : checked;
  const stream = await run.graph.stream(run.input, {
    ...withWholeState(start),
    context: run.context,
    durability: run.durability,
    subgraphs: true,
    streamMode: [
      "values",
      ...(run.onEvent ? (["custom"] as const) : []),
      ...(run.onToken ? (["messages"] as const) : []),
    ],
  });
  let state: Partial<GraphState> = {};
  let waits = false;
  for await (const [within, mode, chunk] of stream as AsyncIterable<[string[], string, unknown]>) {
    if (mode === "custom") {
      if (isAgentEvent(chunk)) run.onEvent?.(chunk);
    } else if (mode === "messages") {
      run.onToken?.(tokenText(chunk));
    } else if (within.length === 0) {
      if (isInterrupted(chunk)) waits = true;
      else state = chunk as Partial<GraphState>;
    }
  }
  if (!waits) return { state, interrupts: [] };
  // The stored state also includes writes of other branches in the last superstep.
  const { snapshot, waiting } = await readWaiting(run.graph, run.thread);
  return {
    state: snapshot.values as Partial<GraphState>,
    interrupts: waiting.map(publicRequest),
  };
}

/** Returns whether a chunk is an agent event. Graphs run by tools may write to the same stream. */
function isAgentEvent(chunk: unknown): chunk is AgentEvent {
  return isRecord(chunk) && typeof chunk["type"] === "string" && Array.isArray(chunk["within"]);
}

/**
 * Returns the text of a streamed token. Empty for messages that nodes write: model output was streamed already, and
 * their events report the rest.
 */
function tokenText(chunk: unknown): string {
  const [message, of] = chunk as [
    { text?: string; getType?(): string },
    Partial<Record<string, unknown>>?,
  ];
  const isOfNode = of?.["name"] !== undefined && of["name"] === of["langgraph_node"];
  return message.getType?.() === "ai" && !isOfNode ? (message.text ?? "") : "";
}

import { Command, END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { StratagraphError } from "../../errors.ts";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import type { AgentEventBody } from "../../state/event.ts";
import { transition } from "../../state/lifecycle.ts";
import type { CurrentStep, StepRecord } from "../../state/step-record.ts";
import { turnUsage, type TurnState } from "../../state/turn.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { LoopNodeName, LoopParts } from "./parts.ts";
import { cancelSignal } from "../cancellation.ts";
import { TurnTimeoutError } from "../errors.ts";
import { turnSignal } from "./turn-signal.ts";

/** What a node decides: what to write, and which node is next. */
export interface NodeResult {
  readonly update: Omit<GraphUpdate, "turn">;
  readonly turn?: Partial<TurnState>;
  readonly goto: LoopNodeName | typeof END;
}

/** What a node's body has at hand beside the state. */
export interface NodeRun {
  readonly parts: LoopParts;
  readonly signal: AbortSignal;
  /** LangGraph's config with the turn's signal: pass it to model calls, so that tokens stream. */
  readonly config: LangGraphRunnableConfig;
  model(): Promise<AgentModel> | AgentModel;
  /** `turnNumber` where the state still has the last turn's. */
  emit(body: AgentEventBody, turnNumber?: number): void;
}

export type NodeBody = (state: GraphState, run: NodeRun) => Promise<NodeResult> | NodeResult;

/**
 * Makes a graph node from its body: bounds it by the turn's time, adds up active time, and turns what may go wrong in
 * a run (timeout, no model answers) into a FAILED turn and a cancellation into a CANCELLED one. Anything else that is
 * thrown ends the run as it is.
 */
export function loopNode(name: LoopNodeName, parts: LoopParts, body: NodeBody) {
  const timeoutSeconds = parts.definition.spec.execution_config.timeout_seconds;
  const isBounded = name !== "initialize" && name !== "finalize";
  return async (state: GraphState, config: LangGraphRunnableConfig) => {
    const startedAt = parts.clock.monotonic();
    const elapsedBefore = name === "initialize" ? 0 : (state.turn?.elapsed_ms ?? 0);
    const cancel = cancelSignal(config);
    const bounds = turnSignal({
      clock: parts.clock,
      outer: [config.signal, cancel],
      remainingMs: timeoutSeconds * 1000 - elapsedBefore,
      timeoutSeconds,
    });
    const { signal } = bounds;
    let ended = false;
    const run: NodeRun = {
      parts,
      signal,
      config: { ...config, signal },
      model: () => parts.model(config.context as RunContext | undefined),
      emit(event, turnNumber = state.turn_number ?? 0) {
        if (ended) return;
        config.writer?.({
          ...event,
          node: name,
          turn_number: turnNumber,
          attempt_number: state.attempt_number ?? 0,
        });
      },
    };
    let result: NodeResult;
    try {
      if (isBounded) signal.throwIfAborted();
      const given = body(state, run);
      result = isBounded && given instanceof Promise ? await bounds.race(given) : await given;
    } catch (thrown) {
      const cause: unknown = signal.aborted ? signal.reason : thrown;
      if (!isBounded) throw cause;
      const isCancelled = cancel?.aborted === true && cause === cancel.reason;
      result = isCancelled ? cancelTurn(state, run) : failTurn(state, cause);
    } finally {
      ended = true;
      bounds.release();
    }
    const elapsed = elapsedBefore + (parts.clock.monotonic() - startedAt);
    const turn = { ...state.turn, ...result.turn, elapsed_ms: elapsed } as TurnState;
    const update: GraphUpdate = { ...result.update, turn };
    return new Command({ update, goto: result.goto });
  };
}

/** Ends the turn CANCELLED. What the node had under way stays under way, for the thread to be resumed from before it. */
function cancelTurn(state: GraphState, run: NodeRun): NodeResult {
  const status = transition(state.status ?? "CREATED", "CANCELLED");
  run.emit({ type: "status", status });
  run.emit({ type: "done", status, output: null, failure: null, usage: turnUsage(state) });
  return { update: { status }, goto: END };
}

/**
 * Ends the turn FAILED for an error that belongs to the run.
 * @throws the error itself when it does not.
 */
function failTurn(state: GraphState, thrown: unknown): NodeResult {
  if (!(thrown instanceof StratagraphError) || thrown.kind !== "run") throw thrown;
  return {
    update: {
      status: transition(state.status ?? "CREATED", "FAILED"),
      steps: state.current_step ? [withoutResults(state.current_step, thrown)] : [],
      current_step: null,
    },
    turn: { failure: { cause: thrown.code, message: thrown.message } },
    goto: "finalize",
  };
}

/** The record of a step whose tools were cut off: every call shows what ended it. */
function withoutResults(current: CurrentStep, thrown: StratagraphError): StepRecord {
  const outcome = thrown instanceof TurnTimeoutError ? "timeout" : "error";
  return {
    ...current,
    tool_results: current.tool_predictions.map(({ id, name, args }) => ({
      id,
      name,
      args,
      result: null,
      error: thrown.message,
      outcome,
      execution_time_ms: 0,
      insights: "",
      learning: "",
      relevance: "",
    })),
    concurrent_execution: false,
  };
}

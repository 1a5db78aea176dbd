import { END } from "@langchain/langgraph";
import { StratagraphError } from "../../errors.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import { turnUsage } from "../../state/turn.ts";
import { closeStep, cutOffResults, toolMessage } from "./close-step.ts";
import type { NodeResult, NodeRun } from "./node-body.ts";

/** Ends the turn CANCELLED. What the node had under way stays under way, for the thread to be resumed from before it. */
export function cancelTurn(state: GraphState, run: NodeRun): NodeResult {
  const status = transition(state.status ?? "CREATED", "CANCELLED");
  run.emit({ type: "status", status });
  run.emit({ type: "done", status, output: null, failure: null, usage: turnUsage(state) });
  return { update: { status }, goto: END };
}

/**
 * Ends the turn FAILED for an error that belongs to the run, with the record of the step under way.
 * @throws the error itself when it does not belong to the run
 */
export function failTurn(state: GraphState, run: NodeRun, thrown: unknown): NodeResult {
  if (!(thrown instanceof StratagraphError) || thrown.kind !== "run") throw thrown;
  return {
    update: {
      ...cutOffStep(state, run, thrown),
      status: transition(state.status ?? "CREATED", "FAILED"),
    },
    turn: { failure: { cause: thrown.code, message: thrown.message } },
    goto: "finalize",
  };
}

function cutOffStep(state: GraphState, run: NodeRun, thrown: StratagraphError): GraphUpdate {
  const current = state.current_step;
  if (!current) return {};
  const results = cutOffResults(current, run.ended, thrown);
  const step = closeStep(current, { results, concurrent: false });
  run.emit({ type: "step", step });
  return {
    steps: [step],
    messages: results.map((result) => toolMessage(result, run.parts.ids())),
    current_step: null,
    usage: { tool_calls: results.length },
  };
}

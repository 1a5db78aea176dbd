import { StratagraphError } from "../../errors.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import { isTerminal, transition } from "../../state/lifecycle.ts";
import { CorruptJournalError } from "../../tools/journal.ts";
import { closeStep, cutOffResults, toolMessage } from "./close-step.ts";
import type { NodeResult, NodeRun } from "./node-body.ts";

/**
 * Ends the turn CANCELLED. What the node had under way stays under way, for the thread to be resumed from before it; what
 * ended calls wrote to the tiers is there to be read until then.
 */
export function cancelTurn(state: GraphState): NodeResult {
  if (isOver(state)) return nothing;
  return {
    update: { status: transition(state.status ?? "CREATED", "CANCELLED") },
    goto: "finalize",
  };
}

/**
 * Ends the turn FAILED for an error that belongs to the run, with the record of the step under way.
 * @throws the error itself when it does not belong to the run, and when the turn can be recovered
 */
export function failTurn(state: GraphState, run: NodeRun, thrown: unknown): NodeResult {
  if (!(thrown instanceof StratagraphError) || thrown.kind !== "run") throw thrown;
  if (thrown instanceof CorruptJournalError) throw thrown;
  if (isOver(state)) return nothing;
  const here = state.branches.filter(({ at }) => at === run.node).map(({ id }) => id);
  return failedTurn(state, thrown, {
    ...cutOffStep(state, run, thrown),
    ...(here.length > 0 && { branches: { leave: here, enter: [] } }),
  });
}

/** The turn FAILED, with what is still to be written. */
export function failedTurn(
  state: GraphState,
  { code, message, transient }: StratagraphError,
  update: NodeResult["update"],
): NodeResult {
  return {
    update: { ...update, status: transition(state.status ?? "CREATED", "FAILED") },
    turn: { failure: { cause: code, message, ...(transient && { transient }) } },
    goto: "finalize",
  };
}

/** Whether another branch has ended the turn already. */
function isOver({ status = "CREATED" }: GraphState): boolean {
  return isTerminal(status);
}

const nothing: NodeResult = { update: {}, goto: [] };

function cutOffStep(state: GraphState, run: NodeRun, thrown: StratagraphError): GraphUpdate {
  const here = state.branches.filter(({ at }) => at === run.node);
  const begun = new Set(run.begun.map(({ step_index }) => step_index));
  const left = here.flatMap(({ open }) => open).filter(({ step_index }) => !begun.has(step_index));
  const underWay = [...left, ...run.begun];
  const open = underWay.length > 0 ? underWay : (state.current_step ?? []);
  const steps = [open].flat().map((current) => {
    const results = cutOffResults(current, run.ended, thrown);
    return closeStep(current, { results, concurrent: false });
  });
  if (steps.length === 0) return {};
  for (const step of steps) run.emit({ type: "step", step });
  const results = steps.flatMap((step) => step.tool_results);
  return {
    steps,
    messages: results.map((result) => toolMessage(result, run.parts.ids())),
    current_step: null,
    usage: { tool_calls: results.length },
  };
}

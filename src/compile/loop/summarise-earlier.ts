import { earlierTurns, type EarlierTurn } from "../../context/short-term/earlier-turns.ts";
import { readSummary, summaryCharacters } from "../../context/short-term/read-summary.ts";
import { summaryRequest } from "../../context/short-term/summary-request.ts";
import { isSurelyWithin, turnSizes } from "../../context/short-term/turn-sizes.ts";
import { turnsToSummarise } from "../../context/short-term/turns-to-summarise.ts";
import { coverage, validSummary } from "../../context/short-term/valid-summary.ts";
import type { AgentModel, ModelReply, ModelRequest } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import type { RunningSummary } from "../../state/running-summary.ts";
import { askUntil } from "./ask-until.ts";
import { contextSettingsOf } from "./context-settings-of.ts";
import { TurnTimeoutError } from "../errors.ts";
import type { NodeRun } from "./node-body.ts";
import { turnSignal } from "./turn-signal.ts";

/** Seconds that a summary may take; at most half of what the whole turn may. */
const summarySeconds = 30;

/** Tokens that a model reads for a summary at most; never more than half of its window. */
const requestTokens = 16_000;

/**
 * What the `summary` of a thread is to be as a turn begins: when earlier turns have more tokens than short-term memory
 * allows, the model is asked once for a summary of the oldest. Undefined where it stays as it is, as it does when the
 * model fails, says nothing or takes too long; null where it tells of turns that are no longer there.
 *
 * @throws the reason of the run's signal when that aborts
 */
export async function summariseEarlier(
  state: GraphState,
  run: NodeRun,
): Promise<RunningSummary | null | undefined> {
  const { spec } = run.parts.definition;
  const former = validSummary(state.summary, state);
  const unchanged = former === null && state.summary ? null : undefined;
  const policy = contextSettingsOf(spec).shortTerm;
  if (policy === undefined || policy.strategy === "fifo") return unchanged;
  const earlier = earlierTurns(state);
  const covered = former?.covers.turns ?? 0;
  // Nodes of a workflow are not told of the steps of earlier turns.
  const told = spec.workflow_graph === undefined ? earlier : earlier.map(withoutSteps);
  const form = policy.strategy === "hybrid" ? "lines" : "whole";
  const { maxTokens } = policy;
  const open = told.slice(covered);
  if (isSurelyWithin(open, { form, maxTokens })) return unchanged;

  const model = await run.parts.thinker.model(run.context);
  const { count, window } = model.profile;
  const sizes = [...told.slice(0, covered).map(() => 0), ...turnSizes(open, { form, count })];
  const turns = turnsToSummarise({ sizes, covered, policy });
  if (turns === null) return unchanged;
  const maxCharacters = summaryCharacters(maxTokens);
  const messages = summaryRequest(
    {
      former: former?.text ?? null,
      turns: earlier.slice(covered, turns),
      firstTurn: covered,
      maxCharacters,
    },
    { maxTokens: Math.min(requestTokens, Math.floor(window / 2)), count },
  );
  const reply = await askInTime(model, { messages }, run);
  const text = reply === null ? null : readSummary(reply.message.text, maxCharacters);
  if (reply === null || text === null) return unchanged;
  const at = run.parts.clock.now().toISOString();
  return { text, covers: coverage(earlier, turns), model: reply.model, at };
}

function withoutSteps(turn: EarlierTurn): EarlierTurn {
  return { ...turn, steps: [] };
}

/** Null when the model fails or takes too long. */
async function askInTime(
  model: AgentModel,
  request: ModelRequest,
  run: NodeRun,
): Promise<ModelReply | null> {
  const { timeout_seconds: turnSeconds } = run.parts.definition.spec.execution_config;
  const timeoutSeconds = Math.min(summarySeconds, turnSeconds / 2);
  const bounds = turnSignal({
    clock: run.parts.clock,
    outer: [run.signal],
    remainingMs: timeoutSeconds * 1000,
    timeUp: () => new TurnTimeoutError(timeoutSeconds),
  });
  try {
    return await bounds.race(askUntil(bounds.signal, run, { model, request }));
  } catch {
    // Whatever came of it, the conversation is there as it was.
    run.signal.throwIfAborted();
    return null;
  } finally {
    bounds.release();
  }
}

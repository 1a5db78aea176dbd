import { shortTermStrategies } from "../../context/reasoning-context.ts";
import { deadline } from "../../async.ts";
import { nextApproachRequest } from "../../context/prompts.ts";
import {
  coverage,
  readSummary,
  summaryCharacters,
  summaryRequest,
  validSummary,
  type EarlierTurn,
} from "../../context/summarise/running-summary.ts";
import {
  earlierTurns,
  isSurelyWithin,
  turnSizes,
  turnsToSummarise,
} from "../../context/summarise/turns.ts";
import type { AgentModel, ModelReply, ModelRequest } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import type { RunningSummary } from "../../state/channels.ts";
import type { TurnMemories } from "../../state/turn.ts";
import { truncateModelText } from "../../values/text.ts";
import { TurnTimeoutError } from "../errors.ts";
import { callModelWithSignal, contextOf, shortTermOf } from "./context.ts";
import type { NodeBody, NodeContext } from "./node.ts";
import { cancelPendingCalls } from "./step.ts";

/**
 * Begins an attempt with fresh attempt state. In deep mode the model first chooses its approach, knowing the one that
 * failed. Before that, the first attempt of a turn summarizes earlier turns if short-term memory requires it.
 */
export const beginAttempt: NodeBody = async (state, run) => {
  const { loop, rails } = run;
  const attemptNumber = state.attempt_number ?? 0;
  const { input, execution } = state;
  const attempt = loop.initialAttempt({ input, execution, attemptNumber, rails });
  run.emit({ type: "status", status: "PLANNING" });
  const begun = loop.attempts.begin(state.status ?? "CREATED", loop);
  const summary = attemptNumber === 0 ? await summariseEarlier(state, run) : undefined;
  const known = summary === undefined ? {} : { summary };
  const used = attemptNumber === 0 ? await recordMemoryUses(state, run) : {};
  const update = { ...cancelPendingCalls(state, run), ...begun.update, attempt, ...known };
  if (loop.definition.spec.execution_config.mode === "fast") {
    return { update, turn: { ...used, approach: "" }, goto: begun.goto };
  }
  const model = await loop.boundModel.model(run.context);
  const note = nextApproachRequest(state.turn?.approach ?? "");
  const about = { model, goal: "planning", note } as const;
  const { messages } = await contextOf({ ...state, ...known }, run, about);
  const reply = await run.callModel(model, { messages }, { purpose: "planning", isUnseen: true });
  return {
    update,
    turn: { ...used, approach: truncateModelText(reply.message.text) },
    goto: begun.goto,
  };
};

/**
 * Records that the turn uses its memories. The run's id is stored by now, so that a repeated attempt after a crash counts
 * no use twice.
 */
async function recordMemoryUses(
  { turn }: GraphState,
  { memories }: NodeContext,
): Promise<{ readonly memories?: TurnMemories }> {
  const error = (await memories?.recordUses()) ?? null;
  return error === null || turn?.memories === undefined
    ? {}
    : { memories: { ...turn.memories, error } };
}

/** Time limit of a summary in seconds; at most half of the turn's timeout. */
const summarySeconds = 30;

/** Maximum tokens that a model reads for a summary; never more than half of its window. */
const requestTokens = 16_000;

/**
 * Returns the thread's new `summary` at the beginning of a turn. If earlier turns exceed the tokens of short-term
 * memory, the model summarizes the oldest ones. Undefined leaves the summary unchanged, also if the model fails,
 * returns nothing or takes too long. Null removes a summary of turns that no longer exist.
 *
 * @throws the reason of the run's signal if that aborts
 */
async function summariseEarlier(
  state: GraphState,
  run: NodeContext,
): Promise<RunningSummary | null | undefined> {
  const { spec } = run.loop.definition;
  const former = validSummary(state.summary, state);
  const unchanged = former === null && state.summary ? null : undefined;
  const { strategy, maxTokens: least } = shortTermOf(spec, {});
  const { summarises: form } = shortTermStrategies[strategy];
  if (form === null) return unchanged;
  const earlier = earlierTurns(state);
  const covered = former?.covers.turns ?? 0;
  // Workflow nodes do not read the steps of earlier turns.
  const told = spec.workflow_graph === undefined ? earlier : earlier.map(withoutSteps);
  const open = told.slice(covered);
  if (isSurelyWithin(open, { form, maxTokens: least })) return unchanged;

  const model = await run.loop.boundModel.model(run.context);
  const policy = shortTermOf(spec, model.profile);
  const { count, window } = model.profile;
  const sizes = [...told.slice(0, covered).map(() => 0), ...turnSizes(open, { form, count })];
  const turns = turnsToSummarise({ sizes, covered, policy });
  if (turns === null) return unchanged;
  const maxCharacters = summaryCharacters(policy.maxTokens);
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
  const at = run.loop.clock.now().toISOString();
  return { text, covers: coverage(state, turns), model: reply.model, at };
}

function withoutSteps(turn: EarlierTurn): EarlierTurn {
  return { ...turn, steps: [] };
}

/** Returns null if the model fails or takes too long. */
async function askInTime(
  model: AgentModel,
  request: ModelRequest,
  run: NodeContext,
): Promise<ModelReply | null> {
  const { timeout_seconds: turnSeconds } = run.loop.definition.spec.execution_config;
  const timeoutSeconds = Math.min(summarySeconds, turnSeconds / 2);
  const limit = deadline({
    clock: run.loop.clock,
    outer: [run.signal],
    remainingMs: timeoutSeconds * 1000,
    timeUp: () => new TurnTimeoutError(timeoutSeconds),
  });
  try {
    return await limit.race(
      callModelWithSignal(limit.signal, run, { model, request, purpose: "summary" }),
    );
  } catch {
    // Without a summary the conversation stays as it is.
    run.signal.throwIfAborted();
    return null;
  } finally {
    limit.release();
  }
}

import { composeSummarised } from "../../context/compose-summarised.ts";
import { composeInSlices } from "../../context/compose/compose-context.ts";
import type { ComposeOptions } from "../../context/compose/compose-options.ts";
import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { loopTranscript, type LoopHistory } from "../../context/loop-transcript.ts";
import { observedSteps } from "../../context/observed-steps.ts";
import { validSummary } from "../../context/short-term/valid-summary.ts";
import type { AgentModel, ModelTool } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import { contextSettingsOf } from "./context-settings-of.ts";
import type { NodeRun } from "./node-body.ts";
import { stepFormOf, toolFormOf } from "./parts.ts";
import { resultSummaries } from "./result-summaries.ts";

/** What a model call of this run gets to read, with what is said last. */
export async function contextOf(
  state: GraphState,
  run: NodeRun,
  last: {
    readonly model: AgentModel;
    readonly goal: Goal;
    /** What the request offers; without them, calls are told in words. */
    readonly tools?: readonly ModelTool[];
  } & Pick<LoopHistory, "note" | "pending" | "openStep">,
): Promise<ReasoningContext> {
  const { model, goal, tools = [], ...rest } = last;
  const { thinker, definition } = run.parts;
  return composeFor(run, model, {
    profile: model.profile,
    goal,
    settings: contextSettingsOf(definition.spec),
    form: stepFormOf(model, tools),
    opening: thinker.opening(toolFormOf(model), tools),
    tools: model.toolCalling ? tools : [],
    transcript: loopTranscript({
      conversation: state.messages,
      steps: state.steps,
      turnNumber: state.turn_number ?? 0,
      failedAttempts: state.turn?.failed_attempts ?? [],
      ...rest,
    }),
    summary: validSummary(state.summary, state),
    observed: observedSteps(state.steps),
  });
}

/** A context within a run: where the definition asks for it, large results are summarised for it. */
export async function composeFor(
  run: NodeRun,
  reader: AgentModel,
  options: ComposeOptions,
): Promise<ReasoningContext> {
  const { summariser } = run.parts;
  if (summariser === null) return composeInSlices(options, run.signal);
  const { goal } = options;
  return composeSummarised(
    options,
    (wish) => resultSummaries(run, { summariser, reader }, { ...wish, goal }),
    run.signal,
  );
}

import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { StepContext } from "../../compile/context-reader.ts";
import type { GraphState } from "../../state/channels.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { branchBack } from "./thread-branch.ts";
import type { ContextWishes } from "./context-options.ts";
import { graphStateAt } from "./graph-state.ts";
import { chosenModel, isWrittenTwice, madeSteps } from "./made-steps.ts";
import type { LookedAt } from "./next-turn.ts";
import { pendingTasks } from "../../compile/pending-tasks.ts";

/** What the step read, and from which checkpoint it was made. */
export interface PastContext {
  readonly tuple: CheckpointTuple;
  readonly context: StepContext;
  readonly state: GraphState;
}

/**
 * What was read when a step was made: at the newest checkpoint before it whose next nodes include the step's own.
 * @returns null where that checkpoint is not kept
 */
export async function pastContext(
  source: Pick<BaseCheckpointSaver, "getTuple">,
  of: {
    readonly agent: LookedAt;
    readonly last: CheckpointTuple;
    readonly step: CurrentStep;
    readonly wishes: ContextWishes;
  },
): Promise<PastContext | null> {
  const { agent, step } = of;
  let after: GraphState | undefined;
  for await (const tuple of branchBack(source, of.last)) {
    const own = graphStateAt(agent.graph, tuple);
    // Summaries that were made for the step are written with it.
    const { result_summaries } = after ?? own;
    const state = { ...own, result_summaries };
    after = own;
    if ((state.turn_number ?? -1) < step.turn_number) return null;
    if (state.turn_number !== step.turn_number) continue;
    if (!pendingTasks(tuple).some(({ node }) => node === step.node)) continue;
    // Cheaper than a context that is of another step.
    const made = madeSteps(state, step.turn_number);
    if (made.some(({ step_index }) => step_index === step.step_index)) continue;
    const request = {
      ...of.wishes,
      node: step.node,
      superstep: (tuple.metadata?.step ?? -1) + 1,
      planning: step.planning,
      inherited: agent.inherited,
      around: agent.around,
    };
    const context = await agent.reader.read(state, request);
    // A node may have been started, and have had to wait for others.
    if (context?.step !== step.step_index) continue;
    const chosen = chosenModel(step);
    if (of.wishes.model !== undefined || context.metadata.model === chosen) {
      return { tuple, context: asMade(context, step), state };
    }
    // The run asked for another model than the definition's.
    const reread = await agent.reader.read(state, { ...request, model: chosen });
    return { tuple, context: asMade(reread ?? context, step), state };
  }
  return null;
}

/** With the requests that were made: the second one only comes after an answer. */
function asMade(context: StepContext, step: CurrentStep): StepContext {
  const [first, ...more] = context.goals;
  if (first === undefined || more.length === 0 || isWrittenTwice(step)) return context;
  return { ...context, goals: [first] };
}

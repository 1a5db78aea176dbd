import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { buildLoopContext, type LoopContextOptions } from "../../context/loop-context.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import type { NodeRun } from "./node-body.ts";
import { withoutFigures } from "../../context/without-figures.ts";
import { toolFormOf } from "./parts.ts";

/** What a model call of this run gets to read, with what is said last. */
export async function contextOf(
  state: GraphState,
  run: NodeRun,
  last: { readonly model: AgentModel; readonly goal: Goal } & Pick<
    LoopContextOptions,
    "note" | "pending" | "openStep"
  >,
): Promise<ReasoningContext> {
  const { model, goal, ...rest } = last;
  const toolForm = toolFormOf(model);
  const messages = buildLoopContext({
    opening: run.parts.thinker.opening(toolForm),
    conversation: state.messages,
    steps: state.steps,
    turnNumber: state.turn_number ?? 0,
    failedAttempts: state.turn?.failed_attempts ?? [],
    toolForm,
    ...rest,
  });
  return withoutFigures(messages, { goal, model: model.ref });
}

import type { BaseMessage } from "@langchain/core/messages";
import {
  buildReasoningContext,
  type ReasoningContextOptions,
} from "../../context/reasoning-context.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import type { NodeRun } from "./node-body.ts";
import { toolFormOf } from "./parts.ts";

/** What a model call of this run gets to read, with what is said last. */
export function contextOf(
  state: GraphState,
  run: NodeRun,
  last: { readonly model: AgentModel } & Pick<
    ReasoningContextOptions,
    "note" | "pending" | "openStep"
  >,
): BaseMessage[] {
  const { model, ...rest } = last;
  const toolForm = toolFormOf(model);
  return buildReasoningContext({
    opening: run.parts.thinker.opening(toolForm),
    conversation: state.messages,
    steps: state.steps,
    turnNumber: state.turn_number ?? 0,
    failedAttempts: state.turn?.failed_attempts ?? [],
    toolForm,
    ...rest,
  });
}

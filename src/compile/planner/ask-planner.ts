import { stepFormOf } from "../../context/step-messages.ts";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { Goal, ReasoningContext } from "../../context/reasoning-context.ts";
import { loopTranscript } from "../../context/transcript.ts";
import { observedSteps } from "../../context/step-note.ts";
import type { AgentModel, ModelReply, StructuredAnswer } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import { truncateText, truncateModelText } from "../../values/text.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import { emptyStep } from "../loop/step.ts";
import { composeFor, contextSettingsOf } from "../loop/context.ts";
import type { NodeContext } from "../loop/node.ts";
import type { BoundModel } from "../loop/context.ts";
import { withoutTools } from "../loop/step-record.ts";
import { placeOf } from "./subtask-log.ts";

/**
 * Composes the context of a planner's model call: the task, the results of the subtasks, and `note` or `pending` last.
 */
export async function plannerContext(
  state: GraphState,
  run: NodeContext,
  call: {
    readonly boundModel: BoundModel;
    readonly model: AgentModel;
    readonly goal: Goal;
    readonly answer?: StructuredAnswer;
    readonly note?: string;
    readonly pending?: { readonly answer: string; readonly request: string };
  },
): Promise<ReasoningContext> {
  const { model, boundModel, goal, answer, note, pending } = call;
  return composeFor(run, model, {
    profile: model.profile,
    goal,
    settings: contextSettingsOf(run.loop.definition.spec, model.profile),
    form: stepFormOf(model, []),
    opening: boundModel.promptPrefix(model),
    tools: [],
    ...(model.toolCalling && answer !== undefined && { answer }),
    transcript: loopTranscript({
      conversation: state.messages,
      // The request already describes plans and judgements; only results are needed.
      steps: state.steps.filter(({ tool_predictions: calls }) => calls.length > 0),
      turnNumber: state.turn_number ?? 0,
      failedAttempts: state.turn?.failed_attempts ?? [],
      ...(note !== undefined && { note }),
      ...(pending !== undefined && { pending }),
    }),
    summary: null,
    observed: observedSteps(state.steps),
  });
}

/** Characters of a refused reply shown to the model again. */
const shownCharacters = 8000;

/**
 * Returns the request with the refused reply and a retry message. It is not composed again: it had room for that reply.
 */
export function askedAgain(
  messages: readonly BaseMessage[],
  { message }: ModelReply,
  request: string,
): readonly BaseMessage[] {
  const said = truncateText(saidIn(message), shownCharacters);
  return [...messages, ...(said === "" ? [] : [new AIMessage(said)]), new HumanMessage(request)];
}

function saidIn({ text, tool_calls: calls = [], invalid_tool_calls: broken = [] }: AIMessage) {
  const [call] = calls;
  return call === undefined ? (broken[0]?.args ?? text) : JSON.stringify(call.args);
}

/** Returns the record of calls that planned, joined or judged. */
export function askedRecord(
  state: GraphState,
  run: NodeContext,
  asked: {
    readonly timestamp: string;
    readonly replies: readonly ModelReply[];
    readonly thought: string;
    readonly problem?: string;
  },
): StepRecord {
  const { timestamp, replies, thought, problem = "" } = asked;
  const last = replies.at(-1);
  return withoutTools({
    ...emptyStep(placeOf(state, run, timestamp)),
    thought: truncateModelText(thought),
    problem,
    usage: replies.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
    model: last?.model ?? "",
    fallback: last?.fallback ?? null,
    model_calls: replies.flatMap(({ calls }) => calls),
  });
}

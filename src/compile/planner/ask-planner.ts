import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { loopTranscript } from "../../context/loop-transcript.ts";
import { observedSteps } from "../../context/observed-steps.ts";
import type { AgentModel, ModelReply, StructuredAnswer } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import { cutText } from "../../state/cut-text.ts";
import { keptText } from "../../state/kept-text.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import { blankStep } from "../loop/blank-step.ts";
import { composeFor } from "../loop/context-of.ts";
import { contextSettingsOf } from "../loop/context-settings-of.ts";
import type { NodeRun } from "../loop/node-body.ts";
import { stepFormOf, toolFormOf, type Thinker } from "../loop/parts.ts";
import { withoutTools } from "../loop/reasoning.ts";
import { placeOf } from "./subtask-record.ts";

/** What a model call of a planner reads: the task, what the subtasks gave, and `note` or `pending` last. */
export async function plannerContext(
  state: GraphState,
  run: NodeRun,
  call: {
    readonly thinker: Thinker;
    readonly model: AgentModel;
    readonly goal: Goal;
    readonly answer?: StructuredAnswer;
    readonly note?: string;
    readonly pending?: { readonly answer: string; readonly request: string };
  },
): Promise<ReasoningContext> {
  const { model, thinker, goal, answer, note, pending } = call;
  return composeFor(run, model, {
    profile: model.profile,
    goal,
    settings: contextSettingsOf(run.parts.definition.spec),
    form: stepFormOf(model, []),
    opening: thinker.opening(toolFormOf(model)),
    tools: [],
    ...(model.toolCalling && answer !== undefined && { answer }),
    transcript: loopTranscript({
      conversation: state.messages,
      // What was planned and judged is told by what is asked; the results are what matters.
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

/** Characters of a refused reply that the model is shown again. */
const shownCharacters = 8000;

/** What was asked, once more after a reply that was refused. It is not composed again: it had room for that reply. */
export function askedAgain(
  messages: readonly BaseMessage[],
  { message }: ModelReply,
  request: string,
): readonly BaseMessage[] {
  const said = cutText(saidIn(message), shownCharacters);
  return [...messages, ...(said === "" ? [] : [new AIMessage(said)]), new HumanMessage(request)];
}

function saidIn({ text, tool_calls: calls = [], invalid_tool_calls: broken = [] }: AIMessage) {
  const [call] = calls;
  return call === undefined ? (broken[0]?.args ?? text) : JSON.stringify(call.args);
}

/** The record of calls that planned, joined or judged. */
export function askedRecord(
  state: GraphState,
  run: NodeRun,
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
    ...blankStep(placeOf(state, run, timestamp)),
    thought: keptText(thought),
    problem,
    usage: replies.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
    model: last?.model ?? "",
    fallback: last?.fallback ?? null,
  });
}

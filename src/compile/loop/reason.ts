import { AIMessage } from "@langchain/core/messages";
import { deepNotes, finalAnswerRequest, planningRequest } from "../../context/prompts.ts";
import type { AgentModel, ModelReply } from "../../models/agent-model.ts";
import { parseTextForm } from "../../models/text-form.ts";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import type { CurrentStep, ExecutionMode, StepRecord } from "../../state/step-record.ts";
import { raiseOrEnd } from "../../state/stuck.ts";
import { turnSteps, type Draft, type TurnSteps } from "../../state/turn.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { contextOf } from "./context-of.ts";
import type { NodeBody, NodeResult, NodeRun } from "./node-body.ts";
import { toolFormOf } from "./parts.ts";
import { readReply, type ReadReply } from "./read-reply.ts";

/** One reasoning step: reads the context, calls the model, decides what is next. */
export const reason: NodeBody = async (state, run) => {
  const { execution_config: limits } = run.parts.definition.spec;
  const turn = turnSteps(state.steps, {
    turnNumber: state.turn_number ?? 0,
    attemptNumber: state.attempt_number ?? 0,
  });
  const stuck = raiseOrEnd(turn.attempt);
  if (stuck.action === "end") return endAttempt(state, run, stuck.reason);
  const isLast =
    turn.attempt.length >= limits.max_iterations || run.superstepsLeft < superstepsOfAStep;
  const mode = stuck.action === "deepen" ? "deep" : limits.mode;

  const model = await run.model();
  const step: StepInProgress = { state, run, model, turn, mode };
  run.emit({ type: "status", status: "EXECUTING" });
  if (isLast) return answerFromWhatIsKnown(step);

  const timestamp = run.parts.clock.now().toISOString();
  const planning = mode === "deep" ? await ask(step, planningRequest, { unseen: "unseen" }) : null;
  const planned = planning?.message.text ?? "";
  const reply = await ask(step, null, { planning: planned });
  const read = readReply({
    message: reply.message,
    form: toolFormOf(model),
    tools: run.parts.tools,
    ids: run.parts.ids,
    isUsed: (id) => turn.callIds.has(id),
  });
  const usage = addUsage(planning?.usage ?? noUsage, reply.usage);
  const current = { ...currentStep(step, { timestamp, reply, read, usage }), planning: planned };
  if (read.thought !== "") {
    run.emit({ type: "thought", step_index: current.step_index, text: read.thought });
  }
  return next(state, run, { current, reply, read });
};

/** A step with tools, the final answer, its judgement and the end of the turn. */
const superstepsOfAStep = 6;

interface StepInProgress {
  readonly state: GraphState;
  readonly run: NodeRun;
  readonly model: AgentModel;
  readonly turn: TurnSteps;
  readonly mode: ExecutionMode;
}

/** `request` asks for something instead of the next step, without tools; null asks for the next step. */
function ask(
  step: StepInProgress,
  request: string | null,
  options: { planning?: string; unseen?: "unseen" } = {},
): Promise<ModelReply> {
  const { state, run, model, turn } = step;
  const notes =
    step.mode === "fast"
      ? ""
      : deepNotes({
          approach: state.turn?.approach ?? "",
          reflection: turn.steps.at(-1)?.reflection ?? "",
          planning: options.planning ?? "",
        });
  const note = [notes, request].filter(Boolean).join("\n\n");
  const messages = contextOf(state, run, { model, note });
  const offersTools = request === null && run.parts.modelTools.length > 0;
  const asked = offersTools ? { messages, tools: run.parts.modelTools } : { messages };
  return run.ask(model, asked, options.unseen);
}

function currentStep(
  step: StepInProgress,
  made: { timestamp: string; reply: ModelReply; read: ReadReply; usage: Usage },
): CurrentStep {
  const { state, turn, mode } = step;
  return {
    turn_number: state.turn_number ?? 0,
    attempt_number: state.attempt_number ?? 0,
    step_index: turn.steps.length,
    timestamp: made.timestamp,
    mode,
    thought: made.read.thought,
    planning: "",
    reflection: "",
    approach: state.turn?.approach ?? "",
    next_action: made.read.nextAction,
    tool_predictions: made.read.predictions,
    synthesis: "",
    progress: "",
    hypothesis: null,
    problem: made.read.problem,
    usage: made.usage,
    model: made.reply.model,
    fallback: made.reply.fallback,
  };
}

function next(
  state: GraphState,
  run: NodeRun,
  made: { current: CurrentStep; reply: ModelReply; read: ReadReply },
): NodeResult {
  const { current, reply, read } = made;
  const status = state.status ?? "CREATED";
  if (read.nextAction === "use_tools") {
    for (const call of read.predictions) {
      run.emit({ type: "tool_call", step_index: current.step_index, call });
    }
    return {
      update: {
        messages: [callingMessage(reply.message, read, run)],
        current_step: current,
        status: transition(status, "AWAITING_TOOL"),
      },
      goto: "tools",
    };
  }
  const record = withoutTools(current);
  run.emit({ type: "step", step: record });
  const finished = read.answer !== null;
  return {
    update: {
      steps: [record],
      status: transition(status, finished ? "REFLECTING" : "EXECUTING"),
    },
    ...(read.answer !== null && { turn: { draft: answered(read.answer, reply, false) } }),
    goto: finished ? "reflect" : "reason",
  };
}

/** The step limit is reached: one more call, without tools, answers from what is known. */
async function answerFromWhatIsKnown(step: StepInProgress): Promise<NodeResult> {
  const { state, run } = step;
  const timestamp = run.parts.clock.now().toISOString();
  const reply = await ask(step, finalAnswerRequest(run.parts.definition.spec.output_schema));
  const said = reply.message.text;
  const text = step.model.toolCalling ? said : (parseTextForm(said).finalAnswer ?? said);
  const read: ReadReply = {
    thought: text,
    nextAction: "finish",
    predictions: [],
    answer: text,
    problem: "",
  };
  const record = withoutTools(currentStep(step, { timestamp, reply, read, usage: reply.usage }));
  run.emit({ type: "step", step: record });
  return {
    update: {
      steps: [record],
      status: transition(state.status ?? "CREATED", "REFLECTING"),
    },
    turn: {
      draft:
        text.trim() === ""
          ? {
              answer: null,
              incomplete: false,
              problem: "no steps were left, and no final answer came",
            }
          : answered(text, reply, true),
    },
    goto: "reflect",
  };
}

function endAttempt(state: GraphState, run: NodeRun, problem: string): NodeResult {
  run.emit({ type: "status", status: "REFLECTING" });
  return {
    update: { status: transition(state.status ?? "CREATED", "REFLECTING") },
    turn: { draft: { answer: null, incomplete: false, problem } },
    goto: "reflect",
  };
}

function answered(answer: string, reply: ModelReply, incomplete: boolean): Draft {
  return { answer, message_id: reply.message.id ?? null, incomplete, problem: null };
}

function withoutTools(current: CurrentStep): StepRecord {
  return { ...current, tool_results: [], concurrent_execution: false };
}

/** The message that chat clients see: the model's own, so that streamed tokens and the stored message are one. */
function callingMessage(message: AIMessage, read: ReadReply, run: NodeRun): AIMessage {
  const calls = message.tool_calls ?? [];
  const same =
    calls.length === read.predictions.length &&
    calls.every((call, i) => call.id === read.predictions[i]?.id);
  if (same && message.id !== undefined) return message;
  return new AIMessage({
    id: message.id ?? run.parts.ids(),
    content: read.thought,
    tool_calls: read.predictions.map(({ id, name, args }) => ({ id, name, args })),
  });
}

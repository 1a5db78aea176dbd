import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { noteTool } from "../../context/step-note.ts";
import type { AgentModel, ModelTool } from "../../models/agent-model.ts";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import {
  type ExecutionMode,
  raiseOrEnd,
  type StepRecord,
  type ToolSelectionRecord,
} from "../../state/step-record.ts";
import { appendFold, type MessagePlace, placeKey, turnSteps } from "../../state/turn.ts";
import type { ToolUse } from "../../tools/selection/select-tools.ts";
import { type InboxMessage, inboxIn } from "../run/run-config.ts";
import { contextOf } from "./context.ts";
import { repetitionLimits } from "./reasoning-step.ts";
import type { BoundModel } from "./context.ts";
import { narrowBoundModel } from "./loop-config.ts";
import {
  answerDraft,
  synthesizeFinalAnswer,
  asFinalAnswer,
  callingMessage,
  runReasoningStep,
  failedDraft,
  type StepResponse,
} from "./reasoning-step.ts";
import { type StepRequest, withoutTools } from "./step-record.ts";
import { type NodeBody, type NodeResult, type NodeContext, probeFixedContext } from "./node.ts";
import { isWorthReflection, reflectOn } from "./reflect.ts";

/** One reasoning step: composes the context, calls the model and decides what is next. */
export const reason: NodeBody = async (stored, run) => {
  const { spec } = run.loop.definition;
  const turnNumber = stored.turn_number ?? 0;
  const attemptNumber = stored.attempt_number ?? 0;
  const turn = turnSteps(stored.steps, { turnNumber, attemptNumber });
  const stuck = raiseOrEnd(turn.attempt, repetitionLimits(run));
  if (stuck.action === "end") return endAttempt(stored, run, stuck.reason);
  const stepIndex = turn.steps.length;
  const { state, addTo } = await takeMessages(stored, run, {
    turn_number: turnNumber,
    attempt_number: attemptNumber,
    step_index: stepIndex,
  });
  const isLast =
    turn.attempt.length >= spec.execution_config.max_iterations ||
    run.superstepsLeft < superstepsOfAStep;
  // The final answer has only one form.
  const raised = stuck.action === "deepen" && !isLast ? stuck.reason : "";
  if (raised !== "") run.emit({ type: "stuck", action: "deepen", reason: raised });
  const { boundModel } = run.loop;
  const { mode } = spec.execution_config;
  const model = await boundModel.model(run.context);
  const choice = await chooseTools(boundModel, state, run);
  const step: StepRequest = {
    run,
    model,
    purpose: "reasoning",
    mode: raised === "" ? mode : "deep",
    turnNumber,
    attemptNumber,
    stepIndex,
    approach: state.turn?.approach ?? "",
    stuck: raised,
    before: turn.attempt.at(-1),
    behind: turn.steps,
    reasoning: turn.reasoning,
    offered: offeredTools(choice.tools, { model, mode, taken: run.loop.tools }),
    selection: choice.record,
    answerSchema: run.loop.definition.output,
    isUsed: (id) => turn.callIds.has(id),
    read: (note, goal, tools = []) =>
      probeFixedContext(run, stepIndex, contextOf(state, run, { model, goal, note, tools })),
  };
  if (!isLast) return addTo(await next(state, run, await runReasoningStep(step), step));
  const { record, draft } = await synthesizeFinalAnswer(asFinalAnswer(step), spec.output_schema);
  return addTo({
    update: {
      steps: [record],
      status: transition(state.status ?? "CREATED", "REFLECTING"),
    },
    turn: { draft },
    goto: "reflect",
  });
};

/** Supersteps of a step with tools and approval, the final answer, its judgement and the end of the turn. */
const superstepsOfAStep = 7;

async function next(
  state: GraphState,
  run: NodeContext,
  made: StepResponse,
  { model }: Pick<StepRequest, "model">,
): Promise<NodeResult> {
  const { current, reply, read } = made;
  const status = state.status ?? "CREATED";
  if (read.nextAction === "use_tools") {
    for (const call of read.predictions) {
      run.emit({ type: "tool_call", step_index: current.step_index, call });
    }
    const waits = read.predictions.some(({ name }) => run.loop.needsApproval(name));
    return {
      update: {
        messages: [callingMessage(made, run)],
        current_step: current,
        status: transition(status, waits ? "AWAITING_HUMAN" : "AWAITING_TOOL"),
      },
      goto: waits ? "human" : "tools",
    };
  }
  const closed = withoutTools(current);
  const record = isWorthReflection(closed)
    ? await reflectOn(closed, run, async (openStep: StepRecord, note: string) => {
        const context = await contextOf(state, run, { model, goal: "planning", openStep, note });
        return { model, messages: context.messages };
      })
    : closed;
  run.emit({ type: "step", step: record });
  const finished = read.answer !== null;
  return {
    update: {
      steps: [record],
      status: transition(status, finished ? "REFLECTING" : "EXECUTING"),
    },
    turn: {
      approach: record.approach,
      ...(read.answer !== null && { draft: answerDraft(read.answer, reply) }),
    },
    goto: finished ? "reflect" : "reason",
  };
}

function endAttempt(state: GraphState, run: NodeContext, problem: string): NodeResult {
  run.emit({ type: "stuck", action: "end", reason: problem });
  run.emit({ type: "status", status: "REFLECTING" });
  return {
    update: { status: transition(state.status ?? "CREATED", "REFLECTING") },
    turn: { draft: failedDraft(problem) },
    goto: "reflect",
  };
}

/** What a step takes from the inbox of its run. */
interface TakenMessages {
  /** The state with the messages, which the step reads. */
  readonly state: GraphState;
  /** Returns the result of the step with the messages: the checkpoint that has the step has them. */
  readonly addTo: (result: NodeResult) => NodeResult;
}

/**
 * Takes the messages that have come for the turn. They leave the inbox later, once a completed turn contains them; until
 * then the state names them. So a step that is repeated reads them again, and no step after it does.
 */
async function takeMessages(
  state: GraphState,
  run: NodeContext,
  place: MessagePlace,
): Promise<TakenMessages> {
  const inbox = run.within.length === 0 ? inboxIn(run.config) : undefined;
  const kept = (await inbox?.read()) ?? [];
  const known = state.turn?.inbox ?? [];
  const arrived = kept.filter(({ id }) => !known.includes(id));
  if (arrived.length === 0) return { state, addTo: (result) => result };
  const messages: BaseMessage[] = [];
  for (const message of arrived) {
    const content = await guardMessage(message, state, { run, place });
    run.emit({ type: "user_message", step_index: place.step_index, id: message.id, text: content });
    if (content === null) continue;
    const additional_kwargs = { [placeKey]: place };
    messages.push(new HumanMessage({ id: message.id, content, additional_kwargs }));
  }
  return {
    state: { ...state, messages: [...state.messages, ...messages] },
    addTo: ({ update, turn, goto }) => ({
      update: { ...update, messages: [...messages, ...(update.messages ?? [])] },
      turn: { ...turn, inbox: kept.map(({ id }) => id) },
      goto,
    }),
  };
}

/** Applies the input rails to a message. Returns its text as they leave it; null if they refuse it. */
async function guardMessage(
  { content }: InboxMessage,
  { input }: GraphState,
  { run, place }: { readonly run: NodeContext; readonly place: MessagePlace },
): Promise<string | null> {
  const { loop, rails } = run;
  if (loop.rails.input.length === 0) return content;
  const request = loop.requestOf(input);
  const { value, blocked } = await rails.check(
    { on: "input", tool: null, request, evidence: [], value: content },
    {
      turnNumber: place.turn_number,
      attemptNumber: place.attempt_number,
      stepIndex: place.step_index,
      callId: null,
    },
  );
  return blocked === null ? (value as string) : null;
}

/** The tools offered in a step. */
export interface ToolChoice {
  /** The same array for the same tools. */
  readonly tools: readonly ModelTool[];
  /** How they were selected; null if all are offered. */
  readonly record: ToolSelectionRecord | null;
}

/** Selections by the model's tools and the selected names. */
const choices = new WeakMap<readonly ModelTool[], Map<string, readonly ModelTool[]>>();

/**
 * Selects the tools offered in a step: all of them, or if there are too many, those that best match the request and the
 * last thought, plus those that the turn has already called. They keep the definition's order.
 */
export async function chooseTools(
  boundModel: BoundModel,
  state: GraphState,
  run: NodeContext,
): Promise<ToolChoice> {
  const { modelTools, candidates } = narrowBoundModel(boundModel, run.loop);
  const { spec } = run.loop.definition;
  const { above, top_k: topK, min_score: minScore, weights } = spec.tool_selection;
  if (modelTools.length <= above) return { tools: modelTools, record: null };
  const { selectTools } = await import("../../tools/selection/select-tools.ts");
  const turnNumber = state.turn_number ?? 0;
  const { steps, toolNames: called } = turnSteps(state.steps, {
    turnNumber,
    attemptNumber: state.attempt_number ?? 0,
  });
  const task = [run.loop.requestOf(state.input), steps.at(-1)?.thought ?? ""].join("\n").trim();
  const { selected, considered } = await selectTools({
    task,
    tools: candidates,
    permissions: spec.permissions,
    history: toolUses(state.steps),
    topK,
    minScore,
    weights,
    embeddings: run.loop.embeddings,
    // A fixed time, so that every dry run of the step gives the same selection.
    now: new Date(state.turn?.started_at ?? run.loop.clock.now()),
  });
  const names = new Set([...selected.map(({ name }) => name), ...called]);
  return { tools: chosen(modelTools, names), record: { considered, selected } };
}

function chosen(
  modelTools: readonly ModelTool[],
  names: ReadonlySet<string>,
): readonly ModelTool[] {
  const tools = modelTools.filter(({ name }) => names.has(name));
  const known = choices.get(modelTools) ?? new Map<string, readonly ModelTool[]>();
  choices.set(modelTools, known);
  const key = tools.map(({ name }) => name).join();
  const same = known.get(key);
  if (same !== undefined) return same;
  known.set(key, Object.freeze(tools));
  return tools;
}

/** Returns every completed call of the thread. */
const toolUses = appendFold<StepRecord, ToolUse[]>(
  () => [],
  (uses, { timestamp, tool_results: results }) => {
    for (const { name, outcome } of results) uses.push({ tool: name, outcome, at: timestamp });
  },
);

/**
 * Tool lists with the note tool, by the agent's own list: models cache the binding by identity, and providers cache the
 * prompt.
 */
const withNoteTool = new WeakMap<readonly ModelTool[], readonly ModelTool[]>();

/**
 * Returns the tools offered in a step, with the note tool if the model may make several calls at once. In deep mode,
 * reflections replace notes. Returns the same array for the same tools.
 */
export function offeredTools(
  tools: readonly ModelTool[],
  to: {
    readonly model: Pick<AgentModel, "toolCalling" | "parallelCalls">;
    /** The definition's mode: the list is the same for a raised step. */
    readonly mode: ExecutionMode;
    /** The agent's tools, by name. */
    readonly taken: { has(name: string): boolean };
  },
): readonly ModelTool[] {
  const { model, mode, taken } = to;
  const canNote = model.toolCalling && model.parallelCalls && tools.length > 0;
  if (!canNote || mode === "deep" || taken.has(noteTool.name)) return tools;
  const known = withNoteTool.get(tools);
  if (known !== undefined) return known;
  const offered = Object.freeze([...tools, noteTool]);
  withNoteTool.set(tools, offered);
  return offered;
}

import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { raiseOrEnd } from "../../state/stuck.ts";
import { turnSteps } from "../../state/turn.ts";
import { chooseTools } from "./choose-tools.ts";
import { contextOf } from "./context-of.ts";
import { readExactly } from "./context-reading.ts";
import type { NodeBody, NodeResult, NodeRun } from "./node-body.ts";
import { repetitionLimits } from "./call-rules.ts";
import { offeredTools } from "./offered-tools.ts";
import {
  answered,
  answerFromWhatIsKnown,
  callingMessage,
  makeStep,
  noAnswer,
  withoutTools,
  type StepMade,
} from "./reasoning.ts";
import { isWorthReflection, reflectOn } from "./reflection.ts";
import type { StepToMake } from "./step-to-make.ts";
import { asLastAnswer } from "./write-answer.ts";

/** One reasoning step: reads the context, calls the model, decides what is next. */
export const reason: NodeBody = async (state, run) => {
  const { spec } = run.parts.definition;
  const turnNumber = state.turn_number ?? 0;
  const attemptNumber = state.attempt_number ?? 0;
  const turn = turnSteps(state.steps, { turnNumber, attemptNumber });
  const stuck = raiseOrEnd(turn.attempt, repetitionLimits(run));
  if (stuck.action === "end") return endAttempt(state, run, stuck.reason);
  const isLast =
    turn.attempt.length >= spec.execution_config.max_iterations ||
    run.superstepsLeft < superstepsOfAStep;
  // The last answer is no step that could be made another way.
  const raised = stuck.action === "deepen" && !isLast ? stuck.reason : "";
  if (raised !== "") run.emit({ type: "stuck", action: "deepen", reason: raised });
  const { thinker } = run.parts;
  const { mode } = spec.execution_config;
  const model = await thinker.model(run.context);
  const stepIndex = turn.steps.length;
  const choice = await chooseTools(thinker, state, run);
  const step: StepToMake = {
    run,
    model,
    mode: raised === "" ? mode : "deep",
    turnNumber,
    attemptNumber,
    stepIndex,
    approach: state.turn?.approach ?? "",
    stuck: raised,
    before: turn.attempt.at(-1),
    behind: turn.steps,
    offered: offeredTools(choice.tools, { model, mode, taken: run.parts.tools }),
    selection: choice.record,
    answerSchema: run.parts.definition.output,
    isUsed: (id) => turn.callIds.has(id),
    read: (note, goal, tools = []) =>
      readExactly(run, stepIndex, contextOf(state, run, { model, goal, note, tools })),
  };
  if (!isLast) return next(state, run, await makeStep(step), step);
  const { record, draft } = await answerFromWhatIsKnown(asLastAnswer(step), spec.output_schema);
  return {
    update: {
      steps: [record],
      status: transition(state.status ?? "CREATED", "REFLECTING"),
    },
    turn: { draft },
    goto: "reflect",
  };
};

/** A step with tools and their approval, the final answer, its judgement and the end of the turn. */
const superstepsOfAStep = 7;

async function next(
  state: GraphState,
  run: NodeRun,
  made: StepMade,
  { model }: Pick<StepToMake, "model">,
): Promise<NodeResult> {
  const { current, reply, read } = made;
  const status = state.status ?? "CREATED";
  if (read.nextAction === "use_tools") {
    for (const call of read.predictions) {
      run.emit({ type: "tool_call", step_index: current.step_index, call });
    }
    const waits = read.predictions.some(({ name }) => run.parts.needsApproval(name));
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
      ...(read.answer !== null && { draft: answered(read.answer, reply, false) }),
    },
    goto: finished ? "reflect" : "reason",
  };
}

function endAttempt(state: GraphState, run: NodeRun, problem: string): NodeResult {
  run.emit({ type: "stuck", action: "end", reason: problem });
  run.emit({ type: "status", status: "REFLECTING" });
  return {
    update: { status: transition(state.status ?? "CREATED", "REFLECTING") },
    turn: { draft: noAnswer(problem) },
    goto: "reflect",
  };
}

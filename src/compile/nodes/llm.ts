import { checkAnswer } from "../../context/answer-form.ts";
import { attemptFeedback } from "../../context/prompts.ts";
import type { SchemaCheck } from "../../definition/json-schema.ts";
import type { CurrentStep, ExecutionMode, StepRecord } from "../../state/step-record.ts";
import { raiseOrEnd } from "../../state/stuck.ts";
import { repetitionLimits } from "../loop/call-rules.ts";
import { chooseTools } from "../loop/choose-tools.ts";
import {
  answerFromWhatIsKnown,
  callingMessage,
  makeStep,
  noAnswer,
  withoutTools,
  type StepMade,
} from "../loop/reasoning.ts";
import { revealing } from "../loop/revealing.ts";
import { isWorthReflection, reflectOn } from "../loop/reflection.ts";
import type { StepToMake } from "../loop/step-to-make.ts";
import { readExactly } from "../loop/context-reading.ts";
import { asLastAnswer } from "../loop/write-answer.ts";
import { offeredTools } from "../loop/offered-tools.ts";
import type { LlmNode } from "../plan/plan-node.ts";
import type { Asker } from "./asker.ts";
import { lookBack } from "./look-back.ts";
import { nodeContext, stepsOfBranch, stepsOfTurn } from "./node-context.ts";
import type { NodeAt, NodeDone, NodeWork } from "./node-work.ts";
import { promptText } from "./prompt-text.ts";

export interface LlmNodeParts extends Asker {
  readonly plan: LlmNode;
  readonly outputSchema: SchemaCheck | null;
}

/** One reasoning step: its output is what the model said, the tools it asks for, and the value its schema describes. */
export function llmNode(parts: LlmNodeParts): { work: NodeWork; lastAnswer: NodeWork } {
  return {
    async work(at) {
      const own = stepsOfBranch(at).filter(({ node }) => node === parts.plan.name);
      const stuck = raiseOrEnd(own, repetitionLimits(at.run));
      if (stuck.action === "end") {
        const reason = refusedReason(parts, own, at.run) ?? stuck.reason;
        at.run.emit({ type: "stuck", action: "end", reason });
        return { end: noAnswer(reason) };
      }
      const raised = stuck.action === "deepen" ? stuck.reason : "";
      if (raised !== "") at.run.emit({ type: "stuck", action: "deepen", reason: raised });
      const { mode } = parts.plan;
      const step = await stepToMake(parts, at, { mode, raised, answerSchema: schemaOf(parts, at) });
      return next(parts, at, await makeStep(step));
    },
    lastAnswer: lastAnswerOf(parts, parts.plan.mode),
  };
}

/** What the answers of a node have to fit: its own schema, or the agent's where they are the turn's output. */
function schemaOf({ plan, outputSchema }: LlmNodeParts, { run }: NodeAt): SchemaCheck | null {
  return outputSchema ?? (plan.answerSchema === null ? null : run.parts.definition.output);
}

/** A step of a node, for a thinker of its own or the agent's. */
async function stepToMake(
  parts: Asker,
  at: NodeAt,
  how: {
    readonly mode: ExecutionMode;
    /** Why the step is a deep one whatever `mode` says; else empty. */
    readonly raised: string;
    readonly answerSchema: SchemaCheck | null;
  },
): Promise<StepToMake> {
  const { mode, raised, answerSchema } = how;
  const { state, run, branch } = at;
  const model = await parts.thinker.model(run.context);
  const steps = stepsOfBranch(at);
  const { callIds } = stepsOfTurn(at);
  const open = branch.open.flatMap((one) => one.tool_predictions.map(({ id }) => id));
  const prompt = promptText(parts.prompt, at.values);
  const choice = await chooseTools(parts.thinker, state, run);
  return {
    run,
    model,
    mode: raised === "" ? mode : "deep",
    turnNumber: state.turn_number ?? 0,
    attemptNumber: state.attempt_number ?? 0,
    stepIndex: at.stepIndex,
    approach: state.turn?.approach ?? "",
    stuck: raised,
    before: steps.at(-1),
    behind: steps,
    offered: offeredTools(choice.tools, { model, mode, taken: run.parts.tools }),
    selection: choice.record,
    answerSchema,
    // Branches beside this one cannot see which ids it takes.
    isUsed: (id) => at.isParallel || callIds.has(id) || open.includes(id),
    read: (note, goal, tools = []) =>
      readExactly(
        run,
        at.stepIndex,
        nodeContext(at, { thinker: parts.thinker, model, goal, prompt, note, tools }),
      ),
  };
}

async function next(parts: LlmNodeParts, at: NodeAt, made: StepMade): Promise<NodeDone> {
  const { run } = at;
  const { current, read } = made;
  const { outputSchema } = parts;
  const schema = outputSchema && revealing(outputSchema, run.rails);
  const checked = read.answer === null || schema === null ? null : checkAnswer(read.answer, schema);
  const issues = checked?.ok === false ? run.rails.hide(checked.issues) : [];
  const value = checked?.ok === true ? run.rails.hide(checked.value) : null;
  const said = { text: read.thought, tool_calls: calls(current), output: value };
  const steps = [...at.branch.steps, current.step_index];
  const branch = { last: run.node, steps };
  if (read.nextAction === "use_tools") {
    for (const call of read.predictions) {
      run.emit({ type: "tool_call", step_index: current.step_index, call });
    }
    return {
      output: said,
      branch: { ...branch, open: [...at.branch.open, current] },
      update: { messages: [callingMessage(made, run)] },
    };
  }
  const closed: StepRecord = withoutTools({
    ...current,
    ...(issues.length > 0 && { problem: attemptFeedback(issues), next_action: "continue" }),
  });
  const record = isWorthReflection(closed)
    ? await reflectOn(closed, run, (openStep, note) => lookBack(parts, at, { openStep, note }))
    : closed;
  run.emit({ type: "step", step: record });
  const isAnswer = read.answer !== null && issues.length === 0;
  return {
    output: { ...said, message_id: made.reply.message.id ?? null },
    ...(isAnswer && { value: outputSchema === null ? read.answer : value }),
    branch,
    update: { steps: [record] },
    ...(record.approach !== current.approach && { turn: { approach: record.approach } }),
    again: !isAnswer,
  };
}

function calls(current: CurrentStep) {
  return current.tool_predictions.map(({ id, name, args }) => ({ id, name, args }));
}

/** Why a node that answered in vain is given up: what its schema refuses of the last answer. */
function refusedReason(
  { plan, outputSchema }: LlmNodeParts,
  own: readonly StepRecord[],
  { rails }: NodeAt["run"],
): string | null {
  const last = own.at(-1);
  if (last?.next_action !== "continue" || last.thought === "") return null;
  const checked = outputSchema && checkAnswer(last.thought, revealing(outputSchema, rails));
  if (checked?.ok !== false) return null;
  const issues = rails.hide(checked.issues).join("; ");
  return `the output_schema of node "${plan.name}" refused its answers, the last for: ${issues}`;
}

/** What a node does that has run as often as it may: the best answer from what is known. */
export function lastAnswerOf(asker: Asker, mode: ExecutionMode): NodeWork {
  return async (at) => {
    const { output, spec } = at.run.parts.definition;
    const step = await stepToMake(asker, at, { mode, raised: "", answerSchema: output });
    const { record, draft } = await answerFromWhatIsKnown(asLastAnswer(step), spec.output_schema);
    return { end: draft, update: { steps: [record] } };
  };
}

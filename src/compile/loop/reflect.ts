import type { BaseMessage } from "@langchain/core/messages";
import { checkAnswer, toAnswerText } from "../../context/answer-form.ts";
import { judgementRequest, reflectionRequest } from "../../context/prompts.ts";
import { plainResultText } from "../../context/step-messages.ts";
import { executionLines, executionSizes, newLines } from "../../context/execution-view.ts";
import { readJudgement, readObservations, textOf } from "../../context/step-note.ts";
import { errorMessage } from "../../errors.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import { parseJsonAnswer } from "../../models/replies/json-answer.ts";
import type { GraphState } from "../../state/channels.ts";
import { type Status, transition } from "../../state/lifecycle.ts";
import { type StepRecord, withObservation } from "../../state/step-record.ts";
import type { AgentState } from "../../state/tiers.ts";
import { type Draft, type FailedAttempt, placeOf, stepsOfTurn } from "../../state/turn.ts";
import { addUsage } from "../../state/usage.ts";
import { deepFreeze, isRecord } from "../../values/json.ts";
import { truncateModelText } from "../../values/text.ts";
import { ValidateReturnError } from "../errors.ts";
import { contextOf } from "./context.ts";
import type { LoopConfig } from "./loop-config.ts";
import { unredactedOutputCheck } from "./node-rails.ts";
import type { NodeBody, NodeResult, NodeContext } from "./node.ts";
import { ignoreModelFailure } from "./reasoning-step.ts";

/**
 * Judges an attempt's draft: schema, `validate`, and in deep mode the model. If it is refused, the next attempt begins.
 */
export const reflect: NodeBody = async (state, run) => {
  const draft = run.loop.attempts.draft(state);
  if (draft === null) return { update: {}, goto: [] };
  run.emit({ type: "status", status: "REFLECTING" });
  const checked = await checkDraft(draft, state, run);
  if (checked.errors.length > 0 || draft.answer === null) {
    return refuse(state, run, { answer: draft.answer, reasons: checked.errors });
  }
  const guarded = await guardOutput({ answer: draft.answer, output: checked.output }, state, run);
  const { answer, output } = guarded;
  if (guarded.errors.length > 0) {
    const { errors: failed, isWithheld } = guarded;
    return refuse(state, run, { answer: isWithheld ? null : answer, reasons: failed, isWithheld });
  }
  const { mode } = run.loop.definition.spec.execution_config;
  const reasons = mode === "fast" || draft.incomplete ? [] : await judge(answer, state, run);
  if (reasons.length > 0) return refuse(state, run, { answer, reasons });
  return accept(state, { draft: { ...draft, answer }, output });
};

function accept(state: GraphState, made: { draft: Draft; output: unknown }): NodeResult {
  return {
    update: { output: made.output, status: transition(reflecting(state), "COMPLETED") },
    turn: { draft: made.draft },
    goto: "finalize",
  };
}

/** Returns the status REFLECTING if concurrent branches have left it to this node to report it. */
function reflecting({ status = "CREATED" }: GraphState): Status {
  return status === "EXECUTING" ? transition(status, "REFLECTING") : status;
}

async function refuse(
  state: GraphState,
  run: NodeContext,
  refused: {
    readonly answer: string | null;
    readonly reasons: readonly string[];
    readonly isWithheld?: boolean;
  },
): Promise<NodeResult> {
  const { answer, reasons, isWithheld = false } = refused;
  // Schemas and validators may repeat values, and the next attempt reads why this one was refused.
  const errors = run.rails.redact(reasons);
  const status = reflecting(state);
  const attemptNumber = state.attempt_number ?? 0;
  const maxAttempts = run.loop.definition.spec.execution_config.max_attempts;
  const attempt: FailedAttempt = {
    attempt_number: attemptNumber,
    errors,
    answer,
    ...(isWithheld && { withheld: true }),
  };
  const before = state.turn?.failed_attempts ?? [];
  const failedAttempts = [...before, attempt];
  run.emit({ type: "attempt_failed", attempt });
  if (attemptNumber + 1 < maxAttempts && run.superstepsLeft >= superstepsOfAnAttempt) {
    const view = await executionViewOf(failedAttempts, state, run);
    return {
      update: {
        attempt_number: attemptNumber + 1,
        status: transition(status, "PLANNING"),
      },
      turn: {
        failed_attempts:
          view.length === 0 ? failedAttempts : [...before, { ...attempt, execution_view: view }],
        draft: null,
      },
      goto: run.loop.attempts.node,
    };
  }
  return {
    update: { status: transition(status, "FAILED") },
    turn: {
      failed_attempts: failedAttempts,
      failure: { cause: "attempts_exhausted", message: exhausted(failedAttempts) },
    },
    goto: "finalize",
  };
}

/**
 * Returns what the execution state holds that earlier views lack, as models may read it: state written by
 * handlers is neither redacted nor checked, so the rails on tool results inspect it. What they block or flag is not
 * shown. After a withheld answer, which may be part of the state, values are not shown.
 */
async function executionViewOf(
  failed: readonly FailedAttempt[],
  state: GraphState,
  run: NodeContext,
): Promise<readonly string[]> {
  const { loop, rails } = run;
  const { execution_view: set } = loop.definition.spec.context_config;
  if (set === "off") return [];
  const view = failed.some(({ withheld }) => withheld === true) ? "keys" : set;
  const execution = rails.redact(state.execution);
  // The rails read whole keys: what is cut would pass them.
  let checked: unknown = view === "preview" ? execution : executionSizes(execution);
  if (executionLines(checked).length === 0) return [];
  if (loop.rails.tool_result.length > 0) {
    const request = loop.requestOf(state.input);
    const { value, blocked, flags } = await rails.check(
      { on: "tool_result", value: checked, tool: null, request, evidence: [] },
      {
        turnNumber: state.turn_number ?? 0,
        attemptNumber: state.attempt_number ?? 0,
        stepIndex: null,
        callId: null,
      },
    );
    if (blocked !== null || flags.length > 0) return [];
    checked = value;
  }
  return newLines(
    executionLines(checked),
    failed.map(({ execution_view: known = [] }) => known),
  );
}

/** Supersteps of the shortest attempt: plan, reason, reflect, finalize, and the current one. */
const superstepsOfAnAttempt = 5;

function exhausted(attempts: readonly FailedAttempt[]): string {
  const reasons = attempts.map(({ errors }) => errors.join("; "));
  const [first = ""] = reasons;
  if (attempts.length === 1) return `The only attempt failed: ${first}`;
  if (new Set(reasons).size === 1) return `All ${attempts.length} attempts failed alike: ${first}`;
  const lines = attempts.map((one, at) => `attempt ${one.attempt_number + 1}: ${reasons[at]}`);
  return `All ${attempts.length} attempts failed. ${lines.join(" | ")}`;
}

async function checkDraft(
  draft: Draft,
  state: GraphState,
  { loop: { definition }, rails }: NodeContext,
): Promise<{ readonly output: unknown; readonly errors: readonly string[] }> {
  if (draft.problem !== null) return { output: null, errors: [draft.problem] };
  const checked = checkAnswer(draft.answer, unredactedOutputCheck(definition.output, rails));
  if (!checked.ok) return { output: null, errors: checked.issues };
  const errors = await validationErrors(definition.behaviour, checked.value, {
    execution: state.execution,
    attempt: state.attempt,
  });
  return { output: checked.value, errors };
}

/**
 * Returns the errors of the validator. If it throws, its message refuses the output; errors that only a bug causes end
 * the run.
 *
 * @throws ValidateReturnError, and the TypeError or ReferenceError of a bug
 */
async function validationErrors(
  behaviour: LoopConfig["definition"]["behaviour"],
  output: unknown,
  state: AgentState<unknown, unknown>,
): Promise<readonly string[]> {
  let said: unknown;
  try {
    said = await behaviour.validate?.(output, deepFreeze(state));
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof ReferenceError) throw thrown;
    return [errorMessage(thrown)];
  }
  if (said === undefined || said === null) return [];
  if (typeof said === "string") return said === "" ? [] : [said];
  if (Array.isArray(said) && said.every((one) => typeof one === "string")) return said;
  throw new ValidateReturnError(
    typeof said === "boolean" ? String(said) : `a value of type ${typeof said}`,
  );
}

/** An output after its rails. */
export interface GuardedOutput {
  /** The output for the caller. */
  readonly output: unknown;
  /** The answer for the conversation and later models, with its placeholders. */
  readonly answer: string;
  /** Why it is refused; empty if it is accepted. */
  readonly errors: readonly string[];
  /** Whether the refused answer is hidden, also from the next attempt. */
  readonly isWithheld: boolean;
}

/** Rails whose refused answers the next attempt sees, to correct them. */
const told = new Set(["format", "hallucination"]);

/**
 * Applies the output rails to a turn's output: a blocking rail refuses it, redactions are applied.
 *
 * @param made the answer as the model wrote it, and the output parsed from it, both unredacted
 */
async function guardOutput(
  made: { readonly answer: string; readonly output: unknown },
  state: GraphState,
  run: NodeContext,
): Promise<GuardedOutput> {
  const { answer, output } = made;
  const { loop, rails } = run;
  if (loop.rails.output.length === 0) return { output, answer, errors: [], isWithheld: false };
  const request = loop.requestOf(state.input);
  const hidden = rails.redact(output);
  const { value, blocked } = await rails.check(
    {
      on: "output",
      value: hidden,
      tool: null,
      request,
      evidence: await evidenceOf(state, run, request),
    },
    {
      turnNumber: state.turn_number ?? 0,
      attemptNumber: state.attempt_number ?? 0,
      stepIndex: null,
      callId: null,
    },
  );
  if (blocked !== null) {
    const { rail, reasons } = blocked;
    const why = reasons.length === 0 ? ["it does not pass"] : reasons;
    const errors = why.map((reason) => `guardrail ${rail}: ${reason}`);
    return { output: null, answer, errors, isWithheld: !told.has(rail) };
  }
  if (value === hidden) return { output, answer, errors: [], isWithheld: false };
  const { output_schema: schema } = loop.definition.spec;
  const own = run.rails.unredact(value, { scope: "own" });
  return { output: own, answer: toAnswerText(value, schema), errors: [], isWithheld: false };
}

/**
 * Returns the evidence for an answer: the request, the turn's tool results, the outputs of agents and people, and then
 * what the turn remembers. Memories alone are no evidence: they are there in every turn, and an answer without results
 * may be general knowledge.
 */
async function evidenceOf(
  state: GraphState,
  { memories }: NodeContext,
  request: string,
): Promise<readonly string[]> {
  const results = stepsOfTurn(state.steps, state.turn_number ?? 0)
    .flatMap((step) => step.tool_results)
    .map(plainResultText);
  const nodes = Object.values(state.nodes)
    .filter((output) => !isSaid(output))
    .map((output) => JSON.stringify(output) ?? "");
  const found = [...results, ...nodes];
  const remembered = found.length === 0 ? [] : ((await memories?.texts()) ?? []);
  const said = state.messages
    .filter((message) => placeOf(message)?.turn_number === state.turn_number)
    .map(({ text }) => text);
  return [request, ...said, ...found, ...remembered];
}

/** Returns whether an output is a model's own text, which is no evidence. */
function isSaid(output: unknown): boolean {
  return isRecord(output) && "text" in output && "tool_calls" in output;
}

/** A model and the messages it reads. */
export interface Reading {
  readonly model: AgentModel;
  readonly messages: readonly BaseMessage[];
}

/** Returns whether a step without tools gets a reflection: one that has text and continues. */
export function isWorthReflection({ mode, next_action, thought }: StepRecord): boolean {
  return mode === "deep" && next_action === "continue" && thought.trim() !== "";
}

/**
 * Deep mode: the model reflects on a step, and the record stores it. Fields that the reflection leaves empty keep the
 * step's own notes. A reply that is not the requested JSON counts as the reflection itself. Without a reply the step
 * has none, because its tools have already run.
 *
 * @param read the context of the model that made the step, with the step and a request after it
 */
export async function reflectOn(
  step: StepRecord,
  run: NodeContext,
  read: (step: StepRecord, request: string) => Promise<Reading> | Reading,
): Promise<StepRecord> {
  const { model, messages } = await read(step, reflectionRequest);
  const asked = { purpose: "reflection", step: step.step_index, isUnseen: true } as const;
  const reply = await run.callModel(model, { messages }, asked).catch(ignoreModelFailure(run));
  if (reply === null) return step;
  const said = readObject(reply.message.text) ?? {};
  const { synthesis, progress, hypothesis } = readJudgement(said);
  const noted = new Map(readObservations(said["results"], [step]).map((one) => [one.id, one]));
  return {
    ...step,
    tool_results: step.tool_results.map((result) => {
      const observation = noted.get(result.id);
      return observation === undefined ? result : withObservation(result, observation);
    }),
    reflection:
      "reflection" in said ? textOf(said, "reflection") : truncateModelText(reply.message.text),
    synthesis: synthesis || step.synthesis,
    progress: progress || step.progress,
    hypothesis: hypothesis ?? step.hypothesis,
    approach: textOf(said, "approach") || step.approach,
    usage: addUsage(step.usage, reply.usage),
    model_calls: [...(step.model_calls ?? []), ...reply.calls],
  };
}

/** Maximum number of objections passed to the next attempt. */
const mostReasons = 20;

/** Deep mode: returns the model's objections to its own answer. None accepts it, as does an unreadable verdict. */
async function judge(
  answer: string,
  state: GraphState,
  run: NodeContext,
): Promise<readonly string[]> {
  const model = await run.loop.boundModel.model(run.context);
  const pending = { answer, request: judgementRequest };
  const { messages } = await contextOf(state, run, { model, goal: "synthesis", pending });
  const asked = { purpose: "judging", isUnseen: true } as const;
  const reply = await run.callModel(model, { messages }, asked);
  const verdict = readObject(reply.message.text);
  if (verdict?.["accepted"] !== false) return [];
  const { reasons } = verdict;
  const named = (Array.isArray(reasons) ? reasons : [])
    .filter((one) => typeof one === "string")
    .slice(0, mostReasons)
    .map(truncateModelText);
  return named.length > 0 ? named : ["the answer does not fulfil the request"];
}

function readObject(text: string): Record<string, unknown> | undefined {
  const parsed = parseJsonAnswer(text);
  return parsed.ok && isRecord(parsed.value) ? parsed.value : undefined;
}

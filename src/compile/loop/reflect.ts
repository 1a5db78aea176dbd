import { readAnswer } from "../../context/answer-form.ts";
import { judgementRequest } from "../../context/prompts.ts";
import { buildReasoningContext } from "../../context/reasoning-context.ts";
import { errorMessage } from "../../errors.ts";
import { parseJsonAnswer } from "../../models/json-answer.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import type { Draft, FailedAttempt } from "../../state/turn.ts";
import { noUsage, type Usage } from "../../state/usage.ts";
import type { NodeBody, NodeResult, NodeRun } from "./loop-node.ts";
import { toolFormOf, type LoopParts } from "./parts.ts";

/** Judges an attempt's draft: schema, `validate`, and in deep mode the model. Refused, the next attempt begins. */
export const reflect: NodeBody = async (state, run) => {
  const draft: Draft = state.turn?.draft ?? {
    answer: null,
    incomplete: false,
    problem: "the attempt gave no answer",
  };
  run.emit({ type: "status", status: "REFLECTING" });
  const checked = await checkDraft(draft, state, run.parts);
  if (checked.errors.length > 0) return refuse(state, run, draft, checked.errors, noUsage);
  const { mode } = run.parts.definition.spec.execution_config;
  if (mode === "fast" || draft.incomplete) return accept(state, checked.output, noUsage);
  const judged = await judge(draft, state, run);
  return judged.reasons.length > 0
    ? refuse(state, run, draft, judged.reasons, judged.usage)
    : accept(state, checked.output, judged.usage);
};

function accept(state: GraphState, output: unknown, usage: Usage): NodeResult {
  return {
    update: { output, status: transition(state.status ?? "CREATED", "COMPLETED"), usage },
    goto: "finalize",
  };
}

function refuse(
  state: GraphState,
  run: NodeRun,
  draft: Draft,
  errors: readonly string[],
  usage: Usage,
): NodeResult {
  const status = state.status ?? "CREATED";
  const attemptNumber = state.attempt_number ?? 0;
  const maxAttempts = run.parts.definition.spec.execution_config.max_attempts;
  const attempt: FailedAttempt = { attempt_number: attemptNumber, errors, answer: draft.answer };
  const failedAttempts = [...(state.turn?.failed_attempts ?? []), attempt];
  run.emit({ type: "attempt_failed", attempt });
  if (attemptNumber + 1 < maxAttempts) {
    return {
      update: {
        attempt_number: attemptNumber + 1,
        status: transition(status, "PLANNING"),
        usage,
      },
      turn: { failed_attempts: failedAttempts, draft: null },
      goto: "plan",
    };
  }
  return {
    update: { status: transition(status, "FAILED"), usage },
    turn: {
      failed_attempts: failedAttempts,
      failure: { cause: "attempts_exhausted", message: exhausted(failedAttempts) },
    },
    goto: "finalize",
  };
}

function exhausted(attempts: readonly FailedAttempt[]): string {
  const lines = attempts.map(
    ({ attempt_number, errors }) => `attempt ${attempt_number + 1}: ${errors.join("; ")}`,
  );
  const count = attempts.length === 1 ? "The only attempt" : `All ${attempts.length} attempts`;
  return `${count} failed. ${lines.join(" | ")}`;
}

async function checkDraft(
  draft: Draft,
  state: GraphState,
  { definition }: LoopParts,
): Promise<{ readonly output: unknown; readonly errors: readonly string[] }> {
  if (draft.problem !== null) return { output: null, errors: [draft.problem] };
  const read = readAnswer(draft.answer, definition.spec.output_schema);
  if ("problem" in read) return { output: null, errors: [read.problem] };
  const checked = definition.output.check(read.value);
  if (!checked.ok) return { output: null, errors: checked.issues };
  const errors = await validationErrors(definition.behaviour, checked.value, {
    execution: state.execution,
    attempt: state.attempt,
  });
  return { output: checked.value, errors };
}

/** A validator that throws refuses the output with its message. */
async function validationErrors(
  behaviour: LoopParts["definition"]["behaviour"],
  output: unknown,
  state: AgentState<unknown, unknown>,
): Promise<readonly string[]> {
  try {
    const said = await behaviour.validate?.(output, state);
    if (said === undefined || said === null) return [];
    return typeof said === "string" ? [said].filter(Boolean) : said;
  } catch (thrown) {
    return [errorMessage(thrown)];
  }
}

/** Deep mode: the model judges its answer. A verdict that cannot be read accepts it. */
async function judge(
  draft: Draft,
  state: GraphState,
  run: NodeRun,
): Promise<{ readonly reasons: readonly string[]; readonly usage: Usage }> {
  const model = await run.model();
  const form = toolFormOf(model);
  const history = buildReasoningContext({
    opening: run.parts.opening(form),
    conversation: state.messages,
    steps: state.steps,
    turnNumber: state.turn_number ?? 0,
    failedAttempts: state.turn?.failed_attempts ?? [],
    toolForm: form,
    pending: { answer: draft.answer ?? "", request: judgementRequest },
  });
  const reply = await model.call({ messages: history }, run.config);
  const verdict = parseJsonAnswer(reply.message.text);
  if (!verdict.ok || typeof verdict.value !== "object" || verdict.value === null) {
    return { reasons: [], usage: reply.usage };
  }
  const { accepted, reasons } = verdict.value as { accepted?: unknown; reasons?: unknown };
  if (accepted !== false) return { reasons: [], usage: reply.usage };
  const named = Array.isArray(reasons) ? reasons.filter((r) => typeof r === "string") : [];
  return {
    reasons: named.length > 0 ? named : ["the answer does not fulfil the request"],
    usage: reply.usage,
  };
}

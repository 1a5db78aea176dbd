import { checkAnswer } from "../../context/answer-form.ts";
import { errorMessage } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { GraphState } from "../../state/channels.ts";
import { deepFreeze } from "../../state/freeze.ts";
import { transition, type Status } from "../../state/lifecycle.ts";
import type { Draft, FailedAttempt } from "../../state/turn.ts";
import { ValidateReturnError } from "../errors.ts";
import { guardOutput } from "./guard-output.ts";
import type { NodeBody, NodeResult, NodeRun } from "./node-body.ts";
import type { LoopParts } from "./parts.ts";
import { judge } from "./reflection.ts";
import { revealingOwn } from "./revealing.ts";

/** Judges an attempt's draft: schema, `validate`, and in deep mode the model. Refused, the next attempt begins. */
export const reflect: NodeBody = async (state, run) => {
  const draft = run.parts.attempts.draft(state);
  if (draft === null) return { update: {}, goto: [] };
  run.emit({ type: "status", status: "REFLECTING" });
  const checked = await checkDraft(draft, state, run);
  if (checked.errors.length > 0 || draft.answer === null) {
    return refuse(state, run, draft.answer, checked.errors);
  }
  const guarded = await guardOutput({ answer: draft.answer, output: checked.output }, state, run);
  const { answer, output } = guarded;
  if (guarded.errors.length > 0) {
    return refuse(state, run, guarded.isWithheld ? null : answer, guarded.errors);
  }
  const { mode } = run.parts.definition.spec.execution_config;
  const reasons = mode === "fast" || draft.incomplete ? [] : await judge(answer, state, run);
  if (reasons.length > 0) return refuse(state, run, answer, reasons);
  return accept(state, { draft: { ...draft, answer }, output });
};

function accept(state: GraphState, made: { draft: Draft; output: unknown }): NodeResult {
  return {
    update: { output: made.output, status: transition(reflecting(state), "COMPLETED") },
    turn: { draft: made.draft },
    goto: "finalize",
  };
}

/** Branches that end beside each other leave it to this node to say that the turn is REFLECTING. */
function reflecting({ status = "CREATED" }: GraphState): Status {
  return status === "EXECUTING" ? transition(status, "REFLECTING") : status;
}

function refuse(
  state: GraphState,
  run: NodeRun,
  answer: string | null,
  reasons: readonly string[],
): NodeResult {
  // Schemas and validators judge values and may repeat them, and the next attempt is told why this one was refused.
  const errors = run.rails.hide(reasons);
  const status = reflecting(state);
  const attemptNumber = state.attempt_number ?? 0;
  const maxAttempts = run.parts.definition.spec.execution_config.max_attempts;
  const attempt: FailedAttempt = { attempt_number: attemptNumber, errors, answer };
  const failedAttempts = [...(state.turn?.failed_attempts ?? []), attempt];
  run.emit({ type: "attempt_failed", attempt });
  if (attemptNumber + 1 < maxAttempts && run.superstepsLeft >= superstepsOfAnAttempt) {
    return {
      update: {
        attempt_number: attemptNumber + 1,
        status: transition(status, "PLANNING"),
      },
      turn: { failed_attempts: failedAttempts, draft: null },
      goto: run.parts.attempts.node,
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

/** The shortest attempt: plan, reason, reflect, finalize, and this superstep. */
const superstepsOfAnAttempt = 5;

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
  { parts: { definition }, rails }: NodeRun,
): Promise<{ readonly output: unknown; readonly errors: readonly string[] }> {
  if (draft.problem !== null) return { output: null, errors: [draft.problem] };
  const checked = checkAnswer(draft.answer, revealingOwn(definition.output, rails));
  if (!checked.ok) return { output: null, errors: checked.issues };
  const errors = await validationErrors(definition.behaviour, checked.value, {
    execution: state.execution,
    attempt: state.attempt,
  });
  return { output: checked.value, errors };
}

/**
 * A validator that throws refuses the output with its message; what only a bug throws ends the run.
 * @throws ValidateReturnError, and the TypeError or ReferenceError of a bug
 */
async function validationErrors(
  behaviour: LoopParts["definition"]["behaviour"],
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

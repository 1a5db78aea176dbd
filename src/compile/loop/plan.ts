import { buildReasoningContext } from "../../context/reasoning-context.ts";
import { approachRequest } from "../../context/prompts.ts";
import { transition } from "../../state/lifecycle.ts";
import type { NodeBody } from "./loop-node.ts";
import { toolFormOf } from "./parts.ts";

/** Begins an attempt with fresh attempt state; in deep mode the model chooses its approach first. */
export const plan: NodeBody = async (state, run) => {
  const { parts } = run;
  const attemptNumber = state.attempt_number ?? 0;
  const attempt = parts.initialAttempt(state.input, state.execution, attemptNumber);
  const status = transition(state.status ?? "CREATED", "EXECUTING");
  run.emit({ type: "status", status: "PLANNING" });
  if (parts.definition.spec.execution_config.mode === "fast") {
    return { update: { attempt, status }, goto: "reason" };
  }
  const model = await run.model();
  const form = toolFormOf(model);
  const messages = buildReasoningContext({
    opening: parts.opening(form),
    conversation: state.messages,
    steps: state.steps,
    turnNumber: state.turn_number ?? 0,
    failedAttempts: state.turn?.failed_attempts ?? [],
    toolForm: form,
    note: approachRequest,
  });
  const reply = await model.call({ messages }, run.config);
  return {
    update: { attempt, status, usage: reply.usage },
    turn: { approach: reply.message.text },
    goto: "reason",
  };
};

import type { RunnableConfig } from "@langchain/core/runnables";
import type { GraphState } from "../../state/channels.ts";
import type { RepetitionLimits } from "../../state/stuck.ts";
import { turnSteps } from "../../state/turn.ts";
import type { CallRules } from "../../tools/admit-call.ts";
import type { StatefulCallEnv } from "../../tools/call.ts";
import type { CallLog } from "../../tools/journalled-call.ts";
import { PrivateConfig } from "../private-config.ts";
import { handlerInterrupts } from "./handler-interrupts.ts";
import type { NodeRun } from "./node-body.ts";
import { revealing } from "./revealing.ts";

/** What the definition lets the agent call in this state. */
export function callRules(
  state: Pick<GraphState, "input" | "execution" | "attempt">,
  { parts, rails }: Pick<NodeRun, "parts" | "rails">,
): CallRules {
  const { spec } = parts.definition;
  const { allowed_tools: allowed, max_calls_per_turn: maxCalls } = spec.guardrail_config.tool_rails;
  const { input, execution, attempt } = state;
  const values = { input, execution, attempt };
  return {
    tools: parts.tools,
    allowed,
    maxCalls,
    grants: spec.permissions,
    argumentRules: parts.argumentRules,
    values: parts.argumentRules.length === 0 ? values : rails.reveal(values),
    reveal: (args) => rails.reveal(args),
  };
}

/** How often the same call may give the same result in an attempt. */
export function repetitionLimits({ parts }: Pick<NodeRun, "parts">): RepetitionLimits {
  const { max_repeats, max_polls, repeatable } = parts.definition.spec.guardrail_config.tool_rails;
  return {
    maxRepeats: max_repeats,
    maxPolls: max_polls,
    isRepeatable: (tool) =>
      repeatable.includes(tool) || parts.tools.get(tool)?.definition.execution.repeatable === true,
  };
}

/** Calls of the turn that have ended. */
export function callsSoFar({ steps, turn_number = 0, attempt_number = 0 }: GraphState): number {
  const turn = turnSteps(steps, { turnNumber: turn_number, attemptNumber: attempt_number });
  return turn.toolCalls;
}

/** What calls need of the node that makes them. */
export function callEnv({ signal, parts, rails, config }: NodeRun): StatefulCallEnv {
  const { behaviour, spec } = parts.definition;
  const { executionSchema, attemptSchema } = behaviour;
  const { clock, secrets, sandbox } = parts;
  return {
    signal,
    clock,
    secrets,
    sandbox,
    reveal: (args) => rails.reveal(args),
    // Calls beside each other may redact what these then have to know.
    ...(!rails.isIdle && { hide: (value) => rails.hide(value) }),
    executionSchema: executionSchema && revealing(executionSchema, rails),
    attemptSchema: attemptSchema && revealing(attemptSchema, rails),
    merges: spec.state_config.merge,
    interrupts: handlerInterrupts(config),
  };
}

/** Where the node's calls are written down. */
export function callLog(
  { turn }: GraphState,
  { parts: { journal }, config }: NodeRun,
  stepOf: CallLog["stepOf"],
): CallLog | undefined {
  const threadId: unknown = config.configurable?.["thread_id"];
  // A turn that an older version began has no run.
  if (journal === undefined || typeof threadId !== "string" || turn?.run === undefined)
    return undefined;
  const acceptsDamage = damageAccepted.in(config) === true;
  return { journal, threadId, run: turn.run, stepOf, acceptsDamage };
}

const damageAccepted = new PrivateConfig<true>("accepts_damage");

/** A config in which a call whose record in the journal is damaged has an unknown outcome. */
export function acceptingDamage(config: RunnableConfig): RunnableConfig {
  return damageAccepted.with(config, true);
}

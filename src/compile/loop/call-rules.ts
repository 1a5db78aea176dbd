import type { GraphState } from "../../state/channels.ts";
import { turnSteps } from "../../state/turn.ts";
import type { CallRules } from "../../tools/admit-call.ts";
import type { StatefulCallEnv } from "../../tools/call.ts";
import type { CallLog } from "../../tools/journalled-call.ts";
import type { NodeRun } from "./node-body.ts";
import type { LoopParts } from "./parts.ts";

/** What the definition lets the agent call. */
export function callRules({ definition, tools }: LoopParts): CallRules {
  const { allowed_tools: allowed, max_calls_per_turn: maxCalls } =
    definition.spec.guardrail_config.tool_rails;
  return { tools, allowed, maxCalls };
}

/** Calls of the turn that have ended. */
export function callsSoFar({ steps, turn_number = 0, attempt_number = 0 }: GraphState): number {
  const turn = turnSteps(steps, { turnNumber: turn_number, attemptNumber: attempt_number });
  return turn.toolCalls;
}

/** What calls need of the node that makes them. */
export function callEnv({ signal, parts }: NodeRun): StatefulCallEnv {
  const { executionSchema, attemptSchema } = parts.definition.behaviour;
  return { signal, clock: parts.clock, executionSchema, attemptSchema };
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
  return { journal, threadId, run: turn.run, stepOf };
}

import type { AgentTool } from "../definition/tool.ts";
import type { AgentState } from "../state/agent-state.ts";
import { deepFreeze } from "../state/freeze.ts";
import type { ToolResult } from "../state/step-record.ts";
import type { CallEnv } from "./call.ts";
import { interruptIn } from "./handler-interrupts.ts";
import {
  applyTiers,
  CorruptJournalError,
  settleCall,
  tierChanges,
  type CallKey,
  type RecordedEnd,
  type ToolJournal,
} from "./journal.ts";
import { toolResult, type ToolCall } from "./tool-result.ts";

/** The journal with what its keys have in common. */
export interface CallLog extends Pick<CallKey, "threadId" | "run"> {
  readonly journal: ToolJournal;
  /** `step_index` of the step that asked for a call. */
  stepOf(callId: string): number;
  /** Whether a call whose record is damaged has an unknown outcome, instead of ending the run. Default false. */
  readonly acceptsDamage?: boolean;
}

export interface CallEnded {
  readonly result: ToolResult;
  /** Left out by tools without state. */
  readonly state?: AgentState<unknown, unknown>;
}

export interface JournalledCall {
  readonly tool: AgentTool;
  readonly call: ToolCall;
  /** Before the call. */
  readonly state: AgentState<unknown, unknown>;
  readonly env: CallEnv;
  readonly log: CallLog;
  /** Makes the call. What it throws is no end: the call stays begun, unless it is an interrupt. */
  readonly make: () => Promise<CallEnded>;
}

/**
 * Makes a call, and writes down that it begins and how it ends; or gives the end that was written down before. A call
 * that began, and whose end nobody knows, is made again when its tool is idempotent, and is an `error` otherwise.
 * @throws CorruptJournalError unless damage is accepted, the reason of `env.signal`, and what the journal and `make` throw
 */
export async function journalledCall(options: JournalledCall): Promise<CallEnded> {
  const { tool, call, env, log, make } = options;
  const { threadId, run, journal } = log;
  env.signal.throwIfAborted();
  const { name, execution } = tool.definition;
  const key: CallKey = { threadId, run, step: log.stepOf(call.id), callId: call.id };
  const { idempotent } = execution;
  const known = await journal.begin({ ...key, tool: name, input: call.args, idempotent });
  const settled = settleCall(known, tool);
  if (settled.do === "use") return recordedEnd(settled.end, options);
  if (settled.do === "unknown") {
    const { damage } = settled;
    if (damage !== null && log.acceptsDamage !== true)
      throw new CorruptJournalError(key, name, damage);
    const end = { outcome: "error", result: null, error: unknownOutcome(name, settled) } as const;
    return { result: { ...toolResult(call, end, 0), recovered: "unknown" } };
  }
  if (env.signal.aborted) {
    // Where this fails the call counts as begun, which is the safe side.
    if (!settled.again) await journal.withdraw(key).catch(() => undefined);
    env.signal.throwIfAborted();
  }
  let ended: CallEnded;
  try {
    ended = await make();
  } catch (thrown) {
    // It is made again when the person has answered.
    if (interruptIn(thrown) !== undefined && !settled.again) await journal.withdraw(key);
    throw thrown;
  }
  await journal.end({ ...key, idempotent }, endOf(ended, options));
  const { result } = ended;
  return settled.again ? { ...ended, result: { ...result, recovered: "repeated" } } : ended;
}

function endOf(
  {
    result: { outcome, result, error, execution_time_ms, retries, asked },
    state: after,
  }: CallEnded,
  { state }: JournalledCall,
): RecordedEnd {
  const end = {
    outcome,
    result,
    error,
    execution_time_ms,
    ...(retries !== undefined && { retries }),
    ...(asked !== undefined && { asked }),
  };
  return after === undefined ? end : { ...end, tiers: tierChanges(state, after) };
}

function recordedEnd(end: RecordedEnd, { call, state }: JournalledCall): CallEnded {
  const { retries, asked } = end;
  const result = toolResult(call, end, end.execution_time_ms);
  return {
    result: {
      ...result,
      ...(retries !== undefined && { retries }),
      ...(asked !== undefined && { asked }),
      recovered: "recorded",
    },
    ...(end.tiers && { state: deepFreeze(applyTiers(state, end.tiers)) }),
  };
}

function unknownOutcome(
  tool: string,
  { at, damage }: { readonly at: string; readonly damage: string | null },
): string {
  const was =
    damage === null
      ? `was started at ${at} and cut off`
      : `was started at ${at}, and the record of how it ended is damaged`;
  return `Outcome unknown: tool "${tool}" ${was}, and whether it took effect is not known. Find out before calling it again.`;
}

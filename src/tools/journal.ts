import { type AgentTool, isClientTool } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import type { ToolResult } from "../state/step-record.ts";
import { reduceTier, tierPatch } from "../state/tier-patch.ts";
import type { AgentState } from "../state/tiers.ts";
import { deepFreeze, isRecord } from "../values/json.ts";
import { truncateText } from "../values/text.ts";
import type { CallEnv } from "./call.ts";
import { interruptIn, type ToolCall, toolResult } from "./tool-result.ts";

type AnyState = AgentState<unknown, unknown>;

/** Which call it is: the same one when its node runs again after a crash. */
export interface CallKey {
  readonly threadId: string;
  /** `turn.run`: one execution of a turn. */
  readonly run: string;
  /** `step_index` of the step that asked for it. */
  readonly step: number;
  readonly callId: string;
}

export interface CallEntry extends CallKey {
  readonly tool: string;
  /** A call with other arguments is another call, whatever its key: a person may have edited them. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether it may be made twice. Any other call begins only when the decision to make it would outlive a crash. */
  readonly idempotent: boolean;
}

/** A call that has begun. */
export type StartedCall = CallKey & Pick<CallEntry, "idempotent">;

/** How a call ended: all that is needed to go on without making it. */
export interface RecordedEnd extends Pick<
  ToolResult,
  "outcome" | "result" | "error" | "execution_time_ms" | "retries" | "asked"
> {
  /** What it wrote to the tiers' channels; left out for tools without state. */
  readonly tiers?: { readonly execution?: unknown; readonly attempt?: unknown };
}

/** What is known of a call that is about to begin. `at` is ISO 8601. */
export type CallRecord =
  | { readonly state: "new" }
  | { readonly state: "started"; readonly at: string }
  | { readonly state: "finished"; readonly end: RecordedEnd }
  /** What was written is not what is there. */
  | { readonly state: "damaged"; readonly at: string; readonly reason: string };

/** Characters of a call's id that a message repeats: models write it. */
const maxNamedLength = 100;

/** What the journal has of a call that must not be made twice is not what was written. The call is not made. */
export class CorruptJournalError extends StratagraphError {
  readonly code = "corrupt_journal";
  override readonly kind = "run";
  override readonly leavesTurnOpen = true;
  readonly threadId: string;
  /** `step_index` of the step that asked for it. */
  readonly step: number;
  readonly callId: string;

  constructor(
    { threadId, step, callId }: CallKey,
    readonly tool: string,
    readonly reason: string,
  ) {
    super(
      `Expected the record of call ${JSON.stringify(truncateText(callId, maxNamedLength))} of tool "${tool}" in thread ${threadId} as it was written, but ${reason}. ` +
        "Recover the thread to go on with the call's outcome as unknown, recover it from a checkpoint before the call, or restore the database from a backup.",
    );
    this.threadId = threadId;
    this.step = step;
    this.callId = callId;
  }
}

/** Where calls are written down, so that one that has ended is not made again after a crash. */
export interface ToolJournal {
  /**
   * Writes down that a call begins, unless it is known already; what is answered was known before. Durable when it
   * resolves, unless the call is idempotent: if a crash of the database loses such a record, the call is made again, and
   * where its record is damaged it begins anew.
   */
  begin(entry: CallEntry): Promise<CallRecord>;
  /** Returns what is known of a call, and writes nothing. */
  find(entry: CallEntry): Promise<CallRecord>;
  /** Durable as the beginning is. The first end of a call stands. */
  end(call: StartedCall, end: RecordedEnd): Promise<void>;
  /** Forgets a beginning: the call was not made after all. */
  withdraw(key: CallKey): Promise<void>;
}

/** What becomes of a call. */
export type JournalResolution =
  | { readonly do: "run"; readonly again: boolean }
  | { readonly do: "use"; readonly end: RecordedEnd }
  /** `damage` is what is wrong with its record; null where there is only a beginning. */
  | { readonly do: "unknown"; readonly at: string; readonly damage: string | null };

/**
 * A call that has ended is not made again; one that has only started, or whose record is damaged, is made again where
 * that does no harm.
 */
export function resolveJournalEntry(known: CallRecord, tool: AgentTool): JournalResolution {
  switch (known.state) {
    case "new":
      return { do: "run", again: false };
    case "finished":
      return { do: "use", end: known.end };
    case "started":
    case "damaged":
      return mayRepeat(tool)
        ? { do: "run", again: true }
        : {
            do: "unknown",
            at: known.at,
            damage: known.state === "damaged" ? known.reason : null,
          };
  }
}

/** What a call of a client tool does here is to record the result, which may be repeated. */
function mayRepeat(tool: AgentTool): boolean {
  return tool.definition.execution.idempotent || isClientTool(tool);
}

/** Builtins that change nothing cost less to run again than to write down. */
export function isJournalled({ definition }: AgentTool): boolean {
  return !(definition.is_builtin && definition.execution.idempotent);
}

/** What turns `before` into `after`, for {@link applyTiers}. */
export function tierChanges(before: AnyState, after: AnyState): RecordedEnd["tiers"] {
  return {
    ...tierChange("execution", before, after),
    ...tierChange("attempt", before, after),
  };
}

function tierChange(tier: keyof AnyState, before: AnyState, after: AnyState) {
  if (before[tier] === after[tier]) return {};
  if (!isPlain(before[tier]) || !isPlain(after[tier])) return { [tier]: after[tier] };
  const patch = tierPatch(before[tier], after[tier]);
  return patch === null ? {} : { [tier]: patch };
}

/** The state after a call whose end was recorded. */
export function applyTiers(state: AnyState, tiers: RecordedEnd["tiers"] = {}): AnyState {
  const changed = { ...state };
  for (const tier of ["execution", "attempt"] as const) {
    if (Object.hasOwn(tiers, tier)) changed[tier] = reduceTier(state[tier], tiers[tier]);
  }
  return changed;
}

function isPlain(value: unknown): boolean {
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;
}

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
 * that began, and whose end is unknown, is made again if its tool is idempotent, and is an `error` otherwise.
 * @throws CorruptJournalError unless damage is accepted, the reason of `env.signal`, and what the journal and `make` throw
 */
export async function journalledCall(options: JournalledCall): Promise<CallEnded> {
  const { tool, call, env, log, make } = options;
  const { threadId, run, journal } = log;
  env.signal.throwIfAborted();
  const { name } = tool.definition;
  const key: CallKey = { threadId, run, step: log.stepOf(call.id), callId: call.id };
  const idempotent = mayRepeat(tool);
  const known = await journal.begin({ ...key, tool: name, input: call.args, idempotent });
  const settled = resolveJournalEntry(known, tool);
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

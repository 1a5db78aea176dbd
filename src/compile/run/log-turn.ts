import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { redactKnownValues } from "../../guardrails/redaction.ts";
import type { CallLog } from "../../models/calls/call-log.ts";
import type { GraphState } from "../../state/channels.ts";
import { requestOf } from "../../state/human-request.ts";
import type { Status } from "../../state/lifecycle.ts";
import { turnUsage } from "../../state/turn.ts";
import { noUsage } from "../../state/usage.ts";
import type { Secrets } from "../../tools/secrets.ts";
import { isRecord } from "../../values/json.ts";
import { pendingTasks } from "../guards/waiting.ts";

/** Where runs are logged, and whose values are not. */
export interface TurnLog {
  /** Receives what agents do, to be read and counted. If left out, nothing is logged. */
  readonly calls?: CallLog | undefined;
  /** The source of secrets; if left out, there are none. */
  readonly secrets?: Secrets | undefined;
}

const ends: ReadonlySet<Status> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/**
 * Logs the turn of a thread as its newest checkpoint has it, after a run has ended or waits, and waits until all reports
 * on the run are stored. Values that rails redacted are replaced by their placeholders. Never fails.
 */
export async function logTurn(
  { calls, secrets }: TurnLog,
  checkpointer: Pick<BaseCheckpointSaver, "getTuple">,
  threadId: string,
): Promise<void> {
  if (calls === undefined) return;
  const configurable = { thread_id: threadId, checkpoint_ns: "" };
  const tuple = await checkpointer.getTuple({ configurable }).catch(() => undefined);
  const state = tuple?.checkpoint.channel_values as Partial<GraphState> | undefined;
  const { turn, redactions = {} } = state ?? {};
  // A turn that an older version began has no id.
  if (tuple !== undefined && state !== undefined && turn?.run !== undefined) {
    const waitsIn = waitingStatus(tuple);
    const status = waitsIn ?? state.status ?? "CREATED";
    const shown = <T>(value: T): T => {
      const redacted = redactKnownValues(value, redactions) as T;
      return secrets?.hasRevealed() === true ? secrets.scrubValue(redacted) : redacted;
    };
    calls.turn({
      threadId,
      turnId: turn.run,
      agent: turn.agent ?? "",
      status,
      startedAt: turn.started_at,
      isOver: waitsIn !== null || ends.has(status),
      input: shown(state.input ?? null),
      output: shown(state.output ?? null),
      failure: shown(turn.failure),
      usage: turnUsage({ turn, usage: state.usage ?? noUsage }),
      latencyMs: Math.round(turn.elapsed_ms),
      checkpointId: tuple.checkpoint.id,
    });
  }
  await calls.flush();
}

/** Returns the status in which a turn waits: for people, else for its caller or an event. Null if it does not wait. */
function waitingStatus(tuple: CheckpointTuple): Status | null {
  const open = new Set(
    pendingTasks(tuple).flatMap(({ id, state }) => (state === "interrupted" ? [id] : [])),
  );
  const kinds = (tuple.pendingWrites ?? []).flatMap(([task, channel, value]) =>
    open.has(task) && channel === "__interrupt__"
      ? [value].flat().map((one) => requestOf("", isRecord(one) ? one["value"] : one, "").kind)
      : [],
  );
  if (kinds.length === 0) return null;
  return kinds.every((kind) => kind === "tool_calls" || kind === "wait")
    ? "AWAITING_TOOL"
    : "AWAITING_HUMAN";
}

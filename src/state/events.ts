import type { ClientCall } from "./human-request.ts";
import type { Status } from "./lifecycle.ts";
import type { RailRecord } from "./rails.ts";
import type { StepRecord, ToolPrediction, ToolResult } from "./step-record.ts";
import type { SubtaskState, TaskPlan } from "./plan.ts";
import type {
  FailedAttempt,
  IncompleteReason,
  MemoryWritten,
  TurnFailure,
  TurnMemories,
} from "./turn.ts";
import type { Usage } from "./usage.ts";

/** The origin of an event. */
export interface EventOrigin {
  /** The graph node that was running. */
  readonly node: string;
  /** The agent nodes around it, outermost first; empty in the graph that was called. */
  readonly within: readonly string[];
  readonly turn_number: number;
  readonly attempt_number: number;
}

/** Events of a run, as written to LangGraph's `custom` stream. */
export type AgentEventBody =
  /**
   * The turn has moved to this status. Each event is one lifecycle move from the previous, except the first of a
   * resumed run: `resumed` says that it reports the current status.
   */
  | { readonly type: "status"; readonly status: Status; readonly resumed?: true }
  | { readonly type: "thought"; readonly step_index: number; readonly text: string }
  | { readonly type: "tool_call"; readonly step_index: number; readonly call: ToolPrediction }
  | { readonly type: "tool_result"; readonly step_index: number; readonly result: ToolResult }
  /** The run waits for the caller's results of these calls. */
  | { readonly type: "tool_request"; readonly calls: readonly Omit<ClientCall, "request_id">[] }
  | { readonly type: "step"; readonly step: StepRecord }
  /** A node of a workflow has ended: its output, and the next nodes. */
  | { readonly type: "node"; readonly output: unknown; readonly next: readonly string[] }
  /** An attempt is stuck: its next step is a deep one, or it ends. */
  | { readonly type: "stuck"; readonly action: "deepen" | "end"; readonly reason: string }
  | { readonly type: "attempt_failed"; readonly attempt: FailedAttempt }
  /** The turn begins with these entries of long-term memory: by id, without their texts. */
  | { readonly type: "memory"; readonly memories: TurnMemories }
  /** The turn has left entries in long-term memory. */
  | { readonly type: "memory_written"; readonly written: MemoryWritten }
  /** A guardrail has recorded its verdict. */
  | { readonly type: "rail"; readonly record: RailRecord }
  /**
   * A planner has a plan. It includes completed subtasks after a replan, a wait or a crash. `levels` are ids for
   * display; subtasks without dependencies first.
   */
  | {
      readonly type: "plan";
      readonly plan: TaskPlan;
      readonly levels: readonly (readonly string[])[];
      readonly subtasks: Readonly<Record<string, SubtaskState>>;
      readonly depth: number;
    }
  /** An attempt of a subtask begins; `attempt` starts at 1. */
  | {
      readonly type: "subtask_start";
      readonly id: string;
      readonly worker: string;
      readonly attempt: number;
    }
  /**
   * A subtask waits for a person, for results of client tools (`caller`), or for its next attempt after a failed one. The
   * others continue.
   */
  | {
      readonly type: "subtask_wait";
      readonly id: string;
      readonly waits_for: "person" | "caller" | "event" | "retry";
      readonly reason: string;
    }
  /** A subtask is done, failed or skipped, and that is durably stored. */
  | { readonly type: "subtask_end"; readonly id: string; readonly subtask: SubtaskState }
  /** The results were joined. */
  | { readonly type: "synthesis"; readonly text: string }
  /** The gaps that a planner's judge found, and whether a plan for them follows. */
  | { readonly type: "gap"; readonly gaps: readonly string[]; readonly replans: boolean }
  /**
   * A model call waits: for the first token (`until` null), or until it is tried again. `reason` is `first_token`, or why
   * the last try failed.
   */
  | {
      readonly type: "model_wait";
      readonly model: string;
      readonly reason: string;
      /** ISO 8601. */
      readonly until: string | null;
    }
  /** The next model of the list takes over. */
  | {
      readonly type: "model_fallback";
      readonly from: string;
      readonly to: string;
      readonly reason: string;
    }
  /** The tokens that were streamed since the last step are void: their reply broke off, and is made again. */
  | { readonly type: "message_reset"; readonly attempt: number; readonly reason: string }
  /**
   * A step reads a message that a caller sent into the turn. `text` is null if the input rails refused it: no model reads it.
   */
  | {
      readonly type: "user_message";
      readonly step_index: number;
      readonly id: string;
      readonly text: string | null;
    }
  /** The text of the final answer. Token deltas arrive in LangGraph's `messages` stream. */
  | {
      readonly type: "message";
      readonly text: string;
      readonly incomplete: boolean;
      readonly incomplete_reason?: IncompleteReason;
    }
  | {
      readonly type: "done";
      readonly status: Status;
      readonly output: unknown;
      readonly failure: TurnFailure | null;
      /** The usage of the whole turn so far, with that before it waited or was interrupted. */
      readonly usage: Usage;
    };

export type AgentEvent = AgentEventBody & EventOrigin;

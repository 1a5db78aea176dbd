import type { Status } from "./lifecycle.ts";
import type { RailRecord } from "./rail-record.ts";
import type { StepRecord, ToolPrediction, ToolResult } from "./step-record.ts";
import type { SubtaskState } from "./subtask-state.ts";
import type { TaskPlan } from "./task-plan.ts";
import type { FailedAttempt, TurnFailure } from "./turn.ts";
import type { Usage } from "./usage.ts";

/** Where an event comes from. */
export interface EventOrigin {
  /** The graph node that was running. */
  readonly node: string;
  /** The agent nodes that it runs within, outermost first; empty in the graph that was called. */
  readonly within: readonly string[];
  readonly turn_number: number;
  readonly attempt_number: number;
}

/** What happens in a run, as it is written to LangGraph's `custom` stream. */
export type AgentEventBody =
  /**
   * The turn has moved to this status. Each follows from the one before by one move of the lifecycle, but for the first of
   * a run that goes on with a turn: `resumed` says where that stands.
   */
  | { readonly type: "status"; readonly status: Status; readonly resumed?: true }
  | { readonly type: "thought"; readonly step_index: number; readonly text: string }
  | { readonly type: "tool_call"; readonly step_index: number; readonly call: ToolPrediction }
  | { readonly type: "tool_result"; readonly step_index: number; readonly result: ToolResult }
  | { readonly type: "step"; readonly step: StepRecord }
  /** A node of a workflow has ended: what it gave, and the nodes that are next. */
  | { readonly type: "node"; readonly output: unknown; readonly next: readonly string[] }
  /** An attempt goes round in circles: its next step is a deep one, or it ends. */
  | { readonly type: "stuck"; readonly action: "deepen" | "end"; readonly reason: string }
  | { readonly type: "attempt_failed"; readonly attempt: FailedAttempt }
  /** A guardrail has said what it says. */
  | { readonly type: "rail"; readonly record: RailRecord }
  /**
   * A planner has a plan: all of it, with what is done already when it closes gaps or goes on after a wait or a crash.
   * `levels` are ids for display: what depends on nothing first.
   */
  | {
      readonly type: "plan";
      readonly plan: TaskPlan;
      readonly levels: readonly (readonly string[])[];
      readonly subtasks: Readonly<Record<string, SubtaskState>>;
      readonly depth: number;
    }
  /** An attempt of a subtask begins, from 1. */
  | {
      readonly type: "subtask_start";
      readonly id: string;
      readonly worker: string;
      readonly attempt: number;
    }
  /** A subtask waits for a person, or for its next attempt after one that failed. The others go on. */
  | {
      readonly type: "subtask_wait";
      readonly id: string;
      readonly waits_for: "person" | "retry";
      readonly reason: string;
    }
  /** A subtask is done, failed or skipped, and that is durable. */
  | { readonly type: "subtask_end"; readonly id: string; readonly subtask: SubtaskState }
  /** The results were joined. */
  | { readonly type: "synthesis"; readonly text: string }
  /** What a planner's judge misses, and whether a plan for just that follows. */
  | { readonly type: "gap"; readonly gaps: readonly string[]; readonly replans: boolean }
  /** The final answer's text. Token deltas come through LangGraph's `messages` stream. */
  | { readonly type: "message"; readonly text: string; readonly incomplete: boolean }
  | {
      readonly type: "done";
      readonly status: Status;
      readonly output: unknown;
      readonly failure: TurnFailure | null;
      readonly usage: Usage;
    };

export type AgentEvent = AgentEventBody & EventOrigin;

import type { Status } from "./lifecycle.ts";
import type { StepRecord, ToolPrediction, ToolResult } from "./step-record.ts";
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
  | { readonly type: "status"; readonly status: Status }
  | { readonly type: "thought"; readonly step_index: number; readonly text: string }
  | { readonly type: "tool_call"; readonly step_index: number; readonly call: ToolPrediction }
  | { readonly type: "tool_result"; readonly step_index: number; readonly result: ToolResult }
  | { readonly type: "step"; readonly step: StepRecord }
  /** A node of a workflow has ended: what it gave, and the nodes that are next. */
  | { readonly type: "node"; readonly output: unknown; readonly next: readonly string[] }
  /** An attempt goes round in circles: its next step is a deep one, or it ends. */
  | { readonly type: "stuck"; readonly action: "deepen" | "end"; readonly reason: string }
  | { readonly type: "attempt_failed"; readonly attempt: FailedAttempt }
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

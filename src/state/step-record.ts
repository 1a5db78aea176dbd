import type { Usage } from "./usage.ts";

export type ExecutionMode = "fast" | "deep";
export type NextAction = "continue" | "use_tools" | "ask_human" | "finish";

/** `success`: expected output. `failure`: ran, but failed (file not found). `error`: broke (bad arguments, a throw). */
export type ToolOutcome = "success" | "failure" | "error" | "timeout";
export type Relevance = "high" | "medium" | "low";
export type Progress = "advancing" | "stuck" | "regressing";

/** A tool call that a reasoning step asked for. `id` is unique in the turn. */
export interface ToolPrediction {
  id: string;
  name: string;
  args: Record<string, unknown>;
  reason: string;
  /** Why the call cannot be run as it came (unreadable arguments); left out when it can. */
  problem?: string;
}

/**
 * How a call was settled whose node ran again after a crash or a cancellation. `recorded`: it had ended, and its recorded
 * result is used. `repeated`: it had started, and was made again since its tool is idempotent. `unknown`: it had
 * started, nobody knows what came of it, and it was not made again.
 */
export type Recovered = "recorded" | "repeated" | "unknown";

/** What one tool call gave. `result` is whole, up to the tool's `max_result_bytes`; `error` is null on success. */
export interface ToolResult {
  id: string;
  name: string;
  args: Record<string, unknown>;
  result: unknown;
  error: string | null;
  outcome: ToolOutcome;
  execution_time_ms: number;
  insights: string;
  learning: string;
  relevance: Relevance | "";
  /** Left out for a call that was made once, from beginning to end. */
  recovered?: Recovered;
  /** Tries after the first; left out where there were none. */
  retries?: number;
  /** Answers of people that its handler asked for with `interrupt()`; left out where it asked for none. */
  asked?: number;
  /** What a guardrail says of the result, for whoever reads it; left out where none says anything. */
  warning?: string;
}

/** What a step noted on the result of an earlier call of its turn; empty where it said nothing. */
export interface Observation {
  /** Of the call. */
  id: string;
  /** What matters in the result. */
  insights: string;
  /** What is to be done otherwise. */
  learning: string;
  relevance: Relevance | "";
}

/** A choice among many tools. */
export interface ToolSelectionRecord {
  /** How many there were to choose from. */
  readonly considered: number;
  /** Best first; each part of the score is from 0 to 1. */
  readonly selected: readonly {
    readonly name: string;
    readonly score: number;
    readonly semantic: number;
    readonly keyword: number;
    readonly success: number;
    readonly recency: number;
  }[];
}

/** One iteration of an agent, whole. Appended once, never edited; every other view of a run is derived from these. */
export interface StepRecord {
  /** 0-based. */
  turn_number: number;
  /** 0-based. */
  attempt_number: number;
  /** 0-based over the turn, attempts included. */
  step_index: number;
  /** The graph node that made it. */
  node: string;
  /** ISO 8601, when the step began. */
  timestamp: string;
  mode: ExecutionMode;
  thought: string;
  /** Deep mode; empty in fast mode, as is `reflection`. */
  planning: string;
  reflection: string;
  /** The strategy that spans steps; carried on until changed. */
  approach: string;
  next_action: NextAction;
  tool_predictions: readonly ToolPrediction[];
  /** Same order as `tool_predictions`. */
  tool_results: readonly ToolResult[];
  concurrent_execution: boolean;
  /** Left out where nothing was noted. Read through `withObservations`, which puts them where they belong. */
  observations?: readonly Observation[];
  /** How the tools were chosen that it was offered; left out where it was offered all of them. */
  tool_selection?: ToolSelectionRecord;
  /** How the step advances the goal. */
  synthesis: string;
  progress: Progress | "";
  hypothesis: { belief: string; test: string } | null;
  /** What was wrong with the model's output, as it is told back to it; empty when nothing was. */
  problem: string;
  usage: Usage;
  /** `provider:model` that answered. */
  model: string;
  /** Set when the fallback model answered instead of the chosen one. */
  fallback: { from: string; reason: string } | null;
}

/** The step under way: what is known of it before its tools have ended. Null between steps. */
export type CurrentStep = Omit<StepRecord, "tool_results" | "concurrent_execution">;

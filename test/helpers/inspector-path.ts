import type { PathEntry, Step } from "../../web/views/thread/thread-records.ts";

const began = Date.parse("2026-01-01T00:00:00.000Z");

/** The time so many milliseconds after the beginning of a made thread. */
export function timeAt(ms: number): string {
  return new Date(began + ms).toISOString();
}

let superstep = 0;

/** An entry of a path that ran between two times, in a superstep of its own unless it says another. */
export function entryOf(
  node: string,
  [from, to]: readonly [number, number | null],
  more: Partial<PathEntry> = {},
): PathEntry {
  superstep += 1;
  return {
    namespace: "",
    within: [],
    node,
    turn: 0,
    attempt: 0,
    superstep,
    lane: 0,
    outcome: to === null ? "pending" : "success",
    started_at: timeAt(from),
    ended_at: to === null ? null : timeAt(to),
    checkpoint_id: to === null ? null : `c${String(superstep).padStart(6, "0")}`,
    was_interrupted: false,
    had_failed: false,
    is_current: true,
    ...more,
  };
}

/** A step of a node that began at a time. */
export function stepOf(step: number, node: string, more: Partial<Step> = {}): Step {
  return {
    id: `${more.turn ?? 0}.${step}`,
    namespace: "",
    turn: 0,
    attempt: 0,
    step,
    node,
    is_open: false,
    started_at: timeAt(0),
    duration_ms: 0,
    model_ms: 0,
    tool_ms: 0,
    mode: "fast",
    next_action: "finish",
    progress: "",
    model: "openai:test",
    fallback_from: null,
    finish_reason: null,
    tokens_in: 10,
    cached_tokens: 0,
    tokens_out: 5,
    reasoning_tokens: 0,
    llm_calls: 1,
    cost_usd: null,
    thought: "",
    thought_chars: 0,
    problem: "",
    calls: [],
    ...more,
  };
}

/** A call of a step with its outcome. */
export function callOf(tool: string, outcome: string | null, ms = 0): Step["calls"][number] {
  return {
    id: tool,
    tool,
    outcome,
    error: outcome === "success" || outcome === null ? null : `${tool} broke`,
    latency_ms: ms,
    retries: 0,
    recovered: null,
    input_bytes: 2,
    output_bytes: 2,
  };
}

/** What a rail looked at. */
export type RailSide = "input" | "tool_call" | "tool_result" | "output";

/** `pass`: nothing found. `flag`: noted, and let through. */
export type RailVerdict = "pass" | "redact" | "block" | "flag";

/** Where in a value something was found; what it was is not told. */
export interface FoundSpan {
  /** JSON pointer of the text in the value that was checked; empty where that is a text. */
  readonly path: string;
  /** UTF-16 units from the beginning of that text. */
  readonly start: number;
  readonly end: number;
  /** What it is, such as `EMAIL`. */
  readonly label: string;
}

/** What one rail said of one value. */
export interface RailRecord {
  readonly turn_number: number;
  readonly attempt_number: number;
  /** Of the step whose calls were checked; null on input and output. */
  readonly step_index: number | null;
  /** Of the call that was checked; null on input and output. */
  readonly call_id: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly rail: string;
  readonly on: RailSide;
  readonly verdict: RailVerdict;
  /** From 0 (nothing found) to 1. */
  readonly score: number;
  readonly spans: readonly FoundSpan[];
  /** Why, without the text itself; empty for `pass`. */
  readonly reasons: readonly string[];
  /** How long the check took. */
  readonly time_ms: number;
}

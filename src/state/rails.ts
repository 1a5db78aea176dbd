/** The kind of value that a rail checked. */
export type RailSide = "input" | "tool_call" | "tool_result" | "output";

/** `pass`: nothing found. `flag`: recorded, but not changed or blocked. */
export type RailVerdict = "pass" | "redact" | "block" | "flag";

/** The position of a finding in a value, without its text. */
export interface FoundSpan {
  /** JSON pointer to the text in the checked value; empty if the value is itself a string. */
  readonly path: string;
  /** Offset in UTF-16 units from the start of that text. */
  readonly start: number;
  readonly end: number;
  /** The kind of finding, such as `EMAIL`. */
  readonly label: string;
}

/** The verdict of one rail on one value. */
export interface RailRecord {
  readonly turn_number: number;
  readonly attempt_number: number;
  /** The step whose calls were checked; null on input and output. */
  readonly step_index: number | null;
  /** The call that was checked; null on input and output. */
  readonly call_id: string | null;
  /** The entry of long-term memory that was checked in place of the input. */
  readonly memory_id?: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly rail: string;
  readonly on: RailSide;
  readonly verdict: RailVerdict;
  /** From 0 (nothing found) to 1. */
  readonly score: number;
  readonly spans: readonly FoundSpan[];
  /** Reasons for the verdict, without the text itself; empty for `pass`. */
  readonly reasons: readonly string[];
  /**
   * Attachments that came with the value and were not checked, such as `image lamp.png`: rails read text only. Absent if
   * there are none.
   */
  readonly unchecked?: readonly string[];
  /** Duration of the check in milliseconds. */
  readonly time_ms: number;
}

/** Redacted values by placeholder, such as `<EMAIL_1>`. */
export type Redactions = Readonly<
  Record<
    string,
    {
      /** The kind of value, such as `EMAIL`. */
      readonly label: string;
      /**
       * The redacted text. For a text that only looks like a placeholder, the text itself, so that it stays unchanged.
       */
      readonly value: string;
      /** Whether it was a number. It becomes one again if the placeholder is the whole value. */
      readonly is_number?: true;
    }
  >
>;

export interface UnredactOptions {
  /** `own` leaves the placeholders of the outer agents in place. Default: all are replaced. */
  readonly scope?: "all" | "own";
}

/** Replaces redacted values by placeholders, and placeholders by their values. */
export interface Redactor {
  /** Returns a value with its placeholders replaced by the redacted values. */
  unredact<T>(value: T, options?: UnredactOptions): T;
  /**
   * Returns a value with everything redacted that the thread ever redacted. Texts that only look like placeholders are
   * reserved.
   */
  redact<T>(value: T): T;
}

import type { Awaitable } from "../state/agent-state.ts";
import type { RailSide, RailVerdict } from "../state/rail-record.ts";
import type { Embeddings } from "./embeddings.ts";

/** Part of a text, in UTF-16 units. */
export interface RailSpan {
  readonly start: number;
  readonly end: number;
  /** What it is; upper-case letters, digits and _, since redaction makes marks of it: `<EMAIL_1>`. */
  readonly label: string;
}

/** What a custom rail may be called. */
export const railName = /^[a-z][a-z0-9_-]*$/;

/** What a rail checks. A value that is no text is checked as its texts, one a line. */
export interface RailSubject {
  readonly on: Exclude<RailSide, "tool_call">;
  readonly text: string;
  /** What the text is of: a text, or what a schema describes. */
  readonly value: unknown;
  /** The tool whose result it is; null on input and output. */
  readonly tool: string | null;
}

export interface RailContext {
  readonly signal: AbortSignal;
  /** What the definition gives a custom rail as its `config`; absent for others. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly embeddings: Embeddings;
  /** What the person asked, as the agent reads it. */
  readonly request: string;
  /** On output: what the answer may rest on, which is the request and the results of the turn's tools, as texts. */
  readonly evidence: readonly string[];
  /**
   * Asks the model that the rail's config names, and gives its reply's text. What it costs is counted in the turn.
   * @throws ModelCallError
   */
  ask(model: string, request: { readonly system: string; readonly user: string }): Promise<string>;
  /** A text with its references to secrets replaced. */
  resolveSecrets(text: string): Promise<string>;
}

/** What a rail says of a text. */
export interface RailFinding {
  readonly verdict: RailVerdict;
  /** From 0 (nothing found) to 1. */
  readonly score: number;
  readonly spans: readonly RailSpan[];
  /** For the model's next attempt and for people; nothing of what was found is repeated in them. */
  readonly reasons: readonly string[];
}

/** A check on what goes into an agent, comes back from its tools, or goes out. */
export interface Rail {
  /** In records, and in the cause of a turn that it ends: `guardrail:<name>`. */
  readonly name: string;
  readonly on: ReadonlySet<RailSubject["on"]>;
  /** What becomes of a text when the check itself fails. */
  readonly onError: "block" | "pass";
  /**
   * Whether it is given what the marks in a text stand for, instead of these. Only for one that asks no model and repeats
   * nothing; its spans are not used, since they are places in another text. Default false.
   */
  readonly readsValues?: boolean;
  check(subject: RailSubject, context: RailContext): Awaitable<RailFinding>;
}

/** Nothing was found. */
export const passed: RailFinding = Object.freeze({
  verdict: "pass",
  score: 0,
  spans: Object.freeze([]),
  reasons: Object.freeze([]),
});

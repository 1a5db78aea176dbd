import { StratagraphError } from "../errors.ts";
import type { RailSide, RailVerdict } from "../state/rails.ts";
import type { Awaitable } from "../state/tiers.ts";
import { isRecord } from "../values/json.ts";
import { showFound } from "./check/problems.ts";

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

/** A finding that may consist of its verdict alone. */
export interface ShortFinding {
  readonly verdict: RailVerdict;
  /** From 0 to 1. Default: 0 for `pass`, 1 for all else. */
  readonly score?: number;
  /** Why; one text, or several. Default none. Nothing of what was found may be repeated in it. */
  readonly reasons?: string | readonly string[];
  /** Where it stands. `redact` needs them. Default none. */
  readonly spans?: readonly RailSpan[];
}

/** The check of a custom rail gave something that is no finding. */
export class RailFindingError extends StratagraphError {
  readonly code = "invalid_rail_finding";
  override readonly kind = "run";

  constructor(
    readonly rail: string,
    readonly problem: string,
  ) {
    super(`The check of rail "${rail}" gave what is no finding: ${problem}.`);
  }
}

const verdicts: readonly unknown[] = ["pass", "redact", "block", "flag"] satisfies RailVerdict[];
const keys = ["verdict", "score", "reasons", "spans"];

/**
 * Returns a check's finding with its defaults; no finding is `pass`. Errors name kinds only, never the checked text.
 * @throws RailFindingError
 */
export function completeFinding(
  given: unknown,
  { rail, text }: { readonly rail: string; readonly text: string },
): RailFinding {
  if (given === undefined || given === null) return passed;
  const problem = findingProblem(given, text.length);
  if (problem !== undefined) throw new RailFindingError(rail, problem);
  const { verdict, score, reasons = [], spans = [] } = given as ShortFinding;
  return Object.freeze({
    verdict,
    score: score ?? (verdict === "pass" ? 0 : 1),
    spans: Object.freeze(
      spans.map(({ start, end, label }) => Object.freeze({ start, end, label })),
    ),
    reasons: Object.freeze(typeof reasons === "string" ? [reasons] : [...reasons]),
  });
}

function findingProblem(given: unknown, length: number): string | undefined {
  if (!isRecord(given)) return `expected { verdict }, or nothing, found ${kindOf(given)}`;
  const { verdict, score, reasons = [], spans = [] } = given;
  const unknown = Object.keys(given).find((key) => !keys.includes(key));
  if (unknown !== undefined) return `unknown key "${unknown}" (allowed: ${keys.join(", ")})`;
  if (!verdicts.includes(verdict)) {
    return `the verdict must be one of ${verdicts.join(", ")}, not ${showFound(verdict)}`;
  }
  if (score !== undefined && !(typeof score === "number" && score >= 0 && score <= 1)) {
    return `the score must be a number from 0 to 1, not ${showFound(score)}`;
  }
  const texts: readonly unknown[] = Array.isArray(reasons) ? reasons : [reasons];
  if (!texts.every((reason) => typeof reason === "string")) {
    return "reasons must be a text or a list of texts";
  }
  if (!Array.isArray(spans)) return `spans must be a list, not ${kindOf(spans)}`;
  const wrong = spans.findIndex((span: unknown) => !isSpan(span, length));
  if (wrong >= 0) {
    return `spans[${wrong}] must be { start, end, label } with 0 <= start < end <= ${length}, and a label of upper-case letters, digits and _`;
  }
  if (verdict !== "redact" || spans.length > 0) return undefined;
  return "redact needs spans; there is nothing to put a mark for";
}

function isSpan(span: unknown, length: number): span is RailSpan {
  if (!isRecord(span)) return false;
  const { start, end, label } = span;
  return (
    Number.isInteger(start) &&
    Number.isInteger(end) &&
    (start as number) >= 0 &&
    (start as number) < (end as number) &&
    (end as number) <= length &&
    typeof label === "string" &&
    /^[A-Z][A-Z0-9_]*$/.test(label)
  );
}

/** A text that a check gives may be the one that it was given. */
function kindOf(value: unknown): string {
  return typeof value === "string" ? "a text" : showFound(value);
}

/** Turns texts into vectors whose cosine says how alike the texts are. */
export interface Embeddings {
  /** Names the model and its version: vectors of one id can be compared. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * One vector for each text, in order, of length 1; of length 0 for a text of which nothing is known.
   * @throws EmbeddingError where a service does not answer
   */
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly Float32Array[]>;
}

import { StratagraphError } from "../errors.ts";
import type { RailSide, RailVerdict } from "../state/rails.ts";
import type { Awaitable } from "../state/tiers.ts";
import { isRecord } from "../values/json.ts";
import { showFound } from "./check/problems.ts";

/** A span of a text, in UTF-16 code units. */
export interface RailSpan {
  readonly start: number;
  readonly end: number;
  /** The kind of value. Upper-case letters, digits and _, since placeholders contain it: `<EMAIL_1>`. */
  readonly label: string;
}

/** Pattern of a custom rail's name. */
export const railNamePattern = /^[a-z][a-z0-9_-]*$/;

/** The subject of a rail's check. A value that is not a string is checked as its strings, one per line. */
export interface RailSubject {
  readonly on: Exclude<RailSide, "tool_call">;
  readonly text: string;
  /** The value that the text was taken from: a string, or data that a schema describes. */
  readonly value: unknown;
  /** The tool that returned the value; null on input and output, and for the state that a failed attempt left. */
  readonly tool: string | null;
}

export interface RailContext {
  readonly signal: AbortSignal;
  /** The `config` of a custom rail's entry in the definition; absent for built-in rails. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly embeddings: Embeddings;
  /** The user's request, as the agent reads it. */
  readonly request: string;
  /** On output: the sources that can support the answer, which are the request and the turn's tool results, as text. */
  readonly evidence: readonly string[];
  /**
   * Calls the model that the rail's config names and returns the text of its reply. The cost counts towards the turn.
   * @throws ModelCallError
   */
  ask(model: string, request: { readonly system: string; readonly user: string }): Promise<string>;
  /** Returns a text with its secret references resolved. */
  resolveSecrets(text: string): Promise<string>;
}

/** The result of a rail's check. */
export interface RailFinding {
  readonly verdict: RailVerdict;
  /** From 0 (nothing found) to 1. */
  readonly score: number;
  readonly spans: readonly RailSpan[];
  /** For the model's next attempt and for people; they never repeat the matched text. */
  readonly reasons: readonly string[];
}

/** A check on an agent's input, tool results or output. */
export interface Rail {
  /** Appears in records, and as `guardrail:<name>` in the cause of a turn that it ends. */
  readonly name: string;
  readonly on: ReadonlySet<RailSubject["on"]>;
  /** The verdict for a text when the check itself fails. */
  readonly onError: "block" | "pass";
  /**
   * Whether it checks the unredacted text. Only for rails that call no model and never repeat the text in their
   * reasons. Their spans are ignored, since those are offsets in another text. Default false.
   */
  readonly checksUnredacted?: boolean;
  check(subject: RailSubject, context: RailContext): Awaitable<RailFinding>;
}

/** The finding that passes a text. */
export const passFinding: RailFinding = Object.freeze({
  verdict: "pass",
  score: 0,
  spans: Object.freeze([]),
  reasons: Object.freeze([]),
});

/** A finding in which everything but the verdict is optional. */
export interface ShortFinding {
  readonly verdict: RailVerdict;
  /** From 0 to 1. Default: 0 for `pass`, 1 otherwise. */
  readonly score?: number;
  /** One or more reasons, which must not repeat the matched text. Default none. */
  readonly reasons?: string | readonly string[];
  /** The matched spans; required for `redact`. Default none. */
  readonly spans?: readonly RailSpan[];
}

/** The check of a custom rail returned an invalid finding. */
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
 * Returns a check's finding with its defaults; undefined and null mean `pass`. Errors name types only, never the
 * checked text.
 * @throws RailFindingError
 */
export function completeFinding(
  given: unknown,
  { rail, text }: { readonly rail: string; readonly text: string },
): RailFinding {
  if (given === undefined || given === null) return passFinding;
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

/** Names the type of strings only: a string that a check returns may be the text it checked. */
function kindOf(value: unknown): string {
  return typeof value === "string" ? "a text" : showFound(value);
}

/** Turns texts into vectors whose cosine similarity measures how similar the texts are. */
export interface Embeddings {
  /** The model and its version; only vectors of the same id are comparable. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * Returns one unit vector per text, in order; the zero vector for an empty or unknown text.
   * @throws EmbeddingError if a service does not respond
   */
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly Float32Array[]>;
}

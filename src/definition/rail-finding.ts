import { StratagraphError } from "../errors.ts";
import { isRecord } from "../state/is-record.ts";
import type { RailVerdict } from "../state/rail-record.ts";
import { showFound } from "./problems.ts";
import { passed, type RailFinding, type RailSpan } from "./rail.ts";

/** A finding of which only the verdict has to be said. */
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
 * What a check gave, with what it left out; nothing is `pass`. What was found is told by kind only, never in full.
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
    return `the verdict has to be one of ${verdicts.join(", ")}, not ${showFound(verdict)}`;
  }
  if (score !== undefined && !(typeof score === "number" && score >= 0 && score <= 1)) {
    return `the score has to be a number from 0 to 1, not ${showFound(score)}`;
  }
  const texts: readonly unknown[] = Array.isArray(reasons) ? reasons : [reasons];
  if (!texts.every((reason) => typeof reason === "string")) {
    return "reasons have to be a text or a list of texts";
  }
  if (!Array.isArray(spans)) return `spans have to be a list, not ${kindOf(spans)}`;
  const wrong = spans.findIndex((span: unknown) => !isSpan(span, length));
  if (wrong >= 0) {
    return `spans[${wrong}] has to be { start, end, label } with 0 <= start < end <= ${length}, and a label of upper-case letters, digits and _`;
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

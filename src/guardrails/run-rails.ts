import type { Clock } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import type { RailRecord } from "../state/rails.ts";
import type { Rail, RailContext, RailFinding, RailSubject } from "../definition/rail.ts";
import type { RedactionRegistry } from "./redaction-registry.ts";
import {
  foundSpans,
  spansByLeaf,
  textsOf,
  withTexts,
  type SpansByLeaf,
  type ValueTexts,
} from "./value-texts.ts";

/** What a rail said, before it is known where in the run. */
export type RailResult = Pick<
  RailRecord,
  "rail" | "on" | "verdict" | "score" | "spans" | "reasons" | "time_ms"
>;

export interface RailsOutcome {
  /** As it was left by those that redact; the value itself where none did. */
  readonly value: unknown;
  /** In the order of the rails. Those after one that blocks are not run. */
  readonly results: readonly RailResult[];
  /** The one that blocks; null where none does. */
  readonly blocked: RailResult | null;
  readonly flags: readonly RailResult[];
}

export interface RailsRun {
  /** What each rail has at hand. */
  readonly context: (rail: Rail) => RailContext;
  readonly clock: Clock;
  /** Every redaction adds to it, also while other values are checked. */
  readonly registry: RedactionRegistry;
  /** What marks stand for, for rails that read that. Default the marks. */
  readonly unredact?: (value: unknown) => unknown;
  /** Cleans the reasons of a rail before they are stored or shown. Default none. */
  readonly clean?: (reason: string) => string;
}

/**
 * Runs rails on a value, one after the other, each on what the former left. A rail that throws blocks or passes, as its
 * `onError` says. Marks that stand in the value and are not of the registry are reserved in it.
 * @throws the reason of the contexts' signal
 */
export async function runRails(
  rails: readonly Rail[],
  of: { readonly on: RailSubject["on"]; readonly value: unknown; readonly tool: string | null },
  { context, clock, registry, unredact = same, clean = same }: RailsRun,
): Promise<RailsOutcome> {
  const { on, tool } = of;
  let { value } = of;
  let texts = textsOf(value);
  for (const { text } of texts.leaves) registry.reserve(text);
  const results: RailResult[] = [];
  for (const rail of rails.filter((one) => one.on.has(on))) {
    const startedAt = clock.monotonic();
    const read = rail.checksUnredacted === true ? unredact(value) : value;
    const { text } = read === value ? texts : textsOf(read);
    const finding = await check(rail, { on, text, value: read, tool }, context(rail));
    const { verdict, score, reasons } = finding;
    const elapsed = clock.monotonic() - startedAt;
    const spans = spansByLeaf(texts, rail.checksUnredacted === true ? [] : finding.spans);
    results.push({
      rail: rail.name,
      on,
      verdict,
      score: Math.round(score * 1000) / 1000,
      spans: foundSpans(texts, spans),
      reasons: reasons.map(clean),
      time_ms: Math.round(elapsed * 1000) / 1000,
    });
    if (verdict === "block") break;
    if (verdict === "redact" && spans.size > 0) {
      value = withTexts(value, redacted(texts, spans, registry));
      texts = textsOf(value);
    }
  }
  return {
    value,
    results,
    blocked: results.find(({ verdict }) => verdict === "block") ?? null,
    flags: results.filter(({ verdict }) => verdict === "flag"),
  };
}

function same<T>(value: T): T {
  return value;
}

async function check(rail: Rail, subject: RailSubject, context: RailContext): Promise<RailFinding> {
  try {
    return await rail.check(subject, context);
  } catch (thrown) {
    context.signal.throwIfAborted();
    const verdict = rail.onError === "pass" ? "pass" : "block";
    const reasons = [`the check itself failed (${nameOf(thrown)})`];
    return { verdict, score: 0, spans: [], reasons };
  }
}

/** What went wrong without its message, which may hold what was checked. */
function nameOf(thrown: unknown): string {
  if (thrown instanceof StratagraphError) return thrown.code;
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

function redacted(
  { leaves }: ValueTexts,
  spans: SpansByLeaf,
  registry: RedactionRegistry,
): ReadonlyMap<number, string> {
  const made = new Map<number, string>();
  for (const [at, own] of spans) {
    const leaf = leaves[at];
    const [first] = own;
    if (leaf === undefined || first === undefined) continue;
    const isNumber = leaf.kind === "number";
    const text = isNumber
      ? registry.redactNumber(leaf.text, first.label)
      : registry.redact(leaf.text, own);
    made.set(at, text);
  }
  return made;
}

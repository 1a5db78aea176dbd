import { setImmediate as macrotask } from "node:timers/promises";
import { passFinding, type Rail, type RailSpan, type RailSubject } from "../../definition/rail.ts";
import type { PiiConfig, PiiEntity } from "../../definition/schema/guardrails.ts";
import { findEmails, findIps } from "./addresses.ts";
import { findCards, findIbans, findPassports, findSsns } from "./document-numbers.ts";
import type { Finder } from "./finder.ts";
import { findKeys } from "./keys.ts";
import { findPhones } from "./phones.ts";

const words: Record<PiiEntity, readonly [one: string, many: string]> = {
  EMAIL: ["e-mail address", "e-mail addresses"],
  PHONE: ["phone number", "phone numbers"],
  CARD: ["card number", "card numbers"],
  IBAN: ["bank account number", "bank account numbers"],
  SSN: ["social security number", "social security numbers"],
  IP: ["IP address", "IP addresses"],
  PASSPORT: ["passport number", "passport numbers"],
  API_KEY: ["key or password", "keys or passwords"],
};

/**
 * Finds personal data. The score is 1 where there is any: each finding was checked as far as its form allows. With
 * `tool_results` the results of tools are looked at too, whatever `on` says.
 */
export function piiRail(
  config: PiiConfig & { readonly tool_results?: boolean },
  {
    on,
    onError,
  }: { readonly on: ReadonlySet<RailSubject["on"]>; readonly onError: Rail["onError"] },
): Rail {
  return {
    name: "pii",
    on: config.tool_results === true ? new Set([...on, "tool_result"]) : on,
    onError,
    async check({ text }, { signal }) {
      const spans = await searched(text, config.entities, signal);
      if (spans.length === 0) return passFinding;
      return {
        verdict: config.action,
        score: 1,
        spans,
        reasons: reasonsOf(spans, config.entities),
      };
    },
  };
}

/** Shorter texts take less than some ms. */
const longestAtOnce = 20_000;

/** A long text is searched with pauses between the sorts of data, in which the turn may be cancelled and others go on. */
async function searched(
  text: string,
  entities: readonly PiiEntity[],
  signal: AbortSignal,
): Promise<readonly RailSpan[]> {
  const search = searchPersonalData(text, entities);
  let step = search.next();
  while (step.done !== true) {
    if (text.length > longestAtOnce) await macrotask();
    signal.throwIfAborted();
    step = search.next();
  }
  return step.value;
}

function reasonsOf(spans: readonly RailSpan[], entities: readonly PiiEntity[]): readonly string[] {
  return entities.flatMap((entity) => {
    const count = spans.filter(({ label }) => label === entity).length;
    const [one, many] = words[entity];
    return count === 0 ? [] : [`The text has ${count} ${count === 1 ? one : many}.`];
  });
}

/**
 * The most specific first: where two overlap, the earlier one stays. Numbers that are written in groups are looked for
 * in the text with plain gaps.
 */
const finders: readonly (readonly [PiiEntity, Finder, "plain gaps" | "as written"])[] = [
  ["EMAIL", findEmails, "as written"],
  ["API_KEY", findKeys, "as written"],
  ["IBAN", findIbans, "plain gaps"],
  ["CARD", findCards, "plain gaps"],
  ["SSN", findSsns, "plain gaps"],
  ["IP", findIps, "as written"],
  ["PASSPORT", findPassports, "plain gaps"],
  ["PHONE", findPhones, "plain gaps"],
];

/**
 * The personal data of a text, in order, without overlaps. What is a card's number stays one where cards are not asked
 * for: it is no phone's then either.
 */
export function findPersonalData(
  text: string,
  entities: readonly PiiEntity[],
): readonly RailSpan[] {
  const search = searchPersonalData(text, entities);
  let step = search.next();
  while (step.done !== true) step = search.next();
  return step.value;
}

/** {@link findPersonalData} in steps, one for each sort of data, so that others may have their turn between them. */
function* searchPersonalData(
  text: string,
  entities: readonly PiiEntity[],
): Generator<undefined, readonly RailSpan[]> {
  const wanted = new Set<string>(entities);
  const last = finders.findLastIndex(([entity]) => wanted.has(entity));
  const isTaken = new Uint8Array(text.length);
  const found: RailSpan[] = [];
  const plain = withPlainGaps(text);
  for (const [, find, reading] of finders.slice(0, last + 1)) {
    for (const span of find(reading === "plain gaps" ? plain : text)) {
      if (isTaken.subarray(span.start, span.end).includes(1)) continue;
      isTaken.fill(1, span.start, span.end);
      if (wanted.has(span.label)) found.push(span);
    }
    yield;
  }
  return found.toSorted((a, b) => a.start - b.start);
}

/**
 * The text with plain gaps between what people group: each kind of space (Unicode's `Zs`) as U+0020, each dash that joins
 * (`Pd`, and the minus sign) as `-`. Of the same length, so that places in it are those of the text. Numbers copied from
 * web pages and PDFs have no-break and thin spaces and en dashes between their groups. A long dash parts words and joins
 * no number: it counts as a space.
 */
function withPlainGaps(text: string): string {
  return text
    .replaceAll(/(?! )\p{Zs}|[\u2014\u2E3A\u2E3B]/gu, " ")
    .replaceAll(/(?!-)\p{Pd}|\u2212/gu, (dash) => "-".padEnd(dash.length));
}

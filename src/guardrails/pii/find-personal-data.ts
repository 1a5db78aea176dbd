import type { PiiEntity } from "../../definition/guardrail-schema.ts";
import type { RailSpan } from "../rail.ts";
import { findCards } from "./find-cards.ts";
import { findEmails } from "./find-emails.ts";
import { findIbans } from "./find-ibans.ts";
import { findIps } from "./find-ips.ts";
import { findKeys } from "./find-keys.ts";
import { findPassports } from "./find-passports.ts";
import { findPhones } from "./find-phones.ts";
import { findSsns } from "./find-ssns.ts";
import type { Finder } from "./finder.ts";
import { withPlainGaps } from "./plain-gaps.ts";

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
export function* searchPersonalData(
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

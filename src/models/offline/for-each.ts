import { pathsIn, urlsIn } from "./facts.ts";
import type { Outcome } from "./outcome.ts";
import { isRecord } from "../../state/is-record.ts";

const every =
  /\b(?:(?:each|all|both|every)(?: one)?(?: of)?(?: (?:the|these|those))?(?: \w+)?? (?:files?|documents?|pages?|paths?|ones?)|(?:each|all|both) of (?:them|these|those)|(?:these|those) (?:files|documents|pages|paths)|them all|them|each|both)\b/i;

const looking = /^(?:read|open|show|parse|count|search|fetch|get|check|look)\b/i;

/** A part that is to be done with each file or page of the results it was given: one part for each of them. */
export function forEach(part: string, given: readonly Outcome[]): readonly string[] {
  if (given.length === 0 || pathsIn(part).length + urlsIn(part).length > 0) return [part];
  if (!looking.test(part) || !every.test(part)) return [part];
  const named = [...new Set(given.flatMap((one) => placesIn(one.value ?? one.text)))];
  return named.length === 0 ? [part] : named.map((place) => part.replace(every, place));
}

function placesIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [...urlsIn(value), ...pathsIn(value)];
  if (Array.isArray(value)) return value.flatMap(placesIn);
  return isRecord(value) ? Object.values(value).flatMap(placesIn) : [];
}

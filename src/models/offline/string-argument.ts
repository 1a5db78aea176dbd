import { linearPattern } from "../../expression/pattern.ts";
import { isStopWord, stemsOf, wordsOf } from "../words.ts";
import { joinResults } from "./answer.ts";
import { expressionIn } from "./arithmetic.ts";
import type { Search } from "./conversation.ts";
import {
  capitalsIn,
  codesIn,
  datesIn,
  emailsIn,
  folderIn,
  givenName,
  labelOf,
  namesIn,
  pathsIn,
  quotedIn,
  type Schema,
  type StringKind,
  urlsIn,
} from "./facts.ts";
import { numberOf, type Outcome } from "./notation.ts";
import { isOfSeveral } from "./subtasks.ts";

export interface WantedString {
  readonly name: string;
  readonly kind: StringKind;
  readonly schema: Schema;
  readonly required: boolean;
}

const pronoun =
  /\b(it|its|that|this|them|those|(?:the|that|this) (?:result|answer|output|number|first one|file|text|content)s?)\b/i;

/** The string a text holds for an argument, or null. What is found is marked as used. */
export function findString(wanted: WantedString, search: Search): string | null {
  const found = matching(wanted, search) ?? labelled(wanted, search) ?? byKind(wanted, search);
  if (found !== null) search.used.add(found);
  return found;
}

function byKind(wanted: WantedString, search: Search): string | null {
  const { text, used, outcomes } = search;
  const free = (candidates: readonly string[]) => candidates.find((one) => !used.has(one)) ?? null;
  const before = pronoun.test(text) ? (outcomes.at(-1) ?? null) : null;
  switch (wanted.kind) {
    case "expression":
      return expressionFrom(search);
    case "timezone":
      return timeZoneIn(text) ?? (wanted.required ? "UTC" : null);
    case "folder":
      return folderFrom(wanted, search);
    case "path":
      return pathFrom(wanted, search, before);
    case "url":
      return free(urlsIn(text)) ?? free(urlsIn(before?.text ?? ""));
    case "email":
      return free(emailsIn(text)) ?? free(emailsIn(before?.text ?? ""));
    case "date":
      return free(datesIn(text)) ?? free(datesIn(before?.text ?? ""));
    case "glob":
      return free(text.match(/(?<!\S)[\w./-]*\*[\w.*/-]*/g) ?? []);
    case "query":
      return queryFrom(wanted, search);
    case "message":
      return messageFrom(wanted, search, before);
    case "name":
      return nameFrom(wanted, search);
  }
}

/** A word that fits the schema's own pattern. */
function matching({ schema }: WantedString, { text, used }: Search): string | null {
  if (typeof schema["pattern"] !== "string") return null;
  const compiled = linearPattern(schema["pattern"]);
  if (!compiled.ok) return null;
  const pattern = compiled.value;
  const words = text.match(/[^\s"'`,;()]+/g) ?? [];
  const tidy = words.map((word) => word.replace(/[.?!:]+$/, ""));
  return tidy.find((word) => pattern.test(word) && !used.has(word) && !isStopWord(word)) ?? null;
}

/** "service: payments", "path = a.txt", "the user named Ada". */
function labelled({ name, kind }: WantedString, { text, used }: Search): string | null {
  if (kind === "expression") return null;
  const label = wordsOf(name).join("[ _-]?");
  const sign = new RegExp(
    `\\b${label}\\s*(?:[:=]|\\b(?:named|called|is)\\b)\\s*("[^"]+"|'[^']+'|[^\\s,;]+)`,
    "i",
  );
  const found = sign.exec(text)?.[1]?.replace(/^["']|["']$|[.?!]+$/g, "");
  return found !== undefined && found !== "" && !used.has(found) && !isStopWord(found)
    ? found
    : null;
}

function expressionFrom({ text, outcomes }: Search): string | null {
  const last = outcomes.at(-1);
  const quoted = quotedIn(text)
    .map((one) => expressionIn(one))
    .find((one) => one !== null);
  return (
    quoted ??
    expressionOfAll(text, outcomes) ??
    expressionIn(text, last === undefined ? null : numberOf(last))
  );
}

function folderFrom({ required }: WantedString, { text, used }: Search): string | null {
  const paths = pathsIn(text).filter((path) => !used.has(path));
  const folder = paths.find((path) => !/[^/.]\.[a-z0-9]{1,6}$/i.test(path));
  if (folder !== undefined) return folder;
  const named = folderIn(text);
  if (named !== null && !pathsIn(text).includes(named)) return named;
  return required && /\b(list|files|folder|directory|ls)\b/i.test(text) && paths.length === 0
    ? "."
    : null;
}

function pathFrom(wanted: WantedString, search: Search, before: Outcome | null): string | null {
  const paths = pathsIn(search.text).filter((path) => !search.used.has(path));
  if (/dest|target|^to|output/i.test(wanted.name) && paths.length > 1) return paths.at(-1) ?? null;
  if (paths[0] !== undefined) return paths[0];
  if (before !== null) {
    const known = before.args["path"];
    const own = pathsIn(before.text);
    const stems = stemsOf(search.text);
    const named = own.find((path) => [...stemsOf(path)].some((one) => stems.has(one)));
    return named ?? own[0] ?? (typeof known === "string" ? known : null);
  }
  // A tool that lists or searches may as well take a folder.
  const asksForFolder = /\b(list|folder|directory|files|search|find|grep|look)\b/i.test(
    search.text,
  );
  return asksForFolder ? folderIn(search.text.replaceAll(/"[^"]*"/g, "")) : null;
}

const asked =
  /\b(?:search(?:es)?|look(?:s|ing)?|grep|find|google|query|lookup)\b(?:\s+(?:\w+\s+)?(?:for|up))?\s+(?:the\s+|all\s+|any\s+|where\s+)?(?:word\s+|term\s+|phrase\s+|text\s+|lines?\s+(?:with\s+|containing\s+)?)?(.+)/i;
const about = /\b(?:about|mention(?:s|ing|ed)?|contain(?:s|ing)?|regarding|matching)\s+(.+)/i;
const place =
  /\s+(?:in|inside|within|under|on|at|of|from)\s+(?:the\s+)?[\w./-]+(?:\s+(?:folder|directory|file|docs|logs?))?\s*$/i;
const tail = /\s+(?:appears?|occurs?|is used|are used|is mentioned)\b.*$/i;

function queryFrom({ name, required }: WantedString, { text, used }: Search): string | null {
  const quoted = quotedIn(text).find((one) => !used.has(one));
  if (quoted !== undefined) return quoted;
  const capitals = capitalsIn(text).find((one) => !used.has(one));
  if (capitals !== undefined) return capitals;
  if (!required) return null;
  if (/question/i.test(name)) return text;
  const plain = text.replace(/[?.!]+$/, "");
  const phrase = about.exec(plain)?.[1] ?? asked.exec(plain)?.[1];
  const tidy = phrase?.replace(tail, "").replace(place, "").trim();
  if (tidy !== undefined && tidy !== "" && stemsOf(tidy).size > 0) return tidy;
  const words = plain
    .split(/\s+/)
    .filter((word) => !isStopWord(word.replace(/\W/g, "")) && !used.has(word));
  return words.length > 0 ? words.join(" ") : null;
}

/** "Tell the editor that all is done": here "that" and "all" are about no result. */
const told =
  /\b(?:tell|inform|notify|remind)\s+(?!me\b|us\b)(?:[\p{L}\p{N}]+\s+){1,4}?that\s+(\S.*?)\s*$/isu;

/** "Save two eggs in the list" */
const kept =
  /^(?:please\s+)?(?:write|save|store|keep|put|post|append|add)\s+(?!(?:to|in|into|under)\b)(.+?)\s+(?:to|in|into|under|as)\s+\S/is;

function messageFrom(
  { required }: WantedString,
  { text, used, outcomes }: Search,
  before: Outcome | null,
): string | null {
  const quoted = quotedIn(text).find((one) => !used.has(one));
  if (quoted !== undefined) return quoted;
  const stated = told.exec(text)?.[1];
  if (stated !== undefined) return stated;
  if (outcomes.length > 1 && isOfSeveral(text)) return joinResults(outcomes);
  if (before !== null) return before.text;
  const said =
    /\b(?:that|saying|says|with(?: the)? (?:text|message|content))\s+(.+)$|:\s+(.+)$/is.exec(text);
  const words = (said?.[1] ?? said?.[2] ?? kept.exec(text)?.[1])?.trim();
  if (words !== undefined && words !== "") return words;
  return required ? text : null;
}

function nameFrom({ name, required }: WantedString, { text, used }: Search): string | null {
  const free = (one: string | undefined) =>
    one !== undefined && one !== "" && !used.has(one) && !isStopWord(one) ? one : null;
  const label = labelOf(name);
  const given = free(givenName(name, text) ?? undefined);
  if (given !== null) return given;
  const after = new RegExp(
    `\\b${label}s?\\s+(?:(?:id|name|number|no\\.?|named|called)\\s+)?(#?[\\w@.-]*[\\w@])`,
    "i",
  );
  const ahead = new RegExp(`(?:^|\\s)([\\w@.-]+)\\s+${label}\\b`, "i");
  const following = free(after.exec(text)?.[1]?.replace(/^#/, ""));
  const looksGiven =
    following !== null &&
    (/[\d\p{Lu}]/u.test(following) || !/^(and|then|with|from|logs?|errors?)$/i.test(following));
  const quoted = free(quotedIn(text).find((one) => !used.has(one)));
  if (quoted !== null) return quoted;
  if (looksGiven) return following;
  const leading = free(ahead.exec(text)?.[1]);
  if (leading !== null && !/^(read|list|show|get|find|check|each|every)$/i.test(leading))
    return leading;
  if (/id|code|number|key|ref|sku|ticket|order/i.test(name)) {
    const code = codesIn(text).find((one) => !used.has(one));
    if (code !== undefined) return code;
  }
  if (!required) return null;
  const proper = namesIn(text).find((one) => !used.has(one));
  return proper ?? free(afterPreposition(text)) ?? null;
}

function afterPreposition(text: string): string | undefined {
  const matches = [
    ...text.matchAll(
      /\b(?:for|of|in|to|from|about|at|on)\s+(?:the\s+|a\s+|an\s+)?([\p{L}\p{N}_-]+)(?![\w]*[./]\w)/giu,
    ),
  ];
  return matches.map((match) => match[1]).find((word) => word !== undefined && !isStopWord(word));
}

/** Places that are no zone's own name. */
const elsewhere: Readonly<Record<string, string>> = {
  utc: "UTC",
  gmt: "UTC",
  beijing: "Asia/Shanghai",
  mumbai: "Asia/Kolkata",
  delhi: "Asia/Kolkata",
  bangalore: "Asia/Kolkata",
  india: "Asia/Kolkata",
  japan: "Asia/Tokyo",
  china: "Asia/Shanghai",
  germany: "Europe/Berlin",
  france: "Europe/Paris",
  munich: "Europe/Berlin",
  hamburg: "Europe/Berlin",
  geneva: "Europe/Zurich",
  barcelona: "Europe/Madrid",
  milan: "Europe/Rome",
  "san francisco": "America/Los_Angeles",
  seattle: "America/Los_Angeles",
  california: "America/Los_Angeles",
  boston: "America/New_York",
  washington: "America/New_York",
  miami: "America/New_York",
  montreal: "America/Toronto",
  canberra: "Australia/Sydney",
};

let cities: Map<string, string> | undefined;

/** The IANA time zone a text names, itself or by a city or country; null when it names none. */
function timeZoneIn(text: string): string | null {
  const written = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?\b/.exec(text);
  if (written !== null) return written[0];
  cities ??= zonesByCity();
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  for (let length = 3; length >= 1; length -= 1) {
    for (let i = 0; i + length <= words.length; i += 1) {
      const zone = cities.get(words.slice(i, i + length).join(" "));
      if (zone !== undefined) return zone;
    }
  }
  return null;
}

function zonesByCity(): Map<string, string> {
  const zones = Intl.supportedValuesOf("timeZone").map((zone): [string, string] => {
    const city = zone.slice(zone.lastIndexOf("/") + 1);
    return [city.replaceAll("_", " ").toLowerCase(), zone];
  });
  return new Map([...zones, ...Object.entries(elsewhere)]);
}

const all =
  /\b(?:both|them|these|those|all|(?:the|all) (?:\w+ )?(?:results|numbers|counts|totals|sums|figures))\b/i;
const operators: readonly (readonly [RegExp, (numbers: readonly string[]) => string | null])[] = [
  [/\b(?:average|mean)\b/i, (numbers) => `(${numbers.join(" + ")}) / ${numbers.length}`],
  [/\b(?:add|sum|total|plus)\b/i, (numbers) => numbers.join(" + ")],
  [/\b(?:multiply|product)\b/i, (numbers) => numbers.join(" * ")],
  [
    /\b(?:difference|subtract)\b/i,
    (numbers) => (numbers.length === 2 ? numbers.join(" - ") : null),
  ],
];

/** "add both", "the average of these": the expression over the numbers of all results; null for anything else. */
export function expressionOfAll(text: string, outcomes: readonly Outcome[]): string | null {
  if (!all.test(text) || /\d/.test(text)) return null;
  const numbers = outcomes.flatMap((one) => (one.failed ? [] : (numberOf(one) ?? [])));
  if (numbers.length < 2) return null;
  const plain = numbers.map((number) => (number.startsWith("-") ? `(${number})` : number));
  return operators.find(([verb]) => verb.test(text))?.[1](plain) ?? null;
}

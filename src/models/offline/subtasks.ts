import { isStopWord, wordsOf } from "../words.ts";
import {
  capitalsIn,
  codesIn,
  emailsIn,
  namesIn,
  numbersIn,
  pathsIn,
  quotedIn,
  urlsIn,
} from "./facts.ts";

/** Words that begin an order or a question, so that "and" before one of them parts two tasks. */
const openers =
  "read|list|show|find|search|count|calculate|compute|tell|give|open|parse|check|get|fetch|send|write|save|create|delete|multiply|divide|subtract|add|convert|translate|summari[sz]e|look|grep|run|call|what|how|who|when|where|report|email|square|double|halve|use|compare|combine|merge|explain|describe|draft|compose|extract|collect|gather|measure|estimate|identify|analy[sz]e|let";

const linkPatterns = [
  /;\s+/,
  /,?\s+(?:and\s+)?then,?\s+/i,
  /,?\s+(?:and\s+)?(?:after that|afterwards|finally|next),?\s+/i,
  /[.!?]\s+(?=["'\p{Lu}])/u,
  /\n+/,
  new RegExp(String.raw`,?\s+and\s+(?:also\s+)?(?=(?:${openers})\b)`, "i"),
  new RegExp(String.raw`,\s+(?=(?:${openers})\b)`, "i"),
];
const linkPattern = new RegExp(linkPatterns.map((one) => `(?:${one.source})`).join("|"), "giu");
const lead =
  /^(?:please|and|then|also|first(?:ly)?|second(?:ly)?|next|finally|after that|afterwards|lastly)[,:]?\s+/i;

const listed =
  /\b(?:(?:each|all|every one) of (?:these|the following)|these|the following)(?: \w+)?$/i;
const order = /\b(?:then|after that|afterwards|finally|next|lastly)\b/i;
const opener = new RegExp(`^(?:${openers})\\b`, "i");

export interface RequestPart {
  readonly text: string;
  /** Whether it is said to come after the part before. */
  readonly isAfter: boolean;
  /** Whether the parts are numbered. */
  readonly isNumbered: boolean;
  /** Whether it stands in a paragraph after the first, and is no order. */
  readonly isMaterial: boolean;
}

/** Splits a request into parts in their order: numbered, listed, or sequential. Never empty. */
export function subtasksOf(request: string): string[] {
  return requestParts(request).map(({ text }) => text);
}

/** The same with how the parts are said to follow each other. */
export function requestParts(request: string): readonly RequestPart[] {
  const text = request.trim();
  const items = numbered(text);
  const parts = items ?? bullets(text) ?? chained(text);
  const isNumbered = items !== null;
  const tidy: RequestPart[] = [];
  for (const { text: part, link: before } of parts) {
    if (!/[\p{L}\p{N}]/u.test(part)) continue;
    const isApart = /\n\s*\n/.test(before) || tidy.at(-1)?.isMaterial === true;
    const isMaterial = isApart && !isOrder(part.trim());
    tidy.push({ ...withoutLead(part, before), isNumbered, isMaterial });
  }
  return tidy.length > 0 ? tidy : [{ text, isAfter: false, isNumbered: false, isMaterial: false }];
}

interface LinkedPart {
  readonly text: string;
  /** What stands between it and the part before. */
  readonly link: string;
}

/** `1. … 2. …` or `1) … 2) …`, counted from 1 without a gap. */
function numbered(text: string): LinkedPart[] | null {
  const starts: { at: number; from: number }[] = [];
  for (const match of text.matchAll(/(?<=^|\s)(\d{1,2})[.)]\s+/g)) {
    if (Number(match[1]) !== starts.length + 1) continue;
    starts.push({ at: match.index, from: match.index + match[0].length });
  }
  if (starts.length < 2) return null;
  const items = starts.map(({ from }, i) => text.slice(from, starts[i + 1]?.at).trim());
  // What follows the last item on a line of its own is a part too, where it is an order.
  const [last, after] = firstLine(items.at(-1) ?? "");
  if (!isOrder(after)) return items.map(unlinked);
  return [...items.slice(0, -1).map(unlinked), unlinked(last), ...chained(after)];
}

function bullets(text: string): LinkedPart[] | null {
  const bullet = /^\s*[-*•]\s+/;
  const lines = text.split("\n");
  const marked = lines.filter((line) => bullet.test(line));
  if (marked.length < 2) return null;
  const first = lines.findIndex((line) => bullet.test(line));
  const last = lines.findLastIndex((line) => bullet.test(line));
  const after = lines
    .slice(last + 1)
    .join("\n")
    .trim();
  const items = marked.map((line) => line.replace(bullet, "").trim());
  const verb = /^(.*):$/.exec(lines[first - 1]?.trim() ?? "")?.[1] ?? "";
  const whole = items.map((item) =>
    isOrder(verb) && !isOrder(item) ? withItem(verb, item) : item,
  );
  return [...whole.map(unlinked), ...(isOrder(after) ? chained(after) : [])];
}

/** "Count the words of each of these files" with one of them. */
function withItem(verb: string, item: string): string {
  const named = verb.replace(listed, () => item);
  return named === verb ? `${verb}: ${item}` : named;
}

function unlinked(text: string): LinkedPart {
  return { text, link: "" };
}

function isOrder(text: string): boolean {
  return lead.test(text) || opener.test(text);
}

/** The first line, and what follows it. */
function firstLine(text: string): readonly [string, string] {
  const at = text.indexOf("\n");
  return at < 0 ? [text, ""] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** What stands in quotes or parentheses is never parted. */
function chained(text: string): LinkedPart[] {
  const quotes: string[] = [];
  const masked = text.replace(
    /"[^"]*"|“[^”]*”|`[^`]*`|\([^()]*\)|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu,
    (quote) => {
      quotes.push(quote);
      return `\uE000${quotes.length - 1}\uE000`;
    },
  );
  const bounds = [{ index: 0, 0: "" }, ...masked.matchAll(linkPattern)];
  return bounds.map(({ index, 0: before }, i) => ({
    text: masked
      .slice(index + before.length, bounds[i + 1]?.index)
      .replace(/\uE000(\d+)\uE000/g, (_, at: string) => quotes[Number(at)] ?? ""),
    link: before,
  }));
}

function withoutLead(part: string, before: string): Pick<RequestPart, "text" | "isAfter"> {
  let text = part.trim();
  let isAfter = order.test(before);
  for (let found = lead.exec(text); found !== null; found = lead.exec(text)) {
    isAfter ||= order.test(found[0]);
    text = text.slice(found[0].length);
  }
  return { text: text.replace(/[,;]+$/, ""), isAfter };
}

/** "step 2", "parts 1 and 3", "the results of 1 and 2"; bare numbers in a numbered request alone. */
const named =
  /\b(?:steps?|parts?|tasks?|subtasks?|points?|results? (?:of|from)) (?:#|no\. ?)?(\d+(?:(?:, ?(?:and )?| and | & )\d+)*)(?![\d.]*\s*[*/+%×-])/gi;
const bare =
  /\b(?:from|of|with|using|in|after) \(?(\d+(?:(?:, ?(?:and )?| and | & )\d+)+)\)?(?=$|[.,;:!?)]| (?:and|into|in|to|with|then|as)\b)/gi;

const several =
  /\b(?:them|they|their|these|those)\b|\b(?:the|all|your) (?:\w+ )?(?:results|outputs|answers|findings|counts|totals|sums|figures|outcomes)\b(?! (?:of|in|from|for) (?!both|all|these|those|them|steps?|parts?))/i;
/** Of something before, where nothing else is named that they could be of. */
const gathering =
  /\b(?:both|each|every|all of|everything|which (?:one|is|of))\b|^(?:compare|contrast|combine|merge|join|collate|report|summari[sz]e|synthesi[sz]e|conclude)\b|^(?:write|give|make|prepare|produce|draft|compose|create|save|send|email)\s(?:\w+\s){0,4}?(?:report|summary|comparison|overview|conclusion)\b/i;

const end = String.raw`(?=\s*(?:$|[.,;:!?)])|\s+(?:by|to|with|from|into|and|as|aloud|for|on|at)\b)`;
const one = new RegExp(
  [
    String.raw`(?<!\b(?:time|date|day) is )(?<!\bdoes )\b(?:it|its)\b`,
    String.raw`\bthat${end}`,
    String.raw`\b(?:this|that)\s+(?:result|answer|output|number|file|text|content|list|sum|total|page|one)\b`,
    String.raw`\bthis${end}`,
    String.raw`\bthe (?:result|answer|output)\b(?! of\b)`,
    String.raw`\bthe (?:first one|one|file|text|content|list|number|sum|total|page|order)${end}`,
  ].join("|"),
  "i",
);

/**
 * For each part the earlier parts whose results it needs, by index. Explicit numbers count. "It",
 * "that" and "the result" stand for the part before; "them", "both", "the results", and parts that compare, combine, report
 * or summarise what they do not name themselves, for all parts before that no other one needs. "Then" alone tells an
 * order and no need, except before something definite that names nothing of its own ("then count the errors").
 */
export function linksOf(parts: readonly RequestPart[]): readonly (readonly number[])[] {
  const needed = new Set<number>();
  return parts.map((part, i) => {
    const told = numbersTold(part, i);
    const links =
      told.length > 0
        ? told
        : i === 0
          ? []
          : isOfSeveral(part.text)
            ? parts.slice(0, i).flatMap((_, j) => (needed.has(j) ? [] : [j]))
            : isOfOne(part)
              ? [i - 1]
              : [];
    for (const link of links) needed.add(link);
    return links;
  });
}

const joining =
  /^(?:compare|contrast|combine|merge|join|collate|report|summari[sz]e|synthesi[sz]e|conclude|tell|say|explain|describe|answer|write|give|make|prepare|draft|compose)\b/i;

/** Returns whether a part needs the results of several others. */
export function joinsResults(text: string): boolean {
  return joining.test(text) && isOfSeveral(text);
}

/** Whether a text is about several results that were there before it. */
export function isOfSeveral(text: string): boolean {
  return several.test(text) || (gathering.test(text) && ownMaterial(text).length === 0);
}

function isOfOne({ text, isAfter }: RequestPart): boolean {
  if (one.test(text)) return true;
  return isAfter && /\bthe \p{L}/iu.test(text) && ownFacts(text).length === 0;
}

function numbersTold({ text, isNumbered }: RequestPart, index: number): readonly number[] {
  const lists = [...text.matchAll(named), ...(isNumbered ? text.matchAll(bare) : [])];
  const told = lists.flatMap(([, list = ""]) =>
    (list.match(/\d+/g) ?? []).map((all) => Number(all) - 1),
  );
  const known = [...new Set(told)].filter((number) => number >= 0 && number < index);
  return known.toSorted((a, b) => a - b);
}

/** What a part names to work on; where it writes to is none of it. */
function ownMaterial(text: string): readonly string[] {
  const without = text.replace(
    /\b(?:to|into|as|in) (?:the file )?["'`]?[\w./-]+\.\w{1,6}["'`]?\s*[.!]?$/i,
    "",
  );
  return [...pathsIn(without), ...urlsIn(text), ...quotedIn(without)];
}

function ownFacts(text: string): readonly unknown[] {
  const own = [pathsIn, urlsIn, quotedIn, emailsIn, codesIn, capitalsIn, namesIn, numbersIn];
  return own.flatMap((factsIn): readonly unknown[] => factsIn(text));
}

const longestId = 24;
const mostWords = 5;
/** Words of a result or a failure say nothing of what a subtask is about. */
const vague =
  /^(results?|answers?|subtasks?|steps?|parts?|missing|lacks?|failed|nothing|came|out|many|much)$/;

/**
 * Ids that say what subtasks are about, from their first words: two of them, and more where others have the same. None
 * is in `taken`, no two are the same. They begin with a letter: numbers as keys of an object would lose their order.
 */
export function subtaskIds(
  descriptions: readonly string[],
  taken: readonly string[] = [],
): readonly string[] {
  const words = descriptions.map(tellingWords);
  const used = new Set(taken);
  return words.map((own, i) => {
    const plain = own.filter((word) => !isNumber(word)).length;
    const few = Math.min(2, plain === 0 ? own.length : plain);
    for (let count = few; count <= mostWords && own.length > 0; count += 1) {
      const id = idOf(own, count);
      const isShared = words.some((others, j) => j !== i && idOf(others, count) === id);
      if (!isShared && !used.has(id)) return add(used, id);
    }
    return add(used, numberedId(idOf(own, 2), used));
  });
}

function add(used: Set<string>, id: string): string {
  used.add(id);
  return id;
}

function numberedId(id: string, used: ReadonlySet<string>): string {
  const base = id.slice(0, longestId - 5).replace(/-+$/, "");
  for (let number = id === "step" ? 1 : 2; ; number += 1) {
    const next = `${base}-${number}`;
    if (!used.has(next)) return next;
  }
}

function idOf(words: readonly string[], count: number): string {
  let id = isNumber(words[0] ?? "") ? "number" : "";
  for (const word of words.slice(0, count)) {
    const longer = id === "" ? word.slice(0, longestId) : `${id}-${word}`;
    if (longer.length > longestId) break;
    id = longer;
  }
  return id === "" ? "step" : id;
}

/** Plain letters and digits; of a path the name of the file. Numbers come last. */
function tellingWords(description: string): readonly string[] {
  const files = pathsIn(description);
  const names = new Set(files.flatMap((path) => plainWords(fileName(path))));
  let text = description;
  for (const path of files) text = text.replace(path, fileName(path));
  const words = [...new Set(plainWords(text))];
  const said = words.filter((word) => names.has(word) || !isStopWord(word));
  const telling = said.filter((word) => !vague.test(word));
  const kept = telling.length > 0 ? telling : said;
  return [...kept.filter((word) => !isNumber(word)), ...kept.filter(isNumber)];
}

function plainWords(text: string): readonly string[] {
  const words = wordsOf(text.normalize("NFKD").replace(/\p{M}/gu, ""));
  return words.filter((word) => /^[a-z0-9]+$/.test(word));
}

function isNumber(word: string): boolean {
  return /^\d/.test(word);
}

function fileName(path: string): string {
  return (path.split("/").findLast((part) => part !== "") ?? path).replace(/(?<=.)\.\w{1,6}$/, "");
}

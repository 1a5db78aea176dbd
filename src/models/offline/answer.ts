import { capitalsIn, pathsIn, quotedIn } from "./facts.ts";
import { isRecord, numberOf, type Outcome } from "./outcome.ts";
import { isStopWord, overlap, stemsOf, wordsOf } from "./words.ts";

const longestAnswer = 800;
const mostLines = 5;

/** What the results say on a request: one line for each result; failures are told as such. Empty without results. */
export function answerFrom(request: string, outcomes: readonly Outcome[]): string {
  const lines = outcomes.map((one) => tell(request, one));
  if (lines.length === 1) return lines[0] ?? "";
  return lines
    .map((line, i) => `${outcomes[i]?.name ?? "tool"}: ${line}`)
    .filter((line, i, all) => all.indexOf(line) === i)
    .join("\n");
}

function tell(request: string, one: Outcome): string {
  if (one.failed) return `${one.name} did not succeed: ${clip(one.text)}`;
  const count = countIn(request, one);
  if (count !== null) return String(count);
  if (one.value !== undefined) return compact(one.value, stemsOf(request));
  return extract(request, one.text);
}

const countQuestion = /\b(?:how many|number of|count(?:s|ing)?(?: the| all)?(?: of)?)\s+(.+)/i;

/** The answer to "how many": lines or items that have the words asked for; a figure that a result gives itself comes first. */
export function countIn(request: string, one: Outcome): number | null {
  const counted = countQuestion.exec(request)?.[1];
  if (counted === undefined) return null;
  if (typeof one.value === "number") return one.value;
  if (isRecord(one.value)) {
    const own = Object.entries(one.value).find(
      ([key, value]) => /count|total|number|matches/i.test(key) && typeof value === "number",
    );
    if (own !== undefined) return own[1] as number;
  }
  const lists = isRecord(one.value) ? Object.values(one.value).filter(Array.isArray) : [];
  const items: unknown = Array.isArray(one.value) ? one.value : lists[0];
  const wanted = wantedWords(counted);
  if (Array.isArray(items))
    return matching(
      items.map((item) => JSON.stringify(item)),
      wanted,
    );
  if (one.value !== undefined) return null;
  const lines = one.text.split("\n").filter((line) => line.trim() !== "");
  if (/\bwords?\b/i.test(counted) && wanted.length === 0) return wordsOf(one.text).length;
  return matching(lines, wanted);
}

/** Marked words, else words that are no name for a unit; a unit alone counts everything. */
function wantedWords(counted: string): string[] {
  const marked = [...quotedIn(counted), ...capitalsIn(counted)];
  if (marked.length > 0) return marked;
  const bare = pathsIn(counted).reduce((left, path) => left.replaceAll(path, " "), counted);
  const head = bare.split(/\b(?:are|is|in|does|do|did|has|have|of|there|occur|appear)\b/i)[0] ?? "";
  const units =
    /^(lines?|entr(y|ies)|items?|rows?|files?|matches|results?|words?|times|documents?|folders?)$/i;
  return head.split(/\W+/).filter((word) => word !== "" && !units.test(word) && !isStopWord(word));
}

function matching(lines: readonly string[], words: readonly string[]): number {
  const stems = words.map((word) => word.toLowerCase().replace(/s$/, ""));
  const hits = lines.filter((line) => stems.every((one) => line.toLowerCase().includes(one)));
  return words.length === 0 ? lines.length : hits.length;
}

/** A structured value in one line, the parts that were asked about first. */
export function compact(value: unknown, asked: ReadonlySet<string>): string {
  if (!isRecord(value)) {
    if (!Array.isArray(value)) return String(value);
    return clip(value.map((item) => (isRecord(item) ? braced(item) : plain(item))).join(", "));
  }
  const entries = Object.entries(value);
  const only = entries.length === 1 ? entries[0]?.[1] : undefined;
  if (only !== undefined && !isRecord(only)) return compact(only, asked);
  const rank = ([key]: [string, unknown]) => -overlap(asked, key);
  const sorted = entries
    .map((entry, i) => ({ entry, i }))
    .sort((a, b) => rank(a.entry) - rank(b.entry) || a.i - b.i);
  return clip(sorted.map(({ entry: [key, own] }) => `${key}: ${plain(own)}`).join(", "));
}

function braced(item: Record<string, unknown>): string {
  return `{${Object.entries(item)
    .map(([key, own]) => `${key}: ${plain(own)}`)
    .join(", ")}}`;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** The sentences or lines of a text that share most words with the request, in their own order; a short text whole. */
export function extract(request: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= 400) return trimmed;
  const best = relevant(request, trimmed, mostLines);
  return clip(best.length > 0 ? best.join("\n") : trimmed);
}

/** At most `limit` sentences or lines that share a word with the request; none when nothing does. */
export function relevant(request: string, text: string, limit: number): string[] {
  const asked = stemsOf(request);
  const scored = partsOf(text)
    .map((part, i) => ({ part, i, score: overlap(asked, part) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.i - b.i);
  const top = scored[0]?.score ?? 0;
  return scored
    .filter(({ score }) => score * 2 >= top)
    .slice(0, limit)
    .sort((a, b) => a.i - b.i)
    .map(({ part }) => part);
}

export function partsOf(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?])\s+(?=["'\p{Lu}\d])/u)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

export function clip(text: string): string {
  return text.length > longestAnswer ? `${text.slice(0, longestAnswer)}…` : text;
}

/** The last number among the results; null when there is none. */
export function lastNumber(outcomes: readonly Outcome[]): number | null {
  for (const one of [...outcomes].reverse()) {
    const number = one.failed ? null : numberOf(one);
    if (number !== null) return Number(number);
  }
  return null;
}

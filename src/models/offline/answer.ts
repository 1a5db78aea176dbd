import { isRecord } from "../../values/json.ts";
import { isStopWord, overlap, stemsOf, wordsOf } from "../words.ts";
import { capitalsIn, pathsIn, quotedIn } from "./facts.ts";
import { taskOf } from "./history.ts";
import { numberOf, type Outcome } from "./notation.ts";
import { isOfSeveral } from "./subtasks.ts";

const longestAnswer = 800;
const mostLines = 5;

/** Returns the results on a request: one line for each, failures included. Empty without results. */
export function answerFrom(request: string, outcomes: readonly Outcome[]): string {
  const lines = outcomes.map((one) => tell(request, one));
  if (lines.length === 1) return lines[0] ?? "";
  return lines
    .map((line, i) => `${labelOf(outcomes[i], outcomes)}: ${line}`)
    .filter((line, i, all) => all.indexOf(line) === i)
    .join("\n");
}

/** What gave a result; of a tool that was called for several files the file as well. */
function labelOf(one: Outcome | undefined, all: readonly Outcome[]): string {
  if (one === undefined) return "tool";
  const { task } = one.args;
  if (typeof task === "string") return task;
  const files = all.filter(({ name }) => name === one.name).map(fileOf);
  const file = fileOf(one);
  return file !== null && new Set(files).size > 1 ? `${one.name} ${file}` : one.name;
}

function fileOf({ args }: Outcome): string | null {
  const { path } = args;
  return typeof path === "string" && pathsIn(path).length > 0 ? path : null;
}

function tell(request: string, one: Outcome): string {
  if (one.failed) return `${one.name} did not succeed: ${clip(one.text)}`;
  const count = countIn(request, one);
  if (count !== null) return String(count);
  if (one.value === undefined) return extract(request, one.text);
  const text = longTextIn(one.value);
  return text === null ? compact(one.value, stemsOf(request)) : extract(request, text);
}

const countQuestion = /\b(?:how many|number of|count(?:s|ing)?(?: the| all)?(?: of)?)\s+(.+)/i;

/** The answer to "how many": lines or items that have the words asked for; a figure that a result gives itself comes first. */
export function countIn(request: string, one: Outcome): number | null {
  const counted = countQuestion.exec(request)?.[1];
  if (counted === undefined) return null;
  if (typeof one.value === "number") return one.value;
  const wanted = wantedWords(counted);
  const text = one.value === undefined ? one.text : longTextIn(one.value);
  if (text !== null) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    const countsWords = /\bwords?\b/i.test(counted) && wanted.length === 0;
    return countsWords ? wordsOf(text).length : matching(lines, wanted);
  }
  const figure = figureIn(one.value);
  const items = Array.isArray(one.value)
    ? (one.value as unknown[])
    : isRecord(one.value)
      ? Object.values(one.value).find(Array.isArray)
      : undefined;
  if (items === undefined) return figure;
  const hits = matching(
    items.map((own) => JSON.stringify(own)),
    wanted,
  );
  // A list may be cut short; its own figure then counts the rest as well.
  return hits === items.length ? (figure ?? hits) : hits;
}

function figureIn(value: unknown): number | null {
  if (!isRecord(value)) return null;
  const own = Object.entries(value).find(
    ([key, number]) => /count|total|number|matches/i.test(key) && typeof number === "number",
  );
  return (own?.[1] as number | undefined) ?? null;
}

/** Marked words, else words that are no name for a unit; a unit alone counts everything. */
function wantedWords(counted: string): string[] {
  const marked = [...quotedIn(counted), ...capitalsIn(counted)];
  if (marked.length > 0) return marked;
  const bare = pathsIn(counted).reduce((left, path) => left.replaceAll(path, " "), counted);
  const head = bare.split(/\b(?:are|is|in|does|do|did|has|have|of|there|occur|appear)\b/i)[0] ?? "";
  const kinds = head.split(/\W+/).flatMap((word) => endings.get(word.toLowerCase()) ?? []);
  if (kinds.length > 0) return kinds;
  const units =
    /^(lines?|entr(y|ies)|items?|rows?|files?|matches|results?|words?|times|documents?|folders?|mentions?|contains?|includes?|match|say|says)$/i;
  return head.split(/\W+/).filter((word) => word !== "" && !units.test(word) && !isStopWord(word));
}

const endings = new Map([
  ["typescript", [".ts"]],
  ["javascript", [".js"]],
  ["markdown", [".md"]],
  ["python", [".py"]],
  ["json", [".json"]],
  ["yaml", [".y"]],
]);

function matching(lines: readonly string[], words: readonly string[]): number {
  const stems = words.map((word) => word.toLowerCase().replace(/s$/, ""));
  const hits = lines.filter((line) => stems.every((one) => line.toLowerCase().includes(one)));
  return words.length === 0 ? lines.length : hits.length;
}

/** The text that a result wraps, as the content of a file. */
function longTextIn(value: unknown): string | null {
  if (!isRecord(value)) return null;
  const texts = Object.values(value).filter((own) => typeof own === "string");
  return texts.find((text) => text.length > 200 || text.includes("\n")) ?? null;
}

/** A result in short, whatever is asked. */
function shortResult({ text, value }: Outcome): string {
  return value === undefined ? clip(text.trim()) : compact(value, new Set());
}

/** A structured value in short: the parts that were asked about first; of a list with its bookkeeping, the list. */
function compact(value: unknown, asked: ReadonlySet<string>): string {
  if (Array.isArray(value))
    return clip(value.length === 0 ? "nothing" : value.map(item).join("\n"));
  if (!isRecord(value)) return String(value);
  const entries = Object.entries(value);
  const only = entries.length === 1 ? entries[0]?.[1] : undefined;
  if (only !== undefined && !isRecord(only)) return compact(only, asked);
  const lists = entries.filter(([, own]) => Array.isArray(own));
  const isListing = entries.some(([key]) => /^(total|count|truncated|next)/i.test(key));
  if (lists.length === 1 && isListing) return compact(lists[0]?.[1], asked);
  const rank = ([key]: [string, unknown]) => -overlap(asked, key);
  const sorted = entries
    .map((entry, i) => ({ entry, i }))
    .toSorted((a, b) => rank(a.entry) - rank(b.entry) || a.i - b.i);
  return clip(sorted.map(({ entry: [key, own] }) => `${key}: ${plain(own)}`).join(", "));
}

/** An item of a list: a place with its text, else its name, else all of it. */
function item(value: unknown): string {
  if (!isRecord(value)) return plain(value);
  const { line, text, name, title } = value;
  const path = value["path"] ?? value["file"];
  if (typeof text === "string" && typeof path === "string") {
    return `${path}:${plain(line ?? "")}: ${text.trim()}`;
  }
  const called = path ?? name ?? title;
  if (typeof called === "string") return called;
  const parts = Object.entries(value).map(([key, own]) => `${key}: ${plain(own)}`);
  return parts.join(", ");
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** The sentences or lines of a text that share most words with the request, in their own order; a short text whole. */
function extract(request: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= 400) return trimmed;
  const best = relevant(request, trimmed, mostLines);
  return clip(best.length > 0 ? best.join("\n") : trimmed);
}

/** At most `limit` sentences or lines that share a word with the request; none when nothing does. */
export function relevant(request: string, text: string, limit: number): string[] {
  const bare = pathsIn(request).reduce((left, path) => left.replaceAll(path, " "), request);
  const asked = stemsOf(bare);
  const scored = partsOf(text)
    .map((part, i) => ({ part, i, score: overlap(asked, part) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.i - b.i);
  const top = scored[0]?.score ?? 0;
  return scored
    .filter(({ score }) => score * 2 >= top)
    .slice(0, limit)
    .toSorted((a, b) => a.i - b.i)
    .map(({ part }) => part);
}

export function partsOf(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?])\s+(?=["'\p{Lu}\d])/u)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function clip(text: string): string {
  return text.length > longestAnswer ? `${text.slice(0, longestAnswer)}…` : text;
}

/** The last number among the results; null when there is none. */
export function lastNumber(outcomes: readonly Outcome[]): number | null {
  for (const one of outcomes.toReversed()) {
    const number = one.failed ? null : numberOf(one);
    if (number !== null) return Number(number);
  }
  return null;
}

/**
 * The results of subtasks in their order, each with what it is the result of. Where the last of them has joined those
 * before it, what it says comes first, and only what it does not say follows.
 *
 * @param missing what there is no result of
 */
export function joinResults(outcomes: readonly Outcome[], missing: readonly string[] = []): string {
  const gone = missing.map((task) => `Missing: ${task}`);
  const last = outcomes.at(-1);
  if (last === undefined || last.failed || !isOfSeveral(taskOf(last) ?? "")) {
    return [...outcomes.map(outcomeLine), ...gone].join("\n");
  }
  const joined = outcomeText(last);
  const rest = outcomes.slice(0, -1).filter((one) => !joined.includes(outcomeText(one)));
  return [joined, ...rest.map(outcomeLine), ...gone].join("\n");
}

/** Results of subtasks in the order in which a task names them, whichever was there first; after them what it does not name. */
export function inOrderOf(task: string, outcomes: readonly Outcome[]): readonly Outcome[] {
  const placeOf = (one: Outcome) => {
    const at = task.indexOf(taskOf(one) ?? one.name);
    return at < 0 ? task.length : at;
  };
  return outcomes.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function outcomeLine(one: Outcome): string {
  const label = (taskOf(one) ?? one.name).trim().replace(/[\s.:!?]+$/, "");
  if (one.failed) return `${label}: not done (${outcomeText(one)})`;
  const text = outcomeText(one);
  return `${label}:${text.includes("\n") ? "\n" : " "}${text}`;
}

/** A result as text. */
export function outcomeText(one: Outcome): string {
  if (!one.failed) return shortResult(one);
  return shortResult({ ...one, text: one.text.replace(/^(?:failure|error|timeout): (?=.)/, "") });
}

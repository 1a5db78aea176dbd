import { irregularForms } from "./irregular-forms.ts";
import porterStem from "wink-porter2-stemmer";

/** Words that say nothing about the subject of a text. */
const stopWords = new Set(
  (
    "a an the this that these those it its is are was were be been being am do does did done doing has have had having " +
    "will would can could should shall might must i you he she we they me my your our their us him her his them mine " +
    "yours hers ours theirs of in on at to for from by with without about into over under as and or but if so than then " +
    "there here what which who whom whose when where why how s t re ve ll d m not no yes"
  ).split(" "),
);

/** Characters of a word that count: longer ones are data, such as a Base64 text. */
const maxWord = 64;
/** Different words whose terms are kept. */
const maxCached = 50_000;

const cached = new Map<string, string>();
/** Characters that are cut into words at once: the time that takes grows faster than their number. */
const maxRun = 1_000;
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
/** Scripts that put no spaces between words. */
const unspaced = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u;

/** A word of a text and the term it is indexed as. */
export interface TextWord {
  /** As it stands in the text, without accents, in lower case. */
  readonly word: string;
  /** Null for a stop word. */
  readonly term: string | null;
}

/** Returns the words of a text in order. Time and memory are linear in its length. */
export function analyseText(text: string): TextWord[] {
  const isAscii = !/[^\0-\x7f]/.test(text);
  const lower = text.toLowerCase();
  const bare = isAscii ? lower : lower.normalize("NFKD").replaceAll(/\p{Mn}+/gu, "");
  const plain = bare.replaceAll(/['’]s\b/g, "");
  const found: TextWord[] = [];
  if (isAscii) return (plain.match(/[a-z0-9]+/g) ?? []).map(toTextWord);
  for (const run of plain.match(/[\p{L}\p{N}]+/gu) ?? []) {
    if (!unspaced.test(run)) found.push(toTextWord(run));
    else for (const segment of segmentsOf(run)) found.push(toTextWord(segment));
  }
  return found;
}

/** @param word in lower case */
export function isTextStopWord(word: string): boolean {
  return stopWords.has(word);
}

/** Returns the terms of a text in order, as often as they occur. */
export function termsOf(text: string): string[] {
  return analyseText(text).flatMap(({ term }) => (term === null ? [] : [term]));
}

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const months =
  "january february march april may june july august september october november december".split(
    " ",
  );

/** Returns the terms of a date: weekday, day, month and year, in UTC. */
export function dateTerms(time: number): string[] {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return [];
  const words = [
    days[date.getUTCDay()] ?? "",
    String(date.getUTCDate()),
    months[date.getUTCMonth()] ?? "",
    String(date.getUTCFullYear()),
  ];
  return words.map((word) => termOfWord(word));
}

function* segmentsOf(run: string): Generator<string> {
  for (let from = 0; from < run.length; from += maxRun) {
    const part = run.slice(from, from + maxRun);
    for (const { segment } of segmenter.segment(part)) yield segment;
  }
}

function toTextWord(run: string): TextWord {
  const word = run.slice(0, maxWord);
  return { word, term: stopWords.has(word) ? null : termOfWord(word) };
}

/** The stem of the base form: `went` and `going` are both `go`. */
function termOfWord(word: string): string {
  const known = cached.get(word);
  if (known !== undefined) return known;
  const base = irregularForms.get(word) ?? word;
  const term = /^[a-z]+$/.test(base) ? porterStem(base) : base;
  if (cached.size >= maxCached) cached.clear();
  cached.set(word, term);
  return term;
}

import { memoryLimits } from "../entry.ts";
import { isTextStopWord } from "./analysis.ts";

/** Characters of a text that are read. */
const maxText = memoryLimits.content;

const months =
  "january february march april may june july august september october november december".split(
    " ",
  );
const monthNames = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}";

/** Dates: ISO 8601, `8 May 2023`, `May 8th, 2023`, `May 2023`. Each repetition is bounded, so that time is linear. */
const datePattern = new RegExp(
  [
    String.raw`\b(?<iso>\d{4}-\d{2}(?:-\d{2})?)\b(?!-)`,
    String.raw`\b(?<day>\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?(?<month>${monthNames})\.?,?\s(?<year>\d{4})\b`,
    String.raw`\b(?<month2>${monthNames})\.?\s(?:(?<day2>\d{1,2})(?:st|nd|rd|th)?,?\s)?(?<year2>\d{4})\b`,
  ].join("|"),
  "giu",
);

/** Ids: `u-1`, `ORD-2291`, `#4411`, `INC0012345`, UUIDs, e-mail addresses: letters or a sign with digits. */
const idPattern =
  /[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,5}|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|#\d{1,20}\b|\b[A-Z]{1,12}[-_]?\d[\dA-Z]{0,30}(?:[-_][\dA-Z]{1,20}){0,4}\b|\b[a-z]{1,12}[-_]\d{1,20}\b/gu;

/** Words with an upper-case letter, joined by small words of names: `Bank of England`, `Ludwig van Beethoven`. */
const nameWord = String.raw`\p{Lu}[\p{L}\p{M}\p{N}]{0,40}(?:[.'’&-][\p{L}\p{N}]{1,40}){0,4}`;
const smallWords = "(?:(?:of|the|and|van|von|der|den|de|da|di|del|la|le|du|bin|al) ){0,2}";
const namePattern = new RegExp(`${nameWord}(?: ${smallWords}${nameWord}){0,5}`, "gu");

/** Words that begin a sentence or stand in upper case, and name nothing. */
const noNames = new Set(
  (
    "hi hey hello thanks thank thx bye ok okay wow yeah yep yes no nope oh ah haha lol sure great good nice cool awesome amazing " +
    "congrats congratulations sorry please let lets maybe also well still today tomorrow yesterday tonight now then there " +
    "here monday tuesday wednesday thursday friday saturday sunday january february march april june july august september " +
    "october november december absolutely definitely actually really just glad sounds looks take keep got get going been " +
    "i'm i've i'll i'd it's that's what's let's don't can't mr mrs ms dr am pm user agent assistant"
  ).split(" "),
);

/** What follows a name that is the subject of its sentence: a verb of the third person, or one of the past. */
const subjectOf =
  /^(?:['’]s\b|,? (?:is|was|has|had|and|will|can|[a-z]{2,16}(?:[^s\W]s|ed)|went|said|told|got|made)\b)/u;

interface Found {
  readonly at: number;
  readonly end: number;
  readonly entity: string;
}

/**
 * Returns the names, organisations, places, dates and ids that a text mentions, in order, once each; at most 100. Dates
 * are ISO 8601: `2023-05-08`, `2023-05`. A single word at the beginning of a sentence counts only where the text has it
 * elsewhere, or a verb follows it.
 */
export function findEntities(text: string): readonly string[] {
  const read = text.slice(0, maxText);
  const dates = findDates(read);
  const isInDate = ({ at }: Found) => dates.some((date) => at >= date.at && at < date.end);
  const others = [...findIds(read), ...findNames(read)].filter((one) => !isInDate(one));
  const found = [...dates, ...others]
    .filter(({ entity }) => entity.length <= memoryLimits.name)
    .toSorted((a, b) => a.at - b.at);
  return [...new Set(found.map(({ entity }) => entity))].slice(0, memoryLimits.entities);
}

function findDates(text: string): Found[] {
  return [...text.matchAll(datePattern)].flatMap(({ 0: match, index: at, groups = {} }) => {
    const { iso, day, month, year, month2, day2, year2 } = groups;
    const entity = iso ?? toIso(year ?? year2, month ?? month2, day ?? day2);
    return entity !== undefined && isDate(entity) ? [{ at, end: at + match.length, entity }] : [];
  });
}

function toIso(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
): string | undefined {
  const written = month?.toLowerCase() ?? "";
  const number = months.findIndex(
    (name) => name === written || name.slice(0, 3) === written || written === name.slice(0, 4),
  );
  if (number === -1 || year === undefined) return undefined;
  const parts = [year, String(number + 1).padStart(2, "0")];
  return [...parts, ...(day === undefined ? [] : [day.padStart(2, "0")])].join("-");
}

function isDate(iso: string): boolean {
  const time = new Date(iso.length === 7 ? `${iso}-01` : iso);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(iso);
}

function findIds(text: string): Found[] {
  return [...text.matchAll(idPattern)].flatMap(({ 0: entity, index: at }) =>
    /\d|@/.test(entity) && !isDate(entity) ? [{ at, end: at + entity.length, entity }] : [],
  );
}

function findNames(text: string): Found[] {
  const found: Found[] = [];
  const inner = new Set<string>();
  const starts: Found[] = [];
  for (const { 0: match, index: at } of text.matchAll(namePattern)) {
    if (/[\p{L}\p{N}_]/u.test(text[at - 1] ?? "")) continue;
    const before = text.slice(Math.max(0, at - 6), at);
    const isTitled = /\b(?:Mr|Mrs|Ms|Dr|Prof)\. $/u.test(before);
    const isStart = at === 0 || (!isTitled && /[.!?。！？\n"“(]\s{0,3}$/u.test(before));
    const words = match.replace(/['’]s$/u, "").split(" ");
    // `Hey Caroline` is a greeting and a name; words without a meaning of their own begin no name.
    let skipped = 0;
    while (skipped < words.length && isNoName(words[skipped] ?? "")) skipped += 1;
    while (words.length > skipped && isNoName(words.at(-1) ?? "")) words.pop();
    const name = words.slice(skipped).join(" ");
    if (name.length < 2 || /^\p{Lu}?\d/u.test(name)) continue;
    const from = at + match.indexOf(name);
    const one = { at: from, end: from + name.length, entity: name };
    if (isStart && skipped === 0 && words.length === 1) starts.push(one);
    else {
      inner.add(name);
      found.push(one);
    }
  }
  const isName = ({ entity, end }: Found) =>
    inner.has(entity) ||
    /\p{Lu}.*\p{Lu}/u.test(entity) ||
    (!/(?:ing|ed|ly|ion|ment|ness|s)$/.test(entity) && subjectOf.test(text.slice(end, end + 24)));
  return [...found, ...starts.filter(isName)];
}

function isNoName(word: string): boolean {
  const plain = word.toLowerCase().replaceAll("’", "'");
  return plain.length < 2 || /\d/.test(plain) || noNames.has(plain) || isTextStopWord(plain);
}

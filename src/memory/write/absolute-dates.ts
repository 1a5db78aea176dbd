/** A calendar day, as days since 1970-01-01. */
type Day = number;

const dayMs = 86_400_000;

/** Annotations of one text at most. */
const mostDates = 50;

const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const months = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const seasons = ["winter", "spring", "summer", "autumn", "fall"];
const numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const vague = ["a few", "several"];

const weekday = weekdays.join("|");
const month = months.join("|");
const count = String.raw`\d{1,3}|an?|a couple of|a few|several|${numbers.join("|")}`;
const ordinal = String.raw`(?:st|nd|rd|th)?`;
const daytime = "(?: (?:morning|afternoon|evening|night))?";

/** Ids, versions, paths, addresses and prices have these before or after a word. */
const before = String.raw`(?<![\p{L}\p{N}_\-/.,@#$:=\\])`;
const after = String.raw`(?![\p{L}\p{N}_\-/@=\\]|\.[\p{L}\p{N}])`;

/** The phrases, longer ones first. Every quantifier is bounded, so a text takes time in proportion to its length. */
const phrases = [
  `the day before (?<twoBefore>yesterday)|the day after (?<twoAfter>tomorrow)`,
  `the (?<outer>week|weekend|month|year) (?<beyond>before last|after next)`,
  `(?<night>last night)|(?<day>yesterday|tomorrow)${daytime}|(?<now>today|tonight|this (?:morning|afternoon|evening))`,
  `(?<which>last|this|next|this coming|coming) (?:(?<unit>weekend|week|month|year)|(?<weekday>${weekday})${daytime}|(?<month>${month})|(?<season>${seasons.join("|")}))(?! of )`,
  `(?<ago>${count}) (?<agoUnit>minute|hour|day|week|month|year)s? ago`,
  `in (?<in>${count}) (?<inUnit>day|week|month|year)s?(?! of )|(?<from>${count}) (?<fromUnit>day|week|month|year)s? from now`,
  `(?<weekdayTense>on|since|by|until|till) (?<bareWeekday>${weekday})${daytime}(?! (?:before|after|mornings|afternoons|evenings|nights))`,
  String.raw`(?:(?<monthDay>${month}) (?<dayAfter>\d{1,2})${ordinal}|(?<dayBefore>\d{1,2})${ordinal} (?:of )?(?<dayMonth>${month}))(?!,? \d{4})`,
  String.raw`(?<monthTense>in|since) (?<bareMonth>${month})(?!,? \d)(?! of )`,
];
const relative = new RegExp(`${before}(?:${phrases.join("|")})(?:['’]s)?${after}`, "giu");

/** Code, quotations and quoted lines: their words are those of others, or no words. */
const quoted =
  /```[^]*?(?:```|(?![^]))|`[^`\n]*`|"[^"\n]{0,300}"|“[^”\n]{0,300}”|^[ \t]{0,3}>[^\n]*/gm;

const sentence = /[^.!?\n]*(?:[.!?\n]|$)/g;

const past =
  /\b(?:was|were|had|did|went|got|came|saw|met|made|took|gave|bought|said|told|left|began|became|brought|built|caught|chose|drove|ate|fell|felt|found|flew|forgot|grew|heard|held|kept|knew|lost|paid|ran|sang|sat|sent|slept|sold|spent|spoke|stood|swam|taught|thought|wore|won|wrote|woke|broke|drew|rode|ago|yesterday|[a-z]+[^e\W]ed)\b/i;
const future =
  /\b(?:will|shall|going to|gonna|plan(?:s|ning|ned)? (?:to|for)|scheduled|due|supposed|expected|want(?:s)? to|need(?:s)?|must|ha(?:ve|s) to|should|can|could|might|let['’]?s|tomorrow|remind|please)\b|['’]ll\b/i;

/**
 * The text with relative dates made absolute: "yesterday" becomes "yesterday (2026-11-22)", "next month" becomes
 * "next month (2026-12)", "last week" becomes "last week (week of 2026-11-16)". English only. Weeks begin on Monday. A
 * weekday or month without "last" or "next" is resolved by the tense of its sentence, or left alone. Code, quotations,
 * ids, versions and dates that are absolute already stay as they are, so that a second run changes nothing.
 *
 * @param said when the text was said
 * @param timeZone IANA name of the zone whose calendar counts. Default: UTC.
 */
export function absoluteDates(text: string, said: Date, timeZone = "UTC"): string {
  const today = localDay(said, timeZone);
  const skipped = spansOf(quoted, text);
  const sentences = spansOf(sentence, text);
  const tenses = new Map<number, Tense>();
  let found = 0;
  let [skip, at] = [0, 0];
  return text.replace(relative, (phrase: string, ...rest: unknown[]) => {
    const groups = rest.at(-1) as Groups;
    const start = rest.at(-3) as number;
    const end = start + phrase.length;
    while ((skipped[skip]?.[1] ?? Infinity) <= start) skip += 1;
    if ((skipped[skip]?.[0] ?? Infinity) < end) return phrase;
    while ((sentences[at]?.[1] ?? Infinity) <= start) at += 1;
    const [from, to] = sentences[at] ?? [0, text.length];
    if (found >= mostDates || isName(phrase, text.slice(from, start).slice(0, 40))) return phrase;
    const tense = () => {
      const known = tenses.has(at) ? (tenses.get(at) ?? null) : tenseOf(text.slice(from, to));
      tenses.set(at, known);
      return known;
    };
    const date = resolve(groups, today, tense);
    if (date === null) return phrase;
    found += 1;
    return / \((?:\d{4}|week of |about )/y.test(text.slice(end, end + 10))
      ? phrase
      : `${phrase} (${date})`;
  });
}

type Groups = Readonly<Record<string, string | undefined>>;
type Tense = "past" | "future" | null;

function spansOf(pattern: RegExp, text: string): readonly (readonly [number, number])[] {
  return [...text.matchAll(pattern)].map(({ 0: match, index }) => [index, index + match.length]);
}

/** Whether a phrase is capitalised within a sentence, as in "USA Today", or means no month: "may", "march". */
function isName(phrase: string, sentenceBefore: string): boolean {
  if (/\b(?:may|march)\b/.test(phrase)) return true;
  return (
    /^\p{Lu}/u.test(phrase) && !startsWithMonth.test(phrase) && /[\p{L}\p{N}]/u.test(sentenceBefore)
  );
}

const startsWithMonth = new RegExp(`^(?:${month})`, "i");

function tenseOf(text: string): Tense {
  const [isPast, isFuture] = [past.test(text), future.test(text)];
  if (isPast === isFuture) return null;
  return isPast ? "past" : "future";
}

/** Returns the date of a phrase; null where it has none. */
function resolve(of: Groups, today: Day, tense: () => Tense): string | null {
  if (of["twoBefore"]) return isoDay(today - 2);
  if (of["twoAfter"]) return isoDay(today + 2);
  if (of["night"]) return isoDay(today - 1);
  if (of["now"]) return isoDay(today);
  if (of["day"]) return isoDay(today + (of["day"].toLowerCase() === "yesterday" ? -1 : 1));
  if (of["outer"]) {
    return period(of["outer"].toLowerCase(), today, /^before/i.test(of["beyond"] ?? "") ? -2 : 2);
  }
  if (of["which"]) return named(of, today);
  if (of["ago"]) return distance(of["ago"], of["agoUnit"], today, -1);
  if (of["from"]) return distance(of["from"], of["fromUnit"], today, 1);
  if (of["in"]) return tense() === "past" ? null : distance(of["in"], of["inUnit"], today, 1);
  const to = tenseAfter(of["weekdayTense"] ?? of["monthTense"] ?? "on", tense);
  if (to === null) return null;
  if (of["bareWeekday"]) return isoDay(closestWeekday(of["bareWeekday"], today, to));
  if (of["bareMonth"]) return isoMonth(closestMonth(of["bareMonth"], today, to));
  return monthAndDay(of, today, to);
}

/** "since" is past and "by" is future, whatever the sentence says. */
function tenseAfter(word: string, tense: () => Tense): Tense {
  if (/^since$/i.test(word)) return "past";
  return /^(?:by|until|till)$/i.test(word) ? "future" : tense();
}

/** Returns the date of "last week", "this Friday", "next March", "last summer". */
function named(of: Groups, today: Day): string | null {
  const which = of["which"]?.toLowerCase() ?? "";
  const step = which === "last" ? -1 : which === "this" ? 0 : 1;
  if (of["unit"])
    return which.endsWith("coming") ? null : period(of["unit"].toLowerCase(), today, step);
  const to: Tense = step < 0 ? "past" : "future";
  if (of["weekday"]) {
    const name = of["weekday"];
    if (step < 0 || which.endsWith("coming")) return isoDay(closestWeekday(name, today, to));
    return isoDay(mondayOf(today) + 7 * step + weekdays.indexOf(name.toLowerCase()));
  }
  if (of["month"]) {
    if (step !== 0) return isoMonth(closestMonth(of["month"], today, to));
    return isoMonth(
      monthOf(today) - (monthOf(today) % 12) + months.indexOf(of["month"].toLowerCase()),
    );
  }
  return season(of["season"]?.toLowerCase() ?? "", today, step);
}

/** Returns the week, weekend, month or year that is `step` away from that of `today`. */
function period(unit: string, today: Day, step: number): string {
  const monday = mondayOf(today) + 7 * step;
  if (unit === "week") return `week of ${isoDay(monday)}`;
  if (unit === "weekend") return `${isoDay(monday + 5)} to ${isoDay(monday + 6)}`;
  return unit === "month"
    ? isoMonth(monthOf(today) + step)
    : isoMonth(monthOf(today) + 12 * step).slice(0, -3);
}

/** Returns the year of a season of the northern hemisphere; a winter is that of its December. */
function season(name: string, today: Day, step: number): string {
  const nth = Math.min(seasons.indexOf(name), 3);
  // Counted in quarters that begin in December.
  const now = Math.floor((monthOf(today) + 1) / 3);
  const current = now % 4;
  const away =
    step === 0
      ? nth - current
      : step < 0
        ? -((current - nth + 3) % 4) - 1
        : ((nth - current + 3) % 4) + 1;
  const first = (now + away) * 3 - 1;
  const year = isoMonth(first).slice(0, -3);
  return nth === 0 ? `${year} to ${isoMonth(first + 1).slice(0, -3)}` : year;
}

/** Returns the date that is an amount of units before or after today. */
function distance(amount: string, unit = "", today: Day, sign: 1 | -1): string {
  const word = amount.toLowerCase();
  const isVague = vague.includes(word);
  const n = sign * (isVague ? 3 : amountOf(word));
  switch (unit.toLowerCase()) {
    case "week":
      return `week of ${isoDay(mondayOf(today) + 7 * n)}`;
    case "day":
      return isVague ? `about ${isoDay(today + n)}` : isoDay(today + n);
    case "month":
      return isVague ? `about ${isoMonth(monthOf(today) + n)}` : isoMonth(monthOf(today) + n);
    case "year": {
      const year = isoMonth(monthOf(today) + 12 * n).slice(0, -3);
      return isVague ? `about ${year}` : year;
    }
    default:
      return isoDay(today);
  }
}

function amountOf(word: string): number {
  if (/^\d/.test(word)) return Number(word);
  return word === "a couple of" ? 2 : numbers.indexOf(word) + 1 || 1;
}

/** Returns the closest day of that name before or after today, which is neither. */
function closestWeekday(name: string, today: Day, to: "past" | "future"): Day {
  const away = (weekdays.indexOf(name.toLowerCase()) - (today - mondayOf(today)) + 7) % 7 || 7;
  return to === "future" ? today + away : today + (away === 7 ? -7 : away - 7);
}

/** Returns the closest month of that name before or after the current one, which is neither. */
function closestMonth(name: string, today: Day, to: "past" | "future"): number {
  const away = (months.indexOf(name.toLowerCase()) - (monthOf(today) % 12) + 12) % 12 || 12;
  return monthOf(today) + (to === "future" ? away : away === 12 ? -12 : away - 12);
}

/** Returns the closest day of that name; today is one. Null if there is no such day. */
function monthAndDay(of: Groups, today: Day, to: "past" | "future"): string | null {
  const nth = months.indexOf((of["monthDay"] ?? of["dayMonth"] ?? "").toLowerCase());
  const day = Number(of["dayAfter"] ?? of["dayBefore"]);
  const year = Math.floor(monthOf(today) / 12);
  const dates = [-1, 0, 1].map((away) => dayOf(1970 + year + away, nth, day));
  const found =
    to === "past"
      ? dates.findLast((one) => one !== null && one <= today)
      : dates.find((one) => one !== null && one >= today);
  return found === undefined || found === null ? null : isoDay(found);
}

const absolute = new RegExp(
  `${before}(?:` +
    [
      String.raw`(?<y>\d{4})-(?<m>\d{2})(?:-(?<d>\d{2}))?`,
      String.raw`(?<d1>\d{1,2})${ordinal} (?:of )?(?<m1>${month}),? (?<y1>\d{4})`,
      String.raw`(?<m2>${month}) (?:(?<d2>\d{1,2})${ordinal},? )?(?<y2>\d{4})`,
    ].join("|") +
    `)${after}`,
  "giu",
);

/** The absolute dates that a text mentions, as ISO 8601 days and months, in order, once each; at most 100. */
export function findDates(text: string): readonly string[] {
  const found = new Set<string>();
  for (const { groups = {} } of text.matchAll(absolute)) {
    const of: Groups = groups;
    const year = Number(of["y"] ?? of["y1"] ?? of["y2"]);
    const name = of["m1"] ?? of["m2"];
    const nth = name === undefined ? Number(of["m"]) - 1 : months.indexOf(name.toLowerCase());
    const day = of["d"] ?? of["d1"] ?? of["d2"];
    const date = dayOf(year, nth, Number(day ?? 1));
    if (date === null) continue;
    found.add(isoDay(date).slice(0, day === undefined ? 7 : 10));
    if (found.size >= 100) break;
  }
  return [...found];
}

function localDay(said: Date, timeZone: string): Day {
  if (timeZone === "UTC") return Math.floor(said.getTime() / dayMs);
  const parts = new Intl.DateTimeFormat("en", {
    timeZone,
    year: "numeric",
    month: "numeric",
    day: "numeric",
  }).formatToParts(said);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
  return Date.UTC(part("year"), part("month") - 1, part("day")) / dayMs;
}

/** Returns null if the calendar has no such day. */
function dayOf(year: number, nth: number, day: number): Day | null {
  const date = new Date(Date.UTC(year, nth, day));
  const isReal = nth >= 0 && nth < 12 && year >= 1000 && date.getUTCDate() === day;
  return isReal ? date.getTime() / dayMs : null;
}

function mondayOf(day: Day): Day {
  return day - ((((day + 3) % 7) + 7) % 7);
}

/** Returns the months since 1970-01. */
function monthOf(day: Day): number {
  const date = new Date(day * dayMs);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

function isoDay(day: Day): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

function isoMonth(nth: number): string {
  return new Date(Date.UTC(1970, nth, 1)).toISOString().slice(0, 7);
}

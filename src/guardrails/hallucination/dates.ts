/** A date or a time of day in a text. */
export interface FoundDate {
  readonly start: number;
  readonly end: number;
  /** What it can mean: `2024-05-15`, `05-15` or `05-2024` without a year or day, `14:30` for a time. */
  readonly values: readonly string[];
}

const months =
  "jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?|dez(?:ember)?";
const iso = /(?<!\d)(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)/gu;
const numeric = /(?<!\d)(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})(?!\d)/gu;
const dayFirst = new RegExp(
  `(?<![\\p{L}\\p{N}])(\\d{1,2})(?:st|nd|rd|th|\\.)?(?: of)? (${months})\\.?(?:,? (\\d{4}))?(?![\\p{L}\\p{N}])`,
  "giu",
);
const monthFirst = new RegExp(
  `(?<!\\p{L})(${months})\\.? (\\d{1,2})(?:st|nd|rd|th)?(?:,? (\\d{4}))?(?![\\p{L}\\p{N}])`,
  "giu",
);
const monthAndYear = new RegExp(`(?<!\\p{L})(${months})\\.?,? (\\d{4})(?!\\d)`, "giu");
const time =
  /(?<![\d:.])(\d{1,2})(?::(\d{2}))(?::\d{2})?(?!\d)\s?([ap])?\.?(?:m\b)?|(?<![\d:.,])(\d{1,2})\s?([ap])\.?m\b/giu;

/** Dates and times in the usual English and German writings; a numeric one may be day or month first. Linear in the text. */
export function findDates(text: string): FoundDate[] {
  const found: FoundDate[] = [];
  const add = (match: RegExpExecArray, values: readonly (string | null)[]) => {
    const known = values.filter((value) => value !== null);
    if (known.length > 0) {
      found.push({ start: match.index, end: match.index + match[0].length, values: known });
    }
  };
  for (const match of text.matchAll(iso)) add(match, [dateOf(match[1], match[2], match[3])]);
  for (const match of text.matchAll(numeric)) {
    const [, first, second, year] = match;
    add(match, [dateOf(year, first, second), dateOf(year, second, first)]);
  }
  for (const match of text.matchAll(dayFirst)) {
    add(match, [dateOf(match[3], monthOf(match[2]), match[1])]);
  }
  for (const match of text.matchAll(monthFirst)) {
    add(match, [dateOf(match[3], monthOf(match[1]), match[2])]);
  }
  for (const match of text.matchAll(monthAndYear)) {
    add(match, [`${two(monthOf(match[1]))}-${match[2]}`]);
  }
  for (const match of text.matchAll(time)) {
    add(match, [timeOf(match[1] ?? match[4], match[2] ?? "0", match[3] ?? match[5])]);
  }
  return withoutOverlaps(found);
}

/** All that a date in the evidence says: with its year, and without. */
export function formsOfDate(value: string): readonly string[] {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value) ?? [];
  return year === undefined ? [value] : [value, `${month}-${day}`, `${month}-${year}`];
}

function dateOf(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
): string | null {
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > 31) return null;
  const monthAndDay = `${two(month)}-${two(day)}`;
  if (year === undefined) return monthAndDay;
  return `${year.length === 2 ? `20${year}` : year}-${monthAndDay}`;
}

function timeOf(hours: string | undefined, minutes: string, half: string | undefined) {
  let hour = Number(hours);
  if (hour > 24 || Number(minutes) > 59) return null;
  if (half !== undefined) hour = (hour % 12) + (half.toLowerCase() === "p" ? 12 : 0);
  return `${two(String(hour))}:${two(minutes)}`;
}

function monthOf(name: string | undefined): string {
  const start = (name ?? "").toLowerCase().slice(0, 3);
  const alike: Readonly<Record<string, string>> = {
    mär: "mar",
    mai: "may",
    okt: "oct",
    dez: "dec",
  };
  const order = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
  return String(order.indexOf(alike[start] ?? start) + 1);
}

function two(digits: string | undefined): string {
  return (digits ?? "").padStart(2, "0");
}

function withoutOverlaps(found: FoundDate[]): FoundDate[] {
  const sorted = found.toSorted((a, b) => a.start - b.start || b.end - a.end);
  let end = -1;
  return sorted.filter((date) => {
    if (date.start < end) return false;
    end = date.end;
    return true;
  });
}

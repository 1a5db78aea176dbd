/** What of a text can be looked up: these are what models invent. */
export interface Facts {
  readonly numbers: readonly FoundNumber[];
  readonly dates: readonly FoundDate[];
  /** `HAT266`, `user_17`, e-mail addresses and the like, in lower case. */
  readonly identifiers: readonly string[];
  /** What stands in quotation marks. */
  readonly quotes: readonly string[];
  /** Words of names, in lower case. */
  readonly names: readonly string[];
}

const identifier =
  /(?<![\p{L}\p{N}])(?=[\p{N}_@#./:-]{0,80}\p{L})(?=[\p{L}#./:-]{0,80}[\p{N}_@])[\p{L}\p{N}][\p{L}\p{N}_@#./:-]{1,80}(?<![.:/-])/gu;
const ordinal = /^\d+(?:st|nd|rd|th|s|x|k|m|bn|h|min|kg|km|cm|mm|gb|mb|am|pm|eur|usd|er|ten?)$/u;
const quoted = /["“„«]([^"“”„«»\n]{2,200})["”“»]/gu;

/** Days and months are dates; the others begin sentences or stand for nothing that can be looked up. */
const noNames = new Set(
  "i i'm i've i'll ok pdf faq url id am pm usa usd eur api json monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december yes no the a an and or but if in on at to for of with from by as is are was were it this that these those we you they he she my your our their its mr mrs ms dr euro euros dollar dollars pounds also please note here there however total summary based according".split(
    " ",
  ),
);

/** Linear in the text, but for very long words. */
export function factsOf(text: string): Facts {
  const dates = findDates(text);
  let rest = blanked(text, dates);
  const identifiers: string[] = [];
  rest = rest.replace(identifier, (found) => {
    const plain = found.toLowerCase();
    if (ordinal.test(plain)) return found;
    identifiers.push(plain);
    return " ".repeat(found.length);
  });
  const quotes = Array.from(text.matchAll(quoted), (match) => match[1]?.trim() ?? "");
  return { numbers: findNumbers(rest), dates, identifiers, quotes, names: namesIn(rest) };
}

function blanked(text: string, spans: readonly FoundDate[]): string {
  let result = "";
  let at = 0;
  for (const { start, end } of spans) {
    result += text.slice(at, start) + " ".repeat(end - start);
    at = end;
  }
  return result + text.slice(at);
}

/**
 * Capitalised words inside a sentence, and at its beginning where another follows. None in German, whose nouns are all
 * capitalised, nor in headings and labels.
 */
function namesIn(text: string): string[] {
  if (/(?<!\p{L})(?:der|die|das|und|ist|nicht|ein|eine|mit|für|ich|wir|sie)(?!\p{L})/u.test(text)) {
    return [];
  }
  const sentence = text
    .replace(/^\s*[*_]{0,3}[^:.\n]{1,40}:[*_]{0,3}(?=\s)/u, "")
    .replace(/[*_`]/g, " ");
  const words = Array.from(sentence.matchAll(/\p{L}[\p{L}'’-]*/gu));
  const isBig = (at: number) => /^\p{Lu}/u.test(words[at]?.[0] ?? "");
  const big = words.filter((_, at) => isBig(at)).length;
  if (big > 2 && big >= words.length * 0.75 && !/[.!]\s*$/.test(sentence)) return [];
  return words.flatMap(({ 0: word, index }, at) => {
    const before = sentence.slice(0, index).trimEnd();
    const first = before === "" || /[.!?:;"“(\-–—|]$/.test(before);
    if (!isBig(at) || (first && !isBig(at + 1))) return [];
    const plain = word.toLowerCase().replace(/['’]s?$/, "");
    return noNames.has(plain) || plain.length < 2 ? [] : [plain];
  });
}

/** A number in a text, with every value that its writing can mean: `1.234` is 1234 in German. */
export interface FoundNumber {
  readonly start: number;
  readonly end: number;
  readonly values: readonly number[];
  /** Digits after the point in the first of its values. */
  readonly decimals: number;
  readonly percent: boolean;
}

const scales: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  tsd: 1e3,
  tausend: 1e3,
  m: 1e6,
  mio: 1e6,
  million: 1e6,
  millions: 1e6,
  millionen: 1e6,
  bn: 1e9,
  billion: 1e9,
  billions: 1e9,
  mrd: 1e9,
};

const written =
  /(?<![\p{L}\p{N}_])(?:\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?:\s?(%|percent|per cent|prozent))?(?:\s?(k|m|bn|thousand|tausend|tsd|millions?|millionen|mio|billions?|mrd)(?![\p{L}\p{N}]))?(?![\p{N}])/giu;

/** Numbers that stand alone, in English, German and Swiss writing. Those inside identifiers are none. Linear in the text. */
export function findNumbers(text: string): FoundNumber[] {
  return Array.from(text.matchAll(written), (match) => {
    const [whole, percent, scale] = match;
    const digits = /^[\d.,'’\u00a0\u202f ]*\d/.exec(whole)?.[0] ?? whole;
    const factor = scales[(scale ?? "").toLowerCase()] ?? 1;
    const values = readings(digits).map((value) => value * factor);
    return {
      start: match.index,
      end: match.index + whole.length,
      values,
      decimals: factor === 1 ? decimalsOf(values[0] ?? 0) : 0,
      percent: percent !== undefined,
    };
  });
}

function readings(digits: string): number[] {
  const tight = digits.replace(/['’\u00a0\u202f ]/g, "");
  const english = Number(tight.replaceAll(",", ""));
  const german = Number(tight.replaceAll(".", "").replace(",", "."));
  return [...new Set([english, german].filter(Number.isFinite))];
}

export function decimalsOf(value: number): number {
  return /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0;
}

/** To `decimals` digits after the point, as people round. */
export function rounded(value: number, decimals: number): number {
  const factor = 10 ** Math.min(decimals, 10);
  return Math.round((value + Math.sign(value) * 1e-9) * factor) / factor;
}

/** A date or a time of day in a text. */
interface FoundDate {
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

/** Characters of a text that are looked at: its head and its tail. */
const headCharacters = 150_000;
const tailCharacters = 50_000;

/** Lengths of what is taken for an identifier. Addresses of pages may be longer. */
const shortest = 3;
const longest = 120;
const longestUrl = 300;

const token = /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>`]+|[^\s"'<>`(){}[\],;|=*…]+/gi;
const measure =
  /^\d+(?:st|nd|rd|th|s|x|k|m|b|g|kg|km|cm|mm|px|gb|mb|kb|tb|h|hrs?|min|ms|am|pm|d|w|y|usd|eur)$/i;

/**
 * What a next tool call may need from a text, in its order: identifiers, codes, dates, addresses of pages, mail and files.
 * Of a very long text only its head and its tail are looked at.
 */
export function salientWords(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  if (text.length <= headCharacters + tailCharacters) addWords(text, found);
  else {
    addWords(text.slice(0, headCharacters), found);
    addWords(text.slice(-tailCharacters), found);
  }
  return found;
}

function addWords(text: string, found: Set<string>): void {
  for (const { 0: raw, index } of text.matchAll(token)) {
    const word = raw.replace(/^[:!?]+/, "").replace(/[.,:;!?)\]}]{1,9}$/, "");
    if (word.length < shortest || word.length > longestUrl) continue;
    // Keys of JSON that was cut off, and of the like, name what follows them.
    const isKey =
      raw.endsWith(":") ||
      /^["']?\s{0,2}:/.test(text.slice(index + raw.length, index + raw.length + 4));
    if (isKey ? isStrong(word) : isSalientWord(word)) found.add(word);
    else if (!isKey && word.includes(":") && !isTime(word)) {
      for (const part of word.split(":")) if (isSalientWord(part)) found.add(part);
    }
  }
}

/** Of words in prose only those that are seldom just words. */
function isSalientWord(word: string): boolean {
  if (isUrl(word)) return word.length <= longestUrl;
  if (!/^[\p{L}\p{N}_#@/~.+-][\p{L}\p{N}_#@/.:+%-]*$/u.test(word)) return false;
  if (isTimed(word)) return true;
  if (word.includes(":")) return false;
  return (
    isSalientValue(word) &&
    !/^\p{L}+(?:[-/]\p{L}+)+$/u.test(word) &&
    !/^\p{L}+\.\p{L}+$/u.test(word)
  );
}

/** Whether a string, which is a value of its own, may be what a tool call names: not a price, a count, a time of day. */
export function isSalientValue(word: string): boolean {
  if (isUrl(word)) return word.length <= longestUrl && !/\s/.test(word);
  if (word.length < shortest || word.length > longest || /[\s"<>{}]/.test(word)) return false;
  if (isTimed(word)) return true;
  if (isTime(word) || measure.test(word)) return false;
  if (/^[^\p{L}]+$/u.test(word)) return isNumberLike(word);
  if (/\d/.test(word)) return /^[\p{L}\p{N}_#@/~.:+%-]+$/u.test(word);
  return isCode(word) || isName(word);
}

/** A word with enough digits or capitals to be an identifier even where it is a key. */
export function isStrong(word: string): boolean {
  return (
    word.length <= longest &&
    !isTime(word) &&
    /^[\p{L}\p{N}_#@/.:+-]+$/u.test(word) &&
    (/\d\D*\d\D*\d/.test(word) || isCode(word))
  );
}

function isUrl(word: string): boolean {
  return /^[a-z][a-z0-9+.-]{1,20}:\/\/\S/i.test(word);
}

/** A date, perhaps with a time. */
export function isTimed(word: string): boolean {
  return (
    /^\d{4}-\d{2}(?:-\d{2}(?:T[\d:.]{4,15}(?:Z|[+-]\d{2}:?\d{2})?)?)?$/.test(word) ||
    /^\d{1,2}[/.]\d{1,2}[/.]\d{2,4}$/.test(word)
  );
}

export function isTimestamp(word: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T/.test(word);
}

export function isTime(word: string): boolean {
  return /^\d{1,2}:\d{2}/.test(word);
}

/** Five digits and more, as they are or in groups: neither prices nor counts. */
function isNumberLike(word: string): boolean {
  return /^#?\d{5,}$/.test(word) || /^#\d+$/.test(word) || /^\+?\d[\d-]{4,}\d$/.test(word);
}

function isCode(word: string): boolean {
  return /^[A-Z][A-Z0-9]{2,11}$/.test(word);
}

/** `basic_economy`, `on-hold`, `me@example.com`, `docs/guide.md`, `readme.md`, `#general` */
function isName(word: string): boolean {
  return (
    /^[\p{L}_][\p{L}]*(?:[_-][\p{L}]+)+_?$/u.test(word) ||
    /^[\p{L}_.+-]+@[\p{L}.-]+\.\p{L}+$/u.test(word) ||
    /^[~.]{0,2}\/?(?:[\p{L}_.-]+\/)+[\p{L}_.-]*$/u.test(word) ||
    /^[\p{L}_-]+\.[a-z]{2,5}$/u.test(word) ||
    /^[#@][\p{L}_-]+$/u.test(word)
  );
}

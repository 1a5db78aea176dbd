/** Words that say nothing about what is wanted. */
const stopWords = new Set(
  (
    "a an the this that these those it its is are was were be been being am do does did done has have had will would " +
    "can could should shall may might must i you he she we they me my your our their us him her them of in on at to " +
    "for from by with without about into over under as and or but if so than then there here what which who whom whose " +
    "when where why how please tell give me also just not no yes any some all each every after before use using let " +
    "want need like hello hi hey thanks thank ok okay now"
  ).split(" "),
);

/** Different words for one thing: each group is known by its first. */
const synonyms = new Map<string, string>(
  [
    "calculate calc compute evaluate math arithmetic sum multiply divide subtract plus minus percent percentage solve",
    "time clock hour timezone",
    "list ls enumerate",
    "read open cat view display show print content say",
    "search find grep locate lookup mention contain occurrence occur query",
    "count many tally",
    "folder directory dir",
    "file document doc",
    "weather forecast temperature rain",
    "email mail",
    "fetch download retrieve",
    "parse analyse analyze",
    "error failure exception",
    "write save store",
    "delete remove",
    "translate translation",
    "convert conversion",
    "customer client",
    "buy purchase",
    "picture image photo",
  ].flatMap((group) => {
    const members = group.split(" ").map(stem);
    return members.map((member) => [member, members[0] ?? member] as const);
  }),
);

/** Lower-case words and numbers; `camelCase`, `snake_case` and `kebab-case` are parted. */
export function wordsOf(text: string): string[] {
  const parted = text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return parted.match(/[\p{L}\p{M}]+|\p{N}+/gu) ?? [];
}

/** The distinct stems of the words that carry meaning, in the order they come. */
export function stemsOf(text: string): Set<string> {
  const stems = new Set<string>();
  for (const word of wordsOf(text)) {
    if (!stopWords.has(word)) stems.add(canonical(stem(word)));
  }
  return stems;
}

export function isStopWord(word: string): boolean {
  return stopWords.has(word.toLowerCase());
}

/** How many of the stems the text has. */
export function overlap(stems: ReadonlySet<string>, text: string): number {
  let shared = 0;
  for (const one of stemsOf(text)) if (stems.has(one)) shared += 1;
  return shared;
}

function canonical(stemmed: string): string {
  return synonyms.get(stemmed) ?? stemmed;
}

/** Takes English endings off: enough to bring `files`, `listing`, `counted` and `queries` together. */
export function stem(word: string): string {
  if (word.length <= 3 || /\d/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(ss|us|is)$/.test(word)) return word;
  if (/(sh|ch|x|s|z)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith("s")) return stem(word.slice(0, -1));
  for (const ending of ["ing", "ed"]) {
    if (word.length > ending.length + 3 && word.endsWith(ending)) {
      return mendEnd(word.slice(0, -ending.length));
    }
  }
  return mendEnd(word);
}

/** `stopp` is `stop`, `calculate` and `calculat` are one. */
function mendEnd(word: string): string {
  if (/([bdgmnprt])\1$/.test(word)) return word.slice(0, -1);
  return word.length > 4 && word.endsWith("e") ? word.slice(0, -1) : word;
}

/**
 * What words of one family share: one root for `write`, `writer` and `writing`, for `translate`, `translator` and
 * `translation`, for `analyse` and `analyst`. English, and rough: it is for comparing, not for reading.
 */
export function wordRoot(word: string): string {
  const stemmed = stem(word).replace(/([iy])z$/, "$1s");
  const root = stemmed.replace(/(?:e|er|or|ion|ing|(?<=ys)(?:is|t))$/, "");
  return root.length < 3 ? stemmed : stem(root);
}

/** Words of asking, which tell nothing of what is asked for. */
const askingWords = new Set(
  (
    "find help provide information looking know get show recommend suggest assist able best good something someone " +
    "anything a"
  ).split(" "),
);

/**
 * The words of a text that carry meaning, lower-case, in order and as often as they come. Identifiers are parted:
 * `getHTMLPage` is `html page`, `user_id` is `user id`.
 */
export function contentWords(text: string): string[] {
  return allWords(text).filter((word) => !isStopWord(word) && !askingWords.has(word));
}

/** {@link contentWords} with the words that carry none. */
export function allWords(text: string): string[] {
  return wordsOf(partAcronyms(text));
}

/** `HTMLPage` as `HTML Page`; what else a name joins is parted by `wordsOf`. */
function partAcronyms(text: string): string {
  return text.replace(/(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, " ");
}

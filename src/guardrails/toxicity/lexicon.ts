import { createRequire } from "node:module";
import type { RailSpan } from "../../definition/rail.ts";
import { once } from "../../expression/cel.ts";

const load = createRequire(import.meta.url);

export interface LexiconFinding {
  /** From 0 (nothing found) to 1. */
  readonly score: number;
  /** What counts for something, in order, without overlaps. */
  readonly spans: readonly RailSpan[];
}

/** UTF-16 units that a word goes on after what was found of it. */
const longestWord = 32;

/** The library reads `!` as an i, which makes another word of one at a sentence's end. */
const closingMarks = /!(?![\p{L}\p{N}])/gu;

const clean: LexiconFinding = { score: 0, spans: [] };

/** The library's English words with our few threats, loaded with the first text. */
const matcher = once(() => {
  const library = load("obscenity") as typeof import("obscenity");
  const words = new library.DataSet<{ originalWord: string }>()
    .addAll(library.englishDataset)
    // The library's pattern takes every word that begins so, places and plants too.
    .removePhrasesIf(({ metadata }) => metadata?.originalWord === "fag")
    .addPhrase((phrase) =>
      ["|fag|", "|fags|", "|fag[g]ot"].reduce(
        (built, form) => built.addPattern(library.parseRawPattern(form)),
        phrase.setMetadata({ originalWord: "fag" }).addWhitelistedTerm("fagott"),
      ),
    );
  for (const threat of threats) {
    words.addPhrase((phrase) =>
      phrase.setMetadata({ originalWord: "threat" }).addPattern(library.parseRawPattern(threat)),
    );
  }
  const found = new library.RegExpMatcher({
    ...words.build(),
    ...library.englishRecommendedTransformers,
  });
  return (text: string) =>
    found.getAllMatches(text.replaceAll(closingMarks, "."), true).map((match) => ({
      start: match.startIndex,
      end: wordEnd(text, match.endIndex + 1),
      severity: severityOf(words.getPayloadWithPhraseMetadata(match).phraseMetadata?.originalWord),
    }));
});

/**
 * Looks for words of the lexicon, also where they are disguised (`sh1t`, `fuuuck`). The score is the severity of the worst
 * word, w, and rises towards 1 with how much of the text is such: w + (1 - w) × (sum of severities / words of the text). So
 * an insult of two words weighs more than the same word in a page, and a page on anatomy stays low.
 */
export function scoreText(text: string): LexiconFinding {
  const matches = matcher()(text).filter(({ severity }) => severity > 0);
  if (matches.length === 0) return clean;
  let worst = 0;
  let sum = 0;
  let last = 0;
  const spans: RailSpan[] = [];
  for (const { start, end, severity } of matches) {
    worst = Math.max(worst, severity);
    // Patterns of one word overlap (`shit|`, `|shit`): it is counted once.
    if (start < last) continue;
    sum += severity;
    spans.push({ start, end, label: "TOXIC" });
    last = end;
  }
  const density = Math.min(1, sum / countWords(text));
  return { score: worst + (1 - worst) * density, spans };
}

/** Patterns match beginnings of words; what is taken out of a text is the word. */
function wordEnd(text: string, from: number): number {
  return from + (/^[\p{L}\p{N}]*/u.exec(text.slice(from, from + longestWord))?.[0].length ?? 0);
}

function countWords(text: string): number {
  let words = 0;
  for (const _ of text.matchAll(/[\p{L}\p{N}]+/gu)) words += 1;
  return Math.max(1, words);
}

/**
 * How bad the library's words are, by the group's severity from 0 to 1. The library has one list for all of them: insults
 * as well as what doctors write.
 */
const groups: readonly (readonly [severity: number, words: readonly string[]])[] = [
  // Slurs against groups of people, and threats.
  [
    0.95,
    [
      "abo",
      "abeed",
      "africoon",
      "arabush",
      "boonga",
      "chingchong",
      "chink",
      "fag",
      "kike",
      "nigger",
      "tranny",
      "retard",
      "spastic",
      "threat",
    ],
  ],
  // Words of anatomy, medicine, law and news, and those that are also names or mean something harmless.
  [
    0.15,
    [
      "anal",
      "anus",
      "bestiality",
      "boob",
      "cock",
      "cum",
      "dick",
      "dyke",
      "ejaculate",
      "fellatio",
      "hentai",
      "hooker",
      "incest",
      "masturbate",
      "negro",
      "orgasm",
      "orgy",
      "penis",
      "porn",
      "prick",
      "rape",
      "scat",
      "semen",
      "sex",
      "tit",
      "turd",
      "vagina",
    ],
  ],
  // Coarse, but not directed at a person by itself.
  [0.4, ["arse", "ass", "bollocks", "piss", "wank", "jerk off"]],
];

/** Of all others: curses and insults. */
const usual = 0.6;

const severities = new Map(
  groups.flatMap(([severity, words]) => words.map((word) => [word, severity] as const)),
);

/** @param word as the library names it; undefined for a word without a name */
function severityOf(word: string | undefined): number {
  return word === undefined ? usual : (severities.get(word) ?? usual);
}

/**
 * Threats to a reader's life and calls to end it, which the library's list does not have, in its pattern language: `|` is
 * a word's edge, and a doubled letter other than b, e, g, l, o and s is written once. Only what can hardly be meant otherwise: "this will kill you" is said of poisons and of bugs.
 */
const threats: readonly string[] = [
  "|kill yourself",
  "|kill urself",
  "|kys|",
  "|i will kill you|",
  "|i'll kill you|",
  "|i am going to kill you|",
  "|i'm going to kill you|",
  "|gona kill you|",
  "|i will hurt you|",
  "|i'll hurt you|",
  "|you deserve to die|",
  "|hope you die|",
  "|go hang yourself",
];

import { createRequire } from "node:module";
import { once } from "../../expression/cel.ts";
import type { RailSpan } from "../rail.ts";
import { severityOf } from "./severity.ts";
import { threats } from "./threats.ts";

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

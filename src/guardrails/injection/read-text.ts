import { bucketsOf, hashOf, wordsOf } from "./buckets.ts";
import { encodedPayloads } from "./encoded-payloads.ts";
import { normalText } from "./normalise-text.ts";
import { type RequestForm, requestForm } from "./request-form.ts";
import { signals } from "./signals.ts";
import { eachSentence, type Window } from "./windows.ts";

/** What is read of a sentence once, and used in all windows that it is part of. */
export interface Sentence extends Window {
  /** As normalise-text.ts leaves it. */
  readonly plain: string;
  readonly ascii: boolean;
  readonly words: number;
  /** Hashes of its longer words without their endings. */
  readonly stems: readonly number[];
  readonly buckets: Uint16Array;
  /** Places of the signals that it shows, in their list. */
  readonly signals: readonly number[];
  /** Which of {@link disguises} it shows. */
  readonly disguises: readonly number[];
  readonly form: RequestForm;
  /** How many common words of English, German and Romance languages it has. */
  readonly languages: readonly number[];
}

export const disguises = [
  "hidden characters",
  "look-alikes",
  "digits for letters",
  "spaced letters",
  "shouted among quiet",
] as const;

export interface ReadText {
  readonly sentences: readonly Sentence[];
  /** Each text that was encoded, as sentences that stand where it stood. */
  readonly decoded: readonly (readonly Sentence[])[];
}

/** Characters after which others may have their turn: some milliseconds. */
const stride = 4096;

/** Reads a text sentence by sentence, and stops from time to time. Linear in the text. */
export function* readText(text: string): Generator<undefined, ReadText> {
  const sentences: Sentence[] = [];
  let stopAt = stride;
  for (const window of eachSentence(text)) {
    sentences.push(sentenceOf(text.slice(window.start, window.end), window));
    if (window.end < stopAt) continue;
    stopAt = window.end + stride;
    yield;
  }
  const decoded: Sentence[][] = [];
  for (const payload of encodedPayloads(text)) {
    yield;
    if (payload === null) continue;
    const { decoded: inside, start, end } = payload;
    const parts = Array.from(eachSentence(inside), (part) =>
      sentenceOf(inside.slice(part.start, part.end), { start, end }),
    );
    decoded.push(parts);
  }
  return { sentences, decoded };
}

function sentenceOf(part: string, { start, end }: Window): Sentence {
  const { plain, ascii, hidden, lookAlikes, digitsForLetters, spaced } = normalText(part);
  const words = wordsOf(plain, ascii);
  const shown = [hidden, lookAlikes, digitsForLetters, spaced, shoutsAmongQuiet(part)];
  return {
    start,
    end,
    plain,
    ascii,
    words: words.length,
    stems: words
      .filter((word) => word.length >= 4)
      .map((word) => hashOf(word, Math.min(word.length, 6))),
    buckets: bucketsOf(words, ascii),
    signals: signalsIn(plain, ascii),
    disguises: shown.flatMap((is, index) => (is ? [index] : [])),
    form: requestForm(plain, ascii),
    languages: languagesOf(words),
  };
}

const patterns = signals.map(([, pattern]) => pattern);

function signalsIn(plain: string, ascii: boolean): number[] {
  const found: number[] = [];
  for (let index = 0; index < patterns.length; index += 1) {
    if (patterns[index]?.test(plain, ascii) === true) found.push(index);
  }
  return found;
}

const capitals = /\p{Lu}{2}/u;

/** Some words in a row in capitals, in a text that is otherwise not. */
function shoutsAmongQuiet(text: string): boolean {
  if (!capitals.test(text)) return false;
  return /(?:\b\p{Lu}{2,}[ ,']+){3}/u.test(text) && /\p{Ll}{3,} \p{Ll}{2,}/u.test(text);
}

const common = [
  "the and you your is are what how that this with for of to me not",
  "der die das und ist sind wie was ich sie du ein eine nicht mit für von zu mir dem den",
  "el los las que por para les des est dans vous votre gli della toda todas instrucciones une",
];
const languageOf = new Map(
  common.flatMap((list, language) => list.split(" ").map((word) => [word, language] as const)),
);

function languagesOf(words: readonly string[]): readonly number[] {
  const counts = [0, 0, 0];
  for (const word of words) {
    const language = languageOf.get(word);
    if (language !== undefined) counts[language] = (counts[language] ?? 0) + 1;
  }
  return counts;
}

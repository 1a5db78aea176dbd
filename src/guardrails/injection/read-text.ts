import { normalText } from "./normalise-text.ts";
import { signals } from "./signals.ts";
import { bucketsOf, eachSentence, hashOf, textPattern, type Window, wordsOf } from "./words.ts";

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

/** A text that was written as base64, hexadecimal digits or percent escapes, and where. */
export interface EncodedPayload extends Window {
  readonly decoded: string;
}

const longest = 2000;
const payloadPatterns: readonly (readonly [RegExp, (run: string) => Buffer])[] = [
  [/(?<![0-9a-f])(?:[0-9a-f]{2}){10,}(?![0-9a-f])/gi, (run) => Buffer.from(run, "hex")],
  [/(?:\\x[0-9a-f]{2}){6,}/gi, (run) => Buffer.from(run.replaceAll("\\x", ""), "hex")],
  [/(?:%[0-9a-f]{2}|[a-z]){12,}/gi, (run) => Buffer.from(decodedPercent(run))],
  [/(?<![\w+/])[A-Za-z0-9+/_-]{20,}={0,2}(?![\w+/])/g, (run) => Buffer.from(run, "base64")],
];

/**
 * Finds what reads as words once it is decoded; ids, hashes and pictures do not. Only the first 2,000 characters of a run
 * are decoded. Gives null where others may have their turn. Linear in the text.
 */
function* encodedPayloads(text: string): Generator<EncodedPayload | null> {
  for (const [pattern, decode] of payloadPatterns) {
    for (const { 0: run, index } of text.matchAll(pattern)) {
      const decoded = decode(run.slice(0, longest)).toString("utf8");
      if (readsAsWords(decoded) && decoded !== run) {
        yield { start: index, end: index + run.length, decoded };
      }
    }
    yield null;
  }
}

function decodedPercent(run: string): string {
  if (!run.includes("%")) return "";
  try {
    return decodeURIComponent(run);
  } catch {
    return "";
  }
}

function readsAsWords(decoded: string): boolean {
  const letters = decoded.match(/[a-zäöüßéèáíóúñ ]/gi)?.length ?? 0;
  return decoded.length >= 8 && letters / decoded.length > 0.85 && / /.test(decoded);
}

/** What an assistant is asked to do with words; people are asked other things in their mail. */
const forAssistants = textPattern(
  "^(?:please |kindly |now |then |also |finally |and |bitte )*(?:write|summari[sz]e|translate|generate|create|draft|compose|analy[sz]e|explain|list|describe|compare|determine|calculate|compute|classify|identify|convert|encode|decode|rewrite|rephrase|paraphrase|outline|suggest|recommend|tell me|give me|show me|help me|find|search|provide|recite|sing|design|plan|predict|evaluate|estimate|discuss|define|reply|respond|answer|modify|add|include|insert|integrate|incorporate|augment|enhance|append|use|output|print|say|repeat|solve|name|pretend|imagine|schreib\\p{L}*|übersetz\\p{L}*|erklär\\p{L}*|nenne|fasse|gib|zeige|erstelle|sag)(?!\\p{L})",
);
const openQuestion = textPattern(
  "^(?:so |and |also |now )*(?:what(?:'s| is| are| were| was| do| does| did)|how (?:do|does|did|can|could|should|have|has|to|many|much|is|are)|why|who(?:'s| is| are| was)|when (?:is|was|did|do|does)|where|which|is|are|was|were|does|did|(?:could|can)(?! you\\b)|should|wie|was|warum|wer|wann|wo|welche\\p{L}*)(?!\\p{L})[^\\n]*\\?[\"'}\\])\\s]*$",
);
const politeRequest = textPattern(
  "^(?:can|could|would|will|kannst|können|könntest) (?:you|du|sie) (?:please |also |bitte )?(?!let|contact|call|confirm|bring|come|meet|lend|update|put|share|attach|ask|pick|take|fix|move|join|pay|wait|drop|get|have|be |reply|send|sign|return|forward|get back|advise|check|look|review|approve)",
);
const toPeople = textPattern(
  "\\b(?:i|we|i'm|we're|my|our|us|your (?:order|account|card|invoice|payment|booking|ticket|application|appointment|reservation|delivery|team|subscription)|this (?:e-?mail|invoice|order)|attached|regards|contact us|call us)\\b",
);

/** Whether a sentence has the form of a request for an answer in words, as people put it to an assistant. */
interface RequestForm {
  readonly order: boolean;
  readonly question: boolean;
  readonly polite: boolean;
  /** It speaks of matters between people: ordinary in their mail. */
  readonly betweenPeople: boolean;
}

function requestForm(plain: string, ascii: boolean): RequestForm {
  const sentence = plain.replace(ascii ? /^[^a-z]+/ : /^[^\p{L}]+/u, "");
  return {
    order: forAssistants.test(sentence, ascii),
    question: openQuestion.test(sentence, ascii),
    polite: politeRequest.test(sentence, ascii),
    betweenPeople: toPeople.test(sentence, ascii),
  };
}

import { stemsOf } from "../../models/words.ts";
import { headOf } from "../../values/text.ts";
import { memoryTokens } from "./plan.ts";

/** Between sentences; every line ends one. `Intl.Segmenter` takes quadratic time for some texts. */
const sentenceBreak = /(?<=[.!?][)\]"'”’]{0,3})\s+|(?<=[。！？])|\n+/;

/** Sentences of a text that are looked at. */
const maxSentences = 2_000;

/** What a word with a digit counts in a sentence: dates, prices and ids are what is asked for later. */
const figureWeight = 2;

interface Sentence {
  readonly at: number;
  readonly text: string;
  readonly salience: number;
}

/**
 * Shortens a text to whole sentences of its own, in their order: the first, then those with the highest salience that
 * fit. A first sentence that does not fit is cut. A text that fits is returned as it is.
 *
 * Salience is the mean frequency of a sentence's stems in the text (Nenkova and Vanderwende, "The impact of frequency on
 * summarization", 2005), with words that hold digits counted double.
 *
 * @param maxTokens of the result, as `memoryTokens` counts; at least 1
 */
export function extractSummary(text: string, maxTokens: number): string {
  if (memoryTokens(text) <= maxTokens) return text;
  const [first, ...others] = scoredSentences(text);
  if (first === undefined || memoryTokens(first.text) > maxTokens) return cutAt(text, maxTokens);
  const kept = [first];
  // Each sentence is counted with the space before it.
  let room = 4 * maxTokens - Buffer.byteLength(first.text);
  for (const sentence of others.toSorted((a, b) => b.salience - a.salience || a.at - b.at)) {
    const bytes = Buffer.byteLength(sentence.text) + 1;
    if (bytes > room) continue;
    room -= bytes;
    kept.push(sentence);
  }
  return kept
    .toSorted((a, b) => a.at - b.at)
    .map((sentence) => sentence.text)
    .join(" ");
}

function scoredSentences(text: string): readonly Sentence[] {
  const found: { readonly text: string; readonly stems: ReadonlySet<string> }[] = [];
  for (const part of text.split(sentenceBreak)) {
    const sentence = part.trim();
    if (sentence !== "") found.push({ text: sentence, stems: stemsOf(sentence) });
    if (found.length === maxSentences) break;
  }
  const frequency = new Map<string, number>();
  for (const { stems } of found) {
    for (const stem of stems) frequency.set(stem, (frequency.get(stem) ?? 0) + 1);
  }
  return found.map(({ text: sentence, stems }, at) => {
    let sum = 0;
    for (const stem of stems) {
      sum += (/\d/.test(stem) ? figureWeight : 1) * (frequency.get(stem) ?? 0);
    }
    return { at, text: sentence, salience: sum / Math.max(1, stems.size) };
  });
}

/** The beginning, up to the end of a word where one ends in its second half. */
function cutAt(text: string, maxTokens: number): string {
  const bytes = 4 * maxTokens - Buffer.byteLength("…");
  let head = headOf(text, bytes);
  while (Buffer.byteLength(head) > bytes) {
    // Every unit has at least one byte, and at most three.
    head = headOf(head, head.length - Math.ceil((Buffer.byteLength(head) - bytes) / 3));
  }
  const end = head.search(/\s\S*$/);
  return `${end > head.length / 2 ? head.slice(0, end) : head}…`;
}

import { isStopWord, wordsOf } from "../offline/words.ts";

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

import { wordVectorsId } from "../../models/embeddings/word-vectors.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";

/** Of fewer words no language can be told. Scripts without spaces count two characters as a word. */
const leastWords = 4;
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{1,2}|[\p{L}\p{N}]+/gu;

/** English has to be as likely as this share of the likeliest language: short requests are close to several. */
const leastShare = 0.9;

/**
 * Whether the embeddings can say nothing of a text's topic: the embedded word vectors are of English words, and it is
 * in another language, or its words are spelt so that they are none (`h0w d0 1`). Other embeddings may know all languages.
 */
export async function isUnread(text: string, embeddings: Embeddings): Promise<boolean> {
  if (!embeddings.id.includes(wordVectorsId)) return false;
  if ((text.match(word) ?? []).length < leastWords) return false;
  const { eld } = await import("eld/small");
  const scores = eld.detect(text).getScores();
  const best = Math.max(0, ...Object.values(scores));
  return best === 0 || (scores["en"] ?? 0) < leastShare * best;
}

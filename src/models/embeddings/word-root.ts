import { stem } from "../offline/words.ts";

/**
 * What words of one family share: one root for `write`, `writer` and `writing`, for `translate`, `translator` and
 * `translation`, for `analyse` and `analyst`. English, and rough: it is for comparing, not for reading.
 */
export function wordRoot(word: string): string {
  const stemmed = stem(word).replace(/([iy])z$/, "$1s");
  const root = stemmed.replace(/(?:e|er|or|ion|ing|(?<=ys)(?:is|t))$/, "");
  return root.length < 3 ? stemmed : stem(root);
}

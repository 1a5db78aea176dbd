import { cutText } from "../../state/cut-text.ts";

/** Characters below which a text says too little to be kept, with room for the mark of a cut. */
const least = 120;
const ofMark = 40;

/**
 * The last texts that fit into `characters` together. Where all do not fit as they are, the longest are cut, all to the
 * same length; where even that would leave too little of each, the first ones are left out.
 */
export function shareOut(texts: readonly string[], characters: number): readonly string[] {
  const kept = texts.slice(Math.max(0, texts.length - Math.floor(characters / (least + ofMark))));
  const length = commonLength(
    kept.map((text) => text.length),
    characters - ofMark * kept.length,
  );
  return kept.map((text) => (text.length <= length + ofMark ? text : cutText(text, length)));
}

/** The largest length such that the texts, each cut to it, have at most `total` characters; Infinity where they have. */
function commonLength(lengths: readonly number[], total: number): number {
  let left = total;
  const sorted = lengths.toSorted((a, b) => a - b);
  for (const [at, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - at));
    if (length > share) return share;
    left -= length;
  }
  return Infinity;
}

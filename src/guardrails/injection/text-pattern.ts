/** A pattern on normal text (normalise-text.ts). */
export interface TextPattern {
  /** `ascii` says that the text has no other characters, which is faster. */
  test(plain: string, ascii: boolean): boolean;
}

/** From a source with the `u` flag. For ASCII it is compiled once more, with a range in the place of all letters of Unicode. */
export function textPattern(source: string): TextPattern {
  const general = new RegExp(source, "u");
  const fast = new RegExp(source.replaceAll("[^\\p{L}]", "[^a-z]").replaceAll("\\p{L}", "[a-z]"));
  return { test: (plain, ascii) => (ascii ? fast : general).test(plain) };
}

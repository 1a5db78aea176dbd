/**
 * The text with plain gaps between what people group: each kind of space (Unicode's `Zs`) as U+0020, each dash that joins
 * (`Pd`, and the minus sign) as `-`. Of the same length, so that places in it are those of the text. Numbers copied from
 * web pages and PDFs have no-break and thin spaces and en dashes between their groups. A long dash parts words and joins
 * no number: it counts as a space.
 */
export function withPlainGaps(text: string): string {
  return text
    .replaceAll(/(?! )\p{Zs}|[\u2014\u2E3A\u2E3B]/gu, " ")
    .replaceAll(/(?!-)\p{Pd}|\u2212/gu, (dash) => "-".padEnd(dash.length));
}

/** How a character is written where Mermaid would read it as its own. */
export type Escape = (character: string) => string;

/** Mermaid's entities: for text that is shown as HTML, as web pages do. */
export const asEntity: Escape = (character) => `#${character.charCodeAt(0)};`;

/** Where Mermaid draws text as SVG it leaves entities as they are; then a character that means nothing stands in. */
export const asStandIn: Escape = (character) =>
  String.fromCharCode(firstStandIn + character.charCodeAt(0));

/** In Unicode's area for private use. */
const firstStandIn = 0xe000;

/** Puts into SVG what {@link asStandIn} stood in for. */
export function withoutStandIns(svg: string): string {
  return svg.replaceAll(/[\ue000-\ue07f]/g, (found) => `&#${found.charCodeAt(0) - firstStandIn};`);
}

/** What Mermaid, HTML or Markdown may read as markup anywhere in a text: links and names of icons too. */
const markup =
  /["#&<>`%$*_~\\[\]@|]|(?<=:)\/(?=\/)|(?<=\bwww)\.|(?<=\bfa[a-z]?):|[\ue000-\uf8ff]/gi;

/** Lists, headings and rules, where a line begins. Not `#`, with which entities begin. */
const markupAtStart = /^(\d*)([!$-/:-@[-^{-~])/;

/** @param text one line */
export function escapeText(text: string, escape: Escape): string {
  return text
    .replaceAll(markup, (found) => (found < "\u0080" ? escape(found) : "\ufffd"))
    .replace(markupAtStart, (_, digits: string, sign: string) => digits + escape(sign));
}

/** What a page says. Its pieces are in the order of the page. */
export interface HtmlText {
  readonly title: string;
  readonly text: string;
  /** Link targets without duplicates. */
  readonly links: readonly string[];
  /** Characters of the page that were not read: all but its beginning, where it is very long. */
  readonly unread: number;
}

/** Characters of a page that are read. */
const readCharacters = 200_000;

/** Tags in its first characters that make a text a page or a part of one. */
const fewestTags = 4;

const someTag =
  /<\/?(?:!doctype|html|head|body|div|p|a|br|li|ul|ol|h[1-6]|span|table|t[rdh]|script|style|meta|link|b|i|em|strong|img|section|article|nav|header|footer|main)\b[^<>]{0,300}>/gi;

export function looksLikeHtml(text: string): boolean {
  const tags = text.slice(0, 3000).match(someTag) ?? [];
  return tags.length >= fewestTags || /^\s{0,99}<(?:!doctype html|html)\b/i.test(text);
}

/** A page's text without tags, scripts and styles, with its entities resolved. Linear in what is read. */
export function readHtml(page: string): HtmlText {
  const html = page.slice(0, readCharacters);
  const parts: string[] = [];
  const links = new Set<string>();
  let title: string | null = null;
  let at = 0;
  while (at < html.length) {
    const open = nextTag(html, at);
    parts.push(html.slice(at, open));
    if (open >= html.length) break;
    const end = endOfTag(html, open);
    const tag = html.slice(open, end);
    const name = /^<\/?([a-z][a-z0-9]*)/i.exec(tag)?.[1]?.toLowerCase() ?? "";
    const target = name === "a" ? targetOf(tag) : null;
    if (target !== null) links.add(target);
    const isOpaque = /^(?:script|style|noscript|svg|template|title)$/.test(name) && tag[1] !== "/";
    at = isOpaque ? closingOf(html, name, end) : end;
    if (name === "title" && isOpaque) title ??= plain(html.slice(end, at));
    if (isBlock(name)) parts.push("\n");
  }
  return {
    title: title ?? "",
    text: plain(parts.join("")),
    links: [...links],
    unread: page.length - html.length,
  };
}

/** Where a tag or comment opens; the end of the text where none does. */
function nextTag(html: string, from: number): number {
  const tag = /<[a-z/!?]/gi;
  tag.lastIndex = from;
  return tag.exec(html)?.index ?? html.length;
}

function endOfTag(html: string, open: number): number {
  const close = html.startsWith("<!--", open) ? "-->" : ">";
  const end = html.indexOf(close, open);
  return end < 0 ? html.length : end + close.length;
}

function closingOf(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, "gi");
  closing.lastIndex = from;
  return closing.exec(html)?.index ?? html.length;
}

function targetOf(tag: string): string | null {
  const found = /\shref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(tag);
  const target = resolved(found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
  return target === "" || /^(?:#|javascript:)/i.test(target) ? null : target;
}

function isBlock(name: string): boolean {
  return /^(?:address|article|aside|blockquote|br|dd|div|dl|dt|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|td|th|tr|ul)$/.test(
    name,
  );
}

function plain(text: string): string {
  return resolved(text)
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n\s*/g, "\n")
    .trim();
}

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  copy: "©",
  reg: "®",
  euro: "€",
  pound: "£",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  times: "×",
  rarr: "→",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
};

function resolved(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, ...found) => {
    const [decimal, hex, name] = found as (string | undefined)[];
    if (name !== undefined) return Object.hasOwn(named, name) ? (named[name] ?? whole) : whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

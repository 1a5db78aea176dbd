import { figure } from "./cut-middle.ts";
import { looksLikeHtml, readHtml, type HtmlText } from "./html-text.ts";
import { readTable, type TableText } from "./table-text.ts";

/** What a long text is, as far as its shape goes. */
export type TextRead =
  | { readonly kind: "encoded"; readonly name: string }
  | { readonly kind: "json"; readonly value: object }
  | { readonly kind: "html"; readonly html: HtmlText }
  | { readonly kind: "table"; readonly table: TableText }
  | { readonly kind: "plain" };

/** Longer texts are not parsed as JSON. */
const parsedCharacters = 1_000_000;

/** Characters that are looked at in three places to tell encoded bytes from text. */
const sample = 500;

/** Looks at a bounded part of the text, but for JSON of up to a million characters. Never throws. */
export function readText(text: string): TextRead {
  const name = encodedName(text);
  if (name !== null) return { kind: "encoded", name };
  const value = jsonIn(text);
  if (value !== null) return { kind: "json", value };
  if (looksLikeHtml(text)) return { kind: "html", html: readHtml(text) };
  const table = readTable(text);
  return table === null ? { kind: "plain" } : { kind: "table", table };
}

function encodedName(text: string): string | null {
  const size = `${figure(text.length)} chars`;
  const uri = /^\s{0,9}data:([\w.+-]{1,60}\/[\w.+-]{1,60})?[^,]{0,100};base64,/i.exec(text);
  if (uri !== null) return `[${uri[1] ?? "data"} as base64, ${size}]`;
  const middle = Math.floor(text.length / 2);
  const samples = [text.slice(0, sample), text.slice(middle, middle + sample), text.slice(-sample)];
  return samples.every(isBase64) ? `[base64, ${size}]` : null;
}

/** Words, paths and lists of numbers are written with these letters too, but not with all kinds of them mixed. */
function isBase64(part: string): boolean {
  if (!/^[\w+/\r\n-]+={0,2}\s*$/.test(part)) return false;
  const kinds = [/[a-z]/g, /[A-Z]/g, /\d/g].map((kind) => part.match(kind)?.length ?? 0);
  return kinds.every((count) => count > part.length / 50);
}

function jsonIn(text: string): object | null {
  if (text.length > parsedCharacters || !/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

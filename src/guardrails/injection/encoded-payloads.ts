import type { Window } from "./windows.ts";

/** A text that was written as base64, hexadecimal digits or percent escapes, and where. */
export interface EncodedPayload extends Window {
  readonly decoded: string;
}

const longest = 2000;
const patterns: readonly (readonly [RegExp, (run: string) => Buffer])[] = [
  [/(?<![0-9a-f])(?:[0-9a-f]{2}){10,}(?![0-9a-f])/gi, (run) => Buffer.from(run, "hex")],
  [/(?:\\x[0-9a-f]{2}){6,}/gi, (run) => Buffer.from(run.replaceAll("\\x", ""), "hex")],
  [/(?:%[0-9a-f]{2}|[a-z]){12,}/gi, (run) => Buffer.from(decodedPercent(run))],
  [/(?<![\w+/])[A-Za-z0-9+/_-]{20,}={0,2}(?![\w+/])/g, (run) => Buffer.from(run, "base64")],
];

/**
 * Finds what reads as words once it is decoded; ids, hashes and pictures do not. Only the first 2,000 characters of a run
 * are decoded. Gives null where others may have their turn. Linear in the text.
 */
export function* encodedPayloads(text: string): Generator<EncodedPayload | null> {
  for (const [pattern, decode] of patterns) {
    for (const { 0: run, index } of text.matchAll(pattern)) {
      const decoded = decode(run.slice(0, longest)).toString("utf8");
      if (readsAsWords(decoded) && decoded !== run) {
        yield { start: index, end: index + run.length, decoded };
      }
    }
    yield null;
  }
}

function decodedPercent(run: string): string {
  if (!run.includes("%")) return "";
  try {
    return decodeURIComponent(run);
  } catch {
    return "";
  }
}

function readsAsWords(decoded: string): boolean {
  const letters = decoded.match(/[a-zäöüßéèáíóúñ ]/gi)?.length ?? 0;
  return decoded.length >= 8 && letters / decoded.length > 0.85 && / /.test(decoded);
}

import { isStopWord, wordsOf } from "./words.ts";

const word = String.raw`(#?[\p{L}\p{N}_@.-]*[\p{L}\p{N}_@])`;
const quoted = '(?:"([^"]+)"|“([^”]+)”|`([^`]+)`)';

/** How a text speaks of an argument: `customer` of `customer_id`, as a regular expression. */
export function labelOf(name: string): string {
  const words = wordsOf(name);
  const core = words.filter((one) => !/^(id|name|number|code|key)$/.test(one));
  return (core.length > 0 ? core : words).join("[ _-]?");
}

/**
 * What a text says in so many words that an argument is: `key "big shop"`, `under the key shop`, `key shop to "milk"`,
 * and at its end `as shop` for arguments that are called name or key. Null where it is said in passing or not at all.
 */
export function givenName(name: string, text: string): string | null {
  const label = labelOf(name);
  const marked = new RegExp(`\\b${label}\\s+(?:(?:named|called)\\s+)?${quoted}`, "iu").exec(text);
  if (marked !== null) return marked[1] ?? marked[2] ?? marked[3] ?? null;
  // "with the ticket titled "Lost key"": a word before a quote tells what the quote is.
  const said = new RegExp(
    `\\b(?:under|with|for|as|from|of|in|at)\\s+(?:the\\s+|a\\s+)?${label}\\s+${word}(?!\\S*\\s+["“\`])`,
    "iu",
  );
  const assigned = new RegExp(`\\b${label}\\s+${word}\\s+(?:to|=)\\s+${quoted}`, "iu");
  const last = /key|name|label/i.test(name)
    ? new RegExp(`\\b(?:as|under)\\s+${word}[.!?]*\\s*$`, "iu")
    : null;
  const found = said.exec(text)?.[1] ?? assigned.exec(text)?.[1] ?? last?.exec(text)?.[1];
  return found === undefined || isStopWord(found) ? null : found.replace(/^#/, "");
}

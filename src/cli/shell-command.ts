import { plainText } from "./view/plain-text.ts";

/** Words as a command line that a POSIX shell reads back as the same words. Without control characters. */
export function shellCommand(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  const shown = plainText(word);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}

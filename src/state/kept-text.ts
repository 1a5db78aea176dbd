import { cutText } from "./cut-text.ts";

/** Characters of what a model writes about its own work that are kept, and told back to it. */
const keptCharacters = 2000;

/** What a model wrote about its own work, cut where it is long and marked then: it is repeated in every prompt. */
export function keptText(text: string): string {
  return cutText(text.trim(), keptCharacters);
}

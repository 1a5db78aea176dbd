import { cutText } from "../../state/cut-text.ts";
import { cleanText } from "../clean-text.ts";

/** Characters that a running summary has at most. */
const longest = 4000;
const shortest = 200;

/** Characters of a summary beside `maxTokens` of earlier turns: at most about two fifths of them, at three a token. */
export function summaryCharacters(maxTokens: number): number {
  return Math.max(shortest, Math.min(longest, Math.floor(maxTokens * 1.2)));
}

/** The summary in a model's reply, without what models put around it; null where there is none. */
export function readSummary(reply: string, maxCharacters: number): string | null {
  const text = cleanText(reply)
    .replace(/^\s*<think>[^]*?<\/think>/, "")
    .replace(/<\/?(former_summary|conversation|summary)>/g, "")
    .replace(/^\s*```\w*\n([^]*?)\n```\s*$/, "$1")
    .replace(/^\s*(#+\s*)?(\*\*)?(running )?summary(\*\*)?\s*:(\*\*)?\s*/i, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return text === "" ? null : cutText(text, maxCharacters);
}

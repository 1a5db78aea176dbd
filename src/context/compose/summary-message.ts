import { HumanMessage } from "@langchain/core/messages";
import type { RunningSummary } from "../../state/running-summary.ts";
import { cleanText } from "../clean-text.ts";
import type { Entry, Transcript } from "../transcript.ts";
import { shortenedConversation } from "./render.ts";

export interface SplitTranscript {
  /** What the summary stands for. */
  readonly covered: readonly Entry[];
  readonly entries: readonly Entry[];
  readonly message: HumanMessage | null;
}

const messages = new WeakMap<RunningSummary, HumanMessage>();

/** Parts a transcript into the turns that a summary covers and the others. The turn under way is never covered. */
export function splitCovered(
  { entries, turn }: Transcript,
  summary: RunningSummary | null,
): SplitTranscript {
  if (summary === null || summary.covers.turns === 0) {
    return { covered: [], entries, message: null };
  }
  const until = Math.min(summary.covers.turns, turn);
  const isCovered = (entry: Entry): boolean => entry.turn < until;
  const covered = entries.filter(isCovered);
  const message = messages.get(summary) ?? new HumanMessage(summaryText(summary));
  messages.set(summary, message);
  return { covered, entries: entries.filter((entry) => !isCovered(entry)), message };
}

function summaryText({ text, covers, model }: RunningSummary): string {
  const turns = covers.turns === 1 ? "turn 1" : `turns 1 to ${covers.turns}`;
  const what = `${turns}, ${covers.messages} messages and ${covers.steps} steps`;
  const head = `${shortenedConversation} Summary of ${what}, written by ${model}:`;
  return `${head}\n${cleanText(text)}`;
}

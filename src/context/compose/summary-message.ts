import { HumanMessage } from "@langchain/core/messages";
import type { RunningSummary } from "../../state/running-summary.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { cleanText } from "../clean-text.ts";
import type { Entry, Transcript } from "../transcript.ts";
import { callLines } from "./call-line.ts";
import { openErrors } from "./open-errors.ts";
import { shortenedConversation } from "./render.ts";

export interface SplitTranscript {
  /** What the summary stands for. */
  readonly covered: readonly Entry[];
  readonly entries: readonly Entry[];
  /** The summary, with the errors among what it covers that are still open. */
  readonly message: HumanMessage | null;
}

const messages = new WeakMap<RunningSummary, Map<string, HumanMessage>>();

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
  const open = openErrors(entries.map((entry) => (entry.kind === "step" ? entry.step : null)));
  const failing = entries.flatMap((entry, at) =>
    entry.kind === "step" && isCovered(entry) && open[at] === Infinity
      ? errorLines(entry.step)
      : [],
  );
  const text = summaryText(summary, failing);
  let known = messages.get(summary);
  if (known === undefined) messages.set(summary, (known = new Map()));
  const message = known.get(text) ?? new HumanMessage(text);
  known.set(text, message);
  return { covered, entries: entries.filter((entry) => !isCovered(entry)), message };
}

function errorLines(step: StepRecord): readonly string[] {
  return callLines(step)
    .map(({ text }) => text)
    .filter((text) => !text.endsWith("→ success") && !text.includes("→ success:"));
}

function summaryText({ text, covers, model }: RunningSummary, failing: readonly string[]): string {
  const turns = covers.turns === 1 ? "turn 1" : `turns 1 to ${covers.turns}`;
  const what = `${turns}, ${covers.messages} messages and ${covers.steps} steps`;
  const head = `${shortenedConversation} Summary of ${what}, written by ${model}:`;
  const still = failing.length === 0 ? "" : `\nStill failing:\n${failing.join("\n")}`;
  return `${head}\n${cleanText(text)}${still}`;
}

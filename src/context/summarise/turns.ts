import type { BaseMessage } from "@langchain/core/messages";
import { messageTokens } from "../../models/usage/message-tokens.ts";
import type { TokenCounter } from "../../models/usage/tokens.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { callLines, lineText } from "../call-lines.ts";
import { type ShortTermPolicy, shortTermStrategies } from "../reasoning-context.ts";
import { chatTurns } from "../chat-turns.ts";
import { stepMessages } from "../step-messages.ts";
import type { EarlierTurn, ThreadHistory } from "./running-summary.ts";

/** The turns before the one under way, from turn 0 on, with what was said before it; one that left nothing is empty. */
export function earlierTurns(history: ThreadHistory): readonly EarlierTurn[] {
  const present = history.turn_number ?? 0;
  const turns = Array.from({ length: present }, () => {
    return { asked: [] as BaseMessage[], steps: [] as StepRecord[], answered: [] as BaseMessage[] };
  });
  const chat = chatTurns(history.messages, history.steps, { present });
  for (const { turn, asked, added, answered } of chat) {
    const own = turns[Math.max(0, turn)];
    own?.asked.push(...asked, ...added);
    own?.answered.push(...answered);
  }
  for (const step of history.steps) turns[step.turn_number]?.steps.push(step);
  return turns;
}

/** How steps of earlier turns are measured: as they were, with all of their results, or as one line for each call. */
export type MeasuredForm = "whole" | "lines";

/** Tokens of a message in addition to its text. */
const aroundMessage = 4;

/**
 * Returns whether turns surely fit into a number of tokens without counting, as in short threads: no token
 * is shorter than a byte.
 */
export function isSurelyWithin(
  turns: readonly EarlierTurn[],
  limit: { readonly form: MeasuredForm; readonly maxTokens: number },
): boolean {
  let most = 0;
  for (const turn of turns) {
    for (const message of spokenIn(turn)) {
      if (typeof message.content !== "string") return false;
      most += aroundMessage + Buffer.byteLength(message.content);
    }
    for (const step of told(turn)) most += measured(step, limit.form).bytes;
    if (most > limit.maxTokens) return false;
  }
  return true;
}

/** Tokens of each turn. Messages and records are counted once, however often they are measured. */
export function turnSizes(
  turns: readonly EarlierTurn[],
  how: { readonly form: MeasuredForm; readonly count: TokenCounter },
): readonly number[] {
  return turns.map((turn) => {
    const messages = spokenIn(turn).map((message) => messageTokens(message, how.count));
    const steps = told(turn).map((step) => stepTokens(step, how));
    return [...messages, ...steps].reduce((sum, tokens) => sum + tokens, 0);
  });
}

function spokenIn({ asked, answered }: EarlierTurn): readonly BaseMessage[] {
  return [...asked, ...answered];
}

/** What a step that finished has said is the answer. */
function told({ steps }: EarlierTurn): readonly StepRecord[] {
  return steps.filter((step) => step.next_action !== "finish");
}

interface Measured {
  readonly bytes: number;
  readonly tokens: Map<TokenCounter, number>;
}

const known: Readonly<Record<MeasuredForm, WeakMap<StepRecord, Measured>>> = {
  whole: new WeakMap(),
  lines: new WeakMap(),
};

function measured(step: StepRecord, form: MeasuredForm): Measured {
  const before = known[form].get(step);
  if (before !== undefined) return before;
  const messages = messagesOf(step, form);
  const bytes = messages.reduce((sum, text) => sum + aroundMessage + Buffer.byteLength(text), 0);
  const made = { bytes, tokens: new Map<TokenCounter, number>() };
  known[form].set(step, made);
  return made;
}

function stepTokens(
  step: StepRecord,
  { form, count }: { readonly form: MeasuredForm; readonly count: TokenCounter },
): number {
  const { tokens } = measured(step, form);
  const before = tokens.get(count);
  if (before !== undefined) return before;
  const made = messagesOf(step, form).reduce((sum, text) => sum + aroundMessage + count(text), 0);
  tokens.set(count, made);
  return made;
}

function messagesOf(step: StepRecord, form: MeasuredForm): readonly string[] {
  if (form === "whole") return stepMessages(step, "report").map(({ text }) => text);
  const lines = callLines(step).map((line) => lineText(line, () => true));
  return lines.length === 0 ? [] : [lines.join("\n")];
}

/** What earlier turns may still take of `maxTokens` when they were over it: a large move now is none for a while. */
const summarisedDownTo = 0.6;

/**
 * Returns how many of the oldest turns a new summary must cover; null if none is needed. The rest
 * has at most 60 % of `maxTokens`, unless the turn before the one under way alone has more: that one is always told.
 *
 * @param sizes tokens of each turn before the one under way, in the form that the strategy measures
 * @param covered turns that the present summary covers
 */
export function turnsToSummarise(history: {
  readonly sizes: readonly number[];
  readonly covered: number;
  readonly policy: ShortTermPolicy;
}): number | null {
  const { sizes, covered, policy } = history;
  if (shortTermStrategies[policy.strategy].summarises === null) return null;
  let rest = sizes.slice(covered).reduce((sum, size) => sum + size, 0);
  if (rest <= policy.maxTokens) return null;
  const most = sizes.length - 1;
  let turns = covered;
  while (turns < most && rest > summarisedDownTo * policy.maxTokens) {
    rest -= sizes[turns] ?? 0;
    turns += 1;
  }
  return turns > covered ? turns : null;
}

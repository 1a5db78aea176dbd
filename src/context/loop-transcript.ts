import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { StepRecord } from "../state/step-record.ts";
import type { FailedAttempt } from "../state/turn.ts";
import { attemptFeedback } from "./prompts.ts";
import { spokenTurns } from "./spoken-turns.ts";
import type { Entry, StepEntry, Transcript } from "./transcript.ts";

export interface LoopHistory {
  /** The messages channel, or what was said alone. */
  readonly conversation: readonly BaseMessage[];
  /** The step records of the thread. */
  readonly steps: readonly StepRecord[];
  /** Default: the last one that the conversation or the steps know of. */
  readonly turnNumber?: number;
  readonly failedAttempts?: readonly FailedAttempt[];
  /** A step of the turn that is not in `steps` yet. */
  readonly openStep?: StepRecord;
  /** Said last, as the user. */
  readonly note?: string;
  /** An answer that is being judged, and what is asked about it. */
  readonly pending?: { readonly answer: string; readonly request: string };
}

/**
 * A thread of the standard loop in order: for each turn what was asked, the steps, what was answered; in the turn under
 * way after each failed attempt why it was refused. From step to step it grows at its end alone.
 */
export function loopTranscript(history: LoopHistory): Transcript {
  const { conversation, openStep, note, pending } = history;
  const steps = openStep === undefined ? history.steps : [...history.steps, openStep];
  const turns = spokenTurns(conversation, steps, history.turnNumber);
  const turn =
    history.turnNumber ?? Math.max(turns.at(-1)?.turn ?? 0, steps.at(-1)?.turn_number ?? 0);
  const entries: Entry[] = [];
  let nextStep = 0;
  const takeSteps = (until: number): StepEntry[] => {
    const taken: StepEntry[] = [];
    for (; nextStep < steps.length; nextStep += 1) {
      const step = steps[nextStep] as StepRecord;
      if (step.turn_number > until) break;
      // What a step that finished has said is the answer: it is judged before it is part of the conversation.
      if (step.next_action !== "finish") taken.push({ kind: "step", turn: step.turn_number, step });
    }
    return taken;
  };
  const push = (taken: readonly Entry[]): void => {
    for (const entry of taken) entries.push(entry);
  };
  turns.forEach(({ turn: number, asked, answered }, at) => {
    push(takeSteps(number - 1));
    const isPresent = number === turn;
    push(asked.map((message) => ({ kind: "spoken", turn: number, message, isRequest: true })));
    if (turns[at + 1]?.turn !== number) {
      const taken = takeSteps(number);
      push(isPresent ? betweenAttempts(taken, history.failedAttempts ?? [], turn) : taken);
    }
    push(answered.map((message) => ({ kind: "spoken", turn: number, message, isRequest: false })));
  });
  const rest = takeSteps(Infinity);
  push(
    turns.at(-1)?.turn === turn ? rest : betweenAttempts(rest, history.failedAttempts ?? [], turn),
  );
  const tail: BaseMessage[] = [];
  if (note !== undefined && note !== "") tail.push(new HumanMessage(note));
  if (pending !== undefined) {
    tail.push(new AIMessage(pending.answer), new HumanMessage(pending.request));
  }
  return { entries, tail, turn };
}

function betweenAttempts(
  steps: readonly StepEntry[],
  failed: readonly FailedAttempt[],
  turn: number,
): readonly Entry[] {
  if (failed.length === 0) return steps;
  const entries: Entry[] = [];
  let next = 0;
  for (const [attempt, one] of failed.entries()) {
    for (; (steps[next]?.step.attempt_number ?? Infinity) <= attempt; next += 1) {
      entries.push(steps[next] as StepEntry);
    }
    entries.push(...feedbackEntries(one, turn));
  }
  return [...entries, ...steps.slice(next)];
}

/** The refused answer may be shortened like any other; the reasons stay. */
export function feedbackEntries(failed: FailedAttempt, turn: number): readonly Entry[] {
  const { answer, request } = feedbackOf(failed);
  const reasons: Entry = { kind: "fixed", turn, messages: [request] };
  if (answer === null) return [reasons];
  return [{ kind: "spoken", turn, message: answer, isRequest: false }, reasons];
}

/** Made once for each attempt, so that they are counted once. */
const feedbacks = new WeakMap<FailedAttempt, { answer: AIMessage | null; request: HumanMessage }>();

function feedbackOf(failed: FailedAttempt) {
  const known = feedbacks.get(failed);
  if (known !== undefined) return known;
  const made = {
    answer: failed.answer === null ? null : new AIMessage(failed.answer),
    request: new HumanMessage(attemptFeedback(failed.errors)),
  };
  feedbacks.set(failed, made);
  return made;
}

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { parseJsonAnswer } from "../models/replies/json-answer.ts";
import { messageWithAttachments } from "../models/calls/with-attachments.ts";
import type { Rejection } from "../state/branch.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { FailedAttempt } from "../state/turn.ts";
import { canonicalJson } from "../values/json.ts";
import { attemptFeedback, executionNote, rejectionFeedback } from "./prompts.ts";
import { type ChatTurn, chatTurns } from "./chat-turns.ts";

/** What a model may be told of, in the order in which it happened. */
export interface Transcript {
  readonly entries: readonly Entry[];
  /** Said last and always whole: a request of the loop, an answer to be judged. */
  readonly tail: readonly BaseMessage[];
  /** The turn under way. */
  readonly turn: number;
}

export type Entry = ChatMessageEntry | StepEntry | FixedEntry;

/** What a person said, or was answered. */
export interface ChatMessageEntry {
  readonly kind: "spoken";
  readonly turn: number;
  readonly message: BaseMessage;
  /** What its turn is about: it stays while the turn is under way. */
  readonly isRequest: boolean;
}

export interface StepEntry {
  readonly kind: "step";
  readonly turn: number;
  readonly step: StepRecord;
}

/** What stays as it is while its turn is under way: why an answer was refused, the request of a node. */
export interface FixedEntry {
  readonly kind: "fixed";
  readonly turn: number;
  readonly messages: readonly BaseMessage[];
}

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
  const turns = chatTurns(conversation, steps, history.turnNumber);
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
    push(asked.map((message) => askedEntry(message, number, turn)));
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

/** The refused answer and the view of the state may be shortened like any other; the reasons stay. */
function feedbackEntries(failed: FailedAttempt, turn: number): readonly Entry[] {
  const { answer, request, view } = feedbackOf(failed);
  const spoken = (message: BaseMessage | null): readonly Entry[] =>
    message === null ? [] : [{ kind: "spoken", turn, message, isRequest: false }];
  return [...spoken(answer), ...spoken(view), { kind: "fixed", turn, messages: [request] }];
}

interface Feedback {
  readonly answer: AIMessage | null;
  readonly request: HumanMessage;
  readonly view: HumanMessage | null;
}

/** Made once for each attempt, so that they are counted once. */
const feedbacks = new WeakMap<FailedAttempt, Feedback>();

function feedbackOf(failed: FailedAttempt): Feedback {
  const known = feedbacks.get(failed);
  if (known !== undefined) return known;
  const { attempt_number: attempt, execution_view: lines = [] } = failed;
  const made = {
    answer: failed.answer === null ? null : new AIMessage(failed.answer),
    request: new HumanMessage(attemptFeedback(failed.errors)),
    view: lines.length === 0 ? null : new HumanMessage(executionNote(attempt, lines)),
  };
  feedbacks.set(failed, made);
  return made;
}

export interface WorkflowHistory {
  /** The messages channel. */
  readonly conversation: readonly BaseMessage[];
  readonly turnNumber: number;
  /** The node that is about to speak. */
  readonly node: string;
  /** The node's own request; empty where the conversation says what to do. */
  readonly prompt: string;
  /** The records of this attempt that the node's branch has behind it, in order. */
  readonly steps: readonly StepRecord[];
  /** The records of earlier attempts of this turn. */
  readonly earlier: readonly StepRecord[];
  readonly failedAttempts: readonly FailedAttempt[];
  /** What people rejected on the branch, in order. Default none. */
  readonly rejections?: readonly Rejection[];
  /** Said last, as the user. */
  readonly note?: string;
  /** Said after the note: what came of it, where it is asked again. */
  readonly after?: readonly BaseMessage[];
}

/**
 * What a node of a workflow may be told of: the conversation, what the nodes before it on its branch did, its own
 * request, and after that what it has done itself since it was last asked. Why an answer was refused follows the request
 * of the node that gave the answer; other nodes read it before theirs. Why a person rejected something stands where the
 * person said so, unless the request says it.
 */
export function workflowTranscript(history: WorkflowHistory): Transcript {
  const { node, prompt, steps, note, after = [], turnNumber: turn } = history;
  const asked = firstOfVisit(steps, node);
  const isOwn = ({ attempt_number, answer }: FailedAttempt) =>
    history.earlier.some(
      (step) =>
        step.node === node &&
        step.attempt_number === attempt_number &&
        isSameAnswer(step.thought, answer),
    );
  const feedback = (failed: FailedAttempt) => feedbackEntries(failed, turn);
  const behind = [
    ...steps.map((step, place) => ({ place, entry: { kind: "step", turn, step } as const })),
    ...rejectionEntries(history),
  ].toSorted((one, other) => one.place - other.place);
  const told = (isBefore: boolean): readonly Entry[] =>
    behind.filter(({ place }) => place < asked === isBefore).map(({ entry }) => entry);
  const request: Entry = { kind: "fixed", turn, messages: [new HumanMessage(prompt)] };
  const entries = [
    ...chatTurns(history.conversation, steps, turn).flatMap((said) => spokenEntries(said, turn)),
    ...history.failedAttempts.filter((failed) => !isOwn(failed)).flatMap(feedback),
    ...told(true),
    ...(prompt === "" ? [] : [request]),
    ...history.failedAttempts.filter(isOwn).flatMap(feedback),
    ...told(false),
  ];
  const noted = note === undefined || note === "" ? [] : [new HumanMessage(note)];
  return { entries, tail: [...noted, ...after], turn };
}

/** What people rejected, each just before the step that followed; what the request says is left out. */
function rejectionEntries({ rejections = [], prompt, steps, turnNumber: turn }: WorkflowHistory) {
  return rejections.flatMap(({ node, reason, after }) => {
    if (reason !== "" && prompt.includes(reason)) return [];
    const messages = [new HumanMessage(rejectionFeedback(node, reason))];
    const place = steps.findLastIndex(({ step_index }) => step_index <= after) + 0.5;
    return [{ place, entry: { kind: "fixed", turn, messages } as const }];
  });
}

function spokenEntries({ turn, asked, answered }: ChatTurn, present: number): readonly Entry[] {
  return [
    ...asked.map((message) => askedEntry(message, turn, present)),
    ...answered.map((message) => ({ kind: "spoken", turn, message, isRequest: false }) as const),
  ];
}

/** Turns in which a model gets the bytes of an attachment: that in which it came, and the next. */
const attachmentTurns = 2;

/** An older attachment costs tokens with every call: a line of text stands in its place. */
function askedEntry(message: BaseMessage, turn: number, present: number): ChatMessageEntry {
  const isRecent = present - turn < attachmentTurns;
  const told = messageWithAttachments(message, isRecent);
  return { kind: "spoken", turn, message: told, isRequest: true };
}

/** Where the node's present visit begins: at its first step after it last finished. */
function firstOfVisit(steps: readonly StepRecord[], node: string): number {
  const finished = steps.findLastIndex(
    (step) => step.node === node && step.next_action === "finish",
  );
  const begun = steps.findIndex((step, index) => index > finished && step.node === node);
  return begun < 0 ? steps.length : begun;
}

/** Whether two texts are the same, or the same JSON however it is written. */
function isSameAnswer(said: string, answer: string | null): boolean {
  if (answer === null || said === answer) return said === answer;
  const [one, other] = [said, answer].map(parseJsonAnswer);
  return (
    one?.ok === true &&
    other?.ok === true &&
    canonicalJson(one.value) === canonicalJson(other.value)
  );
}

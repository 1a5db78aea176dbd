import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { parseJsonAnswer } from "../models/replies/json-answer.ts";
import { messageWithAttachments } from "../models/calls/with-attachments.ts";
import type { Rejection } from "../state/branch.ts";
import type { StepRecord } from "../state/step-record.ts";
import { appendFold, type FailedAttempt, placeOf } from "../state/turn.ts";
import { canonicalJson } from "../values/json.ts";
import { attemptFeedback, executionNote, rejectionFeedback } from "./prompts.ts";
import { type ChatTurn, chatTurns } from "./chat-turns.ts";
import { TextCache } from "../values/text.ts";

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
  const { conversation, openStep, note, pending, failedAttempts: failed = [] } = history;
  const turns = chatTurns(conversation, history.steps, {
    present: history.turnNumber,
    openStep,
  });
  const lastStep = openStep ?? history.steps.at(-1);
  const turn = history.turnNumber ?? Math.max(turns.at(-1)?.turn ?? 0, lastStep?.turn_number ?? 0);
  const runs = openStep === undefined ? stepRuns(history.steps) : withOpen(history.steps, openStep);
  const told: (readonly Entry[])[] = [];
  let nextRun = 0;
  const takeSteps = (until: number): readonly StepEntry[] => {
    const taken: (readonly StepEntry[])[] = [];
    for (; nextRun < runs.length; nextRun += 1) {
      const { turn: last, entries } = runs[nextRun] as StepRun;
      if (last > until) break;
      taken.push(entries);
    }
    return taken.length === 1 ? (taken[0] as readonly StepEntry[]) : joined(taken);
  };
  turns.forEach(({ turn: number, asked, added, answered }, at) => {
    told.push(takeSteps(number - 1));
    told.push(asked.map((message) => askedEntry(message, number, turn)));
    if (turns[at + 1]?.turn !== number) {
      const taken = withAdded(takeSteps(number), added, number);
      told.push(number === turn ? betweenAttempts(taken, failed, turn) : taken);
    }
    told.push(answered.map((message) => answeredEntry(message, number)));
  });
  const rest = takeSteps(Infinity);
  told.push(turns.at(-1)?.turn === turn ? rest : betweenAttempts(rest, failed, turn));
  const tail: BaseMessage[] = [];
  if (note !== undefined && note !== "") tail.push(new HumanMessage(note));
  if (pending !== undefined) {
    tail.push(new AIMessage(pending.answer), new HumanMessage(pending.request));
  }
  return { entries: joined(told), tail, turn };
}

/** Of a few long lists it is several times faster than `flat`. */
function joined<T>(parts: readonly (readonly T[])[]): readonly T[] {
  const all: T[] = [];
  for (const part of parts) for (const one of part) all.push(one);
  return all;
}

/** Steps that follow each other, of one turn or, in an edited history, of earlier ones. */
interface StepRun {
  readonly turn: number;
  readonly entries: readonly StepEntry[];
}

const stepRuns = appendFold<StepRecord, { turn: number; entries: StepEntry[] }[]>(
  () => [],
  (runs, step) => {
    const last = runs.at(-1);
    const entries = last === undefined || step.turn_number > last.turn ? [] : last.entries;
    if (entries !== last?.entries) runs.push({ turn: step.turn_number, entries });
    // What a step that finished has said is the answer: it is judged before it is part of the conversation.
    if (step.next_action !== "finish") entries.push(stepEntry(step, step.turn_number));
  },
);

function withOpen(steps: readonly StepRecord[], open: StepRecord): readonly StepRun[] {
  const runs = stepRuns(steps);
  if (open.next_action === "finish") return runs;
  const last = runs.at(-1);
  const entry = stepEntry(open, open.turn_number);
  if (last === undefined || open.turn_number > last.turn) {
    return [...runs, { turn: open.turn_number, entries: [entry] }];
  }
  return [...runs.slice(0, -1), { ...last, entries: [...last.entries, entry] }];
}

/** Entries are made once, so that contexts know at once which they have. */
const entriesOf = new WeakMap<object, Entry>();

function stepEntry(step: StepRecord, turn: number): StepEntry {
  const known = entriesOf.get(step);
  if (known?.kind === "step" && known.turn === turn) return known;
  const made: StepEntry = { kind: "step", turn, step };
  entriesOf.set(step, made);
  return made;
}

function spokenEntry(message: BaseMessage, turn: number, isRequest: boolean): ChatMessageEntry {
  const known = entriesOf.get(message);
  if (known?.kind === "spoken" && known.turn === turn && known.isRequest === isRequest) {
    return known;
  }
  const made: ChatMessageEntry = { kind: "spoken", turn, message, isRequest };
  entriesOf.set(message, made);
  return made;
}

/** The steps of a turn, with each message that was added to it before the step that read it first. */
function withAdded(
  steps: readonly StepEntry[],
  added: readonly BaseMessage[],
  turn: number,
): readonly (StepEntry | ChatMessageEntry)[] {
  if (added.length === 0) return steps;
  const told: (readonly (StepEntry | ChatMessageEntry)[])[] = [];
  let next = 0;
  for (const message of added) {
    const from = next;
    const readAt = placeOf(message)?.step_index ?? Infinity;
    while ((steps[next]?.step.step_index ?? Infinity) < readAt) next += 1;
    told.push(steps.slice(from, next), [spokenEntry(message, turn, true)]);
  }
  return joined([...told, steps.slice(next)]);
}

function attemptOf(entry: StepEntry | ChatMessageEntry): number {
  if (entry.kind === "step") return entry.step.attempt_number;
  return placeOf(entry.message)?.attempt_number ?? 0;
}

function answeredEntry(message: BaseMessage, turn: number): ChatMessageEntry {
  return spokenEntry(message, turn, false);
}

function fixedEntry(message: BaseMessage, turn: number): FixedEntry {
  const known = entriesOf.get(message);
  if (known?.kind === "fixed" && known.turn === turn) return known;
  const made: FixedEntry = { kind: "fixed", turn, messages: [message] };
  entriesOf.set(message, made);
  return made;
}

function betweenAttempts(
  told: readonly (StepEntry | ChatMessageEntry)[],
  failed: readonly FailedAttempt[],
  turn: number,
): readonly Entry[] {
  if (failed.length === 0) return told;
  const entries: (readonly Entry[])[] = [];
  let next = 0;
  for (const [attempt, one] of failed.entries()) {
    const from = next;
    for (let entry = told[next]; entry && attemptOf(entry) <= attempt; entry = told[next])
      next += 1;
    entries.push(told.slice(from, next), feedbackEntries(one, turn));
  }
  return joined([...entries, told.slice(next)]);
}

/** The refused answer and the view of the state may be shortened like any other; the reasons stay. */
function feedbackEntries(failed: FailedAttempt, turn: number): readonly Entry[] {
  const { answer, request, view } = feedbackOf(failed);
  const entries: Entry[] = [answer, view]
    .filter((message) => message !== null)
    .map((message) => answeredEntry(message, turn));
  return [...entries, fixedEntry(request, turn)];
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
  const { node, prompt, steps, note, after = [], turnNumber: turn, failedAttempts: all } = history;
  const { entries: done, begun } = visits(steps);
  const asked = begun.get(node) ?? steps.length;
  const own = all.length === 0 ? [] : all.filter((failed) => isOwn(failed, history));
  const others = own.length === 0 ? all : all.filter((failed) => !own.includes(failed));
  const feedback = (failed: FailedAttempt) => feedbackEntries(failed, turn);
  const rejected = rejectionEntries(history);
  const entries = joined([
    ...chatTurns(history.conversation, steps, { present: turn }).map((said) =>
      spokenEntries(said, turn),
    ),
    ...others.map(feedback),
    ...withRejections(
      done.slice(0, asked),
      rejected.filter(({ place }) => place < asked),
      0,
    ),
    prompt === "" ? [] : [requestEntry(prompt, turn)],
    ...own.map(feedback),
    ...withRejections(
      done.slice(asked),
      rejected.filter(({ place }) => place >= asked),
      asked,
    ),
  ]);
  const noted = note === undefined || note === "" ? [] : [new HumanMessage(note)];
  return { entries, tail: [...noted, ...after], turn };
}

interface Visits {
  readonly entries: StepEntry[];
  /** Place of the first step of each node's present visit: the first one after it last finished. */
  readonly begun: Map<string, number>;
}

const visits = appendFold<StepRecord, Visits>(
  () => ({ entries: [], begun: new Map() }),
  ({ entries, begun }, step) => {
    const { node } = step;
    if (step.next_action === "finish") begun.delete(node);
    else if (!begun.has(node)) begun.set(node, entries.length);
    entries.push(stepEntry(step, step.turn_number));
  },
);

const requests = new TextCache<FixedEntry>({ texts: 1000, characters: 4_000_000 });

/** The same entry for the same text in a turn, so that it is counted once. */
function requestEntry(text: string, turn: number): FixedEntry {
  return requests.get(`${turn} ${text}`, () => fixedEntry(new HumanMessage(text), turn));
}

/** Whether a refused answer was this node's. */
function isOwn(
  { attempt_number, answer }: FailedAttempt,
  { earlier, node }: WorkflowHistory,
): boolean {
  return earlier.some(
    (step) =>
      step.node === node &&
      step.attempt_number === attempt_number &&
      isSameAnswer(step.thought, answer),
  );
}

interface PlacedEntry {
  /** Between two steps. */
  readonly place: number;
  readonly entry: Entry;
}

/** Steps of a part of the branch, which begins at a place, with what people rejected between them. */
function withRejections(
  steps: readonly StepEntry[],
  rejected: readonly PlacedEntry[],
  start: number,
): readonly (readonly Entry[])[] {
  const told: (readonly Entry[])[] = [];
  let next = 0;
  for (const { place, entry } of rejected) {
    const until = Math.ceil(place) - start;
    told.push(steps.slice(next, until), [entry]);
    next = until;
  }
  return [...told, steps.slice(next)];
}

/** What people rejected, each just before the step that followed; what the request says is left out. */
function rejectionEntries(history: WorkflowHistory): readonly PlacedEntry[] {
  const { rejections = [], prompt, steps, turnNumber: turn } = history;
  return rejections
    .flatMap(({ node, reason, after }) => {
      if (reason !== "" && prompt.includes(reason)) return [];
      const entry = requestEntry(rejectionFeedback(node, reason), turn);
      const place = steps.findLastIndex(({ step_index }) => step_index <= after) + 0.5;
      return [{ place, entry }];
    })
    .toSorted((one, other) => one.place - other.place);
}

function spokenEntries(
  { turn, asked, added, answered }: ChatTurn,
  present: number,
): readonly Entry[] {
  return [
    ...asked.map((message) => askedEntry(message, turn, present)),
    ...[...added, ...answered].map((message) => answeredEntry(message, turn)),
  ];
}

/** Turns in which a model gets the bytes of an attachment: that in which it came, and the next. */
const attachmentTurns = 2;

/** An older attachment costs tokens with every call: a line of text stands in its place. */
function askedEntry(message: BaseMessage, turn: number, present: number): ChatMessageEntry {
  const isRecent = present - turn < attachmentTurns;
  const told = messageWithAttachments(message, isRecent);
  return spokenEntry(told, turn, true);
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

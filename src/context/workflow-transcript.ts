import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { parseJsonAnswer } from "../models/json-answer.ts";
import { canonicalJson } from "../state/canonical-json.ts";
import type { Rejection } from "../state/branch.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { FailedAttempt } from "../state/turn.ts";
import { rejectionFeedback } from "./prompts.ts";
import { feedbackEntries } from "./loop-transcript.ts";
import { spokenTurns, type SpokenTurn } from "./spoken-turns.ts";
import type { Entry, Transcript } from "./transcript.ts";

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
    ...spokenTurns(history.conversation, steps, turn).flatMap(spokenEntries),
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

function spokenEntries({ turn, asked, answered }: SpokenTurn): readonly Entry[] {
  return [
    ...asked.map((message) => ({ kind: "spoken", turn, message, isRequest: true }) as const),
    ...answered.map((message) => ({ kind: "spoken", turn, message, isRequest: false }) as const),
  ];
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

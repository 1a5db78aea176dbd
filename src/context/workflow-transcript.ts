import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { parseJsonAnswer } from "../models/json-answer.ts";
import { canonicalJson } from "../state/canonical-json.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { FailedAttempt } from "../state/turn.ts";
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
  /** Said last, as the user. */
  readonly note?: string;
  /** Said after the note: what came of it, where it is asked again. */
  readonly after?: readonly BaseMessage[];
}

/**
 * What a node of a workflow may be told of: the conversation, what the nodes before it on its branch did, its own
 * request, and after that what it has done itself since it was last asked. Why an answer was refused follows the request
 * of the node that gave the answer; other nodes read it before theirs.
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
  const told = (from: number, to?: number): readonly Entry[] =>
    steps.slice(from, to).map((step) => ({ kind: "step", turn, step }));
  const request: Entry = { kind: "fixed", turn, messages: [new HumanMessage(prompt)] };
  const entries = [
    ...spokenTurns(history.conversation, steps, turn).flatMap(spokenEntries),
    ...history.failedAttempts.filter((failed) => !isOwn(failed)).flatMap(feedback),
    ...told(0, asked),
    ...(prompt === "" ? [] : [request]),
    ...history.failedAttempts.filter(isOwn).flatMap(feedback),
    ...told(asked),
  ];
  const noted = note === undefined || note === "" ? [] : [new HumanMessage(note)];
  return { entries, tail: [...noted, ...after], turn };
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

import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { parseJsonAnswer } from "../models/json-answer.ts";
import { canonicalJson } from "../state/canonical-json.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { FailedAttempt } from "../state/turn.ts";
import { feedback, spoken } from "./loop-context.ts";
import { stepMessages, type StepForm } from "./step-messages.ts";

export interface WorkflowContextOptions {
  /** What every call of the node begins with. */
  readonly opening: readonly BaseMessage[];
  /** The messages channel. */
  readonly conversation: readonly BaseMessage[];
  /** The node that is about to speak. */
  readonly node: string;
  /** The node's own request; empty where the conversation says what to do. */
  readonly prompt: string;
  /** The records of this attempt that the node's branch has behind it, in order. */
  readonly steps: readonly StepRecord[];
  /** The records of earlier attempts of this turn. */
  readonly earlier: readonly StepRecord[];
  readonly failedAttempts: readonly FailedAttempt[];
  readonly toolForm: StepForm;
  /** Said last, as the user. */
  readonly note?: string;
}

/**
 * What a node of a workflow gets to read: the opening, the conversation, what the nodes before it on its branch did,
 * its own request, and after that what it has done itself since it was last asked. Why an answer was refused follows
 * the request of the node that gave the answer; other nodes read it before theirs.
 */
export function buildWorkflowContext(options: WorkflowContextOptions): BaseMessage[] {
  const { node, prompt, steps, toolForm, note } = options;
  const asked = firstOfVisit(steps, node);
  const isOwn = ({ attempt_number, answer }: FailedAttempt) =>
    options.earlier.some(
      (step) =>
        step.node === node &&
        step.attempt_number === attempt_number &&
        isSameAnswer(step.thought, answer),
    );
  const messages = [
    ...options.opening,
    ...spoken(options.conversation),
    ...options.failedAttempts.filter((failed) => !isOwn(failed)).flatMap(feedback),
  ];
  const show = (from: number, to: number) => {
    for (const step of steps.slice(from, to)) {
      for (const message of shown(step, toolForm)) messages.push(message);
    }
  };
  show(0, asked);
  if (prompt !== "") messages.push(new HumanMessage(prompt));
  messages.push(...options.failedAttempts.filter(isOwn).flatMap(feedback));
  show(asked, steps.length);
  if (note !== undefined && note !== "") messages.push(new HumanMessage(note));
  return messages;
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

/** A record never changes, so that its messages are made once however often it is read. */
const known: Readonly<Record<StepForm, WeakMap<StepRecord, readonly BaseMessage[]>>> = {
  native: new WeakMap(),
  text: new WeakMap(),
  report: new WeakMap(),
};

function shown(step: StepRecord, form: StepForm): readonly BaseMessage[] {
  const messages = known[form].get(step) ?? messagesOf(step, form);
  known[form].set(step, messages);
  return messages;
}

/** In a workflow an answer is for the nodes that follow. */
function messagesOf(step: StepRecord, form: StepForm): readonly BaseMessage[] {
  if (step.next_action !== "finish") return stepMessages(step, form);
  return step.thought === "" ? [] : [new AIMessage(step.thought)];
}

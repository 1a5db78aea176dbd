import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { appendFold } from "../state/append-fold.ts";
import type { StepRecord } from "../state/step-record.ts";
import type { FailedAttempt } from "../state/turn.ts";
import { attemptFeedback } from "./prompts.ts";
import { stepMessages, type ToolForm } from "./step-messages.ts";

export interface LoopContextOptions {
  /** What every call begins with: {@link openingMessages}. */
  readonly opening: readonly BaseMessage[];
  /** The messages channel. */
  readonly conversation: readonly BaseMessage[];
  /** All step records of the thread; those of `turnNumber` are shown. */
  readonly steps: readonly StepRecord[];
  readonly turnNumber: number;
  readonly failedAttempts: readonly FailedAttempt[];
  readonly toolForm: ToolForm;
  /** A step of the last attempt that is not in `steps` yet. */
  readonly openStep?: StepRecord;
  /** Said last, as the user: a request to the model, notes of deep mode. */
  readonly note?: string;
  /** An answer that is being judged, and what is asked about it. */
  readonly pending?: { readonly answer: string; readonly request: string };
}

/**
 * What a model call gets to read: the opening, what people said and were answered in all turns, the steps of this
 * turn, and after each failed attempt why it was refused. From step to step the front stays as it was.
 */
export function buildLoopContext(options: LoopContextOptions): BaseMessage[] {
  const { failedAttempts, note, pending } = options;
  const messages = options.opening.concat(spoken(options.conversation));
  const { turnNumber, attempts } = shown[options.toolForm](options.steps);
  const count = Math.max(
    failedAttempts.length,
    turnNumber === options.turnNumber ? attempts.length : 0,
  );
  for (let attempt = 0; attempt < count; attempt += 1) {
    const steps = turnNumber === options.turnNumber ? attempts[attempt] : undefined;
    if (steps !== undefined) for (const message of steps) messages.push(message);
    const failed = failedAttempts[attempt];
    if (failed !== undefined) messages.push(...feedback(failed));
  }
  if (options.openStep !== undefined) {
    messages.push(...stepMessages(options.openStep, options.toolForm));
  }
  if (note !== undefined && note !== "") messages.push(new HumanMessage(note));
  if (pending !== undefined) {
    messages.push(new AIMessage(pending.answer), new HumanMessage(pending.request));
  }
  return messages;
}

/** What was said aloud: by people, and to them. */
export const spoken = appendFold<BaseMessage, BaseMessage[]>(
  () => [],
  (messages, message) => {
    const isAnswer = AIMessage.isInstance(message) && (message.tool_calls?.length ?? 0) === 0;
    if (isAnswer || HumanMessage.isInstance(message)) messages.push(message);
  },
);

interface ShownTurn {
  turnNumber: number;
  /** Messages by attempt. */
  attempts: BaseMessage[][];
}

/** The last turn's steps as messages, for each form. */
const shown: Readonly<Record<ToolForm, (steps: readonly StepRecord[]) => ShownTurn>> = {
  native: shownIn("native"),
  text: shownIn("text"),
};

function shownIn(form: ToolForm) {
  return appendFold<StepRecord, ShownTurn>(
    () => ({ turnNumber: -1, attempts: [] }),
    (turn, step) => {
      if (turn.turnNumber !== step.turn_number) {
        turn.turnNumber = step.turn_number;
        turn.attempts = [];
      }
      const messages = (turn.attempts[step.attempt_number] ??= []);
      messages.push(...stepMessages(step, form));
    },
  );
}

export function feedback(failed: FailedAttempt): BaseMessage[] {
  const request = new HumanMessage(attemptFeedback(failed.errors));
  return failed.answer === null ? [request] : [new AIMessage(failed.answer), request];
}

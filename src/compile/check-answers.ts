import { hashRequest } from "../state/approval-hash.ts";
import { bindAnswer, isBound } from "../state/bind-answer.ts";
import { checkHumanAnswer, type HumanAnswer } from "../state/human-answer.ts";
import {
  AmbiguousAnswerError,
  ApprovalMismatchError,
  InvalidAnswerError,
  NothingToAnswerError,
  UnknownInterruptError,
} from "./answer-errors.ts";
import type { WaitingRequest } from "./waiting-requests.ts";

/** One answer to whatever waits, or answers by the id of what they are for. */
export type GivenAnswers =
  | { readonly bare: unknown }
  | { readonly byId: Readonly<Record<string, unknown>> };

export interface AnsweredThread {
  readonly threadId: string;
  /** Null for a thread that does not exist. */
  readonly status: string | null;
  readonly waiting: readonly WaitingRequest[];
  /** Whether what waits was edited, and is asked about for the first time. Default false. */
  readonly isUnseen?: boolean;
}

/**
 * Answers by the id of the request that each is for, bound to the hash of what that proposes. The node that asked
 * refuses an answer with another hash than that of what it would do.
 *
 * @throws NothingToAnswerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, ApprovalMismatchError
 */
export function checkAnswers(
  given: GivenAnswers,
  { threadId, status, waiting, isUnseen = false }: AnsweredThread,
): Record<string, unknown> {
  const [only, ...others] = waiting;
  if (only === undefined) throw new NothingToAnswerError(threadId, status);
  if ("bare" in given && others.length > 0) throw new AmbiguousAnswerError(waiting);
  const answers = "bare" in given ? { [only.id]: given.bare } : given.byId;
  const bound = Object.entries(answers).map(([id, answer]) => {
    const request = waiting.find((one) => one.id === id);
    if (request === undefined) throw new UnknownInterruptError(id, waiting);
    return [id, request.isOurs ? checkAnswer(request, answer, isUnseen) : answer];
  });
  return Object.fromEntries(bound) as Record<string, unknown>;
}

/** @throws InvalidAnswerError, ApprovalMismatchError */
function checkAnswer(request: WaitingRequest, answer: unknown, isUnseen: boolean): unknown {
  const { id, node } = request;
  const checked = checkHumanAnswer(request, answer);
  if (!checked.ok) {
    throw checked.mismatch === true
      ? new ApprovalMismatchError(id, node, checked.problem)
      : new InvalidAnswerError(id, node, checked.problem);
  }
  if (isUnseen && hashRequest(request) !== null && !isBound(answer) && allows(checked)) {
    const why = "What waits was edited after it was asked about, and the answer names no hash.";
    throw new ApprovalMismatchError(id, node, why);
  }
  return bindAnswer(request, answer);
}

/** Whether something is done as it is proposed, or as the answer changes it. */
function allows(answer: HumanAnswer): boolean {
  const decisions = answer.on === "value" ? [answer.decision] : [...answer.decisions.values()];
  return decisions.some(({ decision }) => decision !== "reject");
}

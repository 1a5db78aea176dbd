import { checkHumanAnswer } from "../state/human-answer.ts";
import {
  AmbiguousAnswerError,
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
}

/**
 * Answers by the id of the request that each is for.
 *
 * @throws NothingToAnswerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError
 */
export function checkAnswers(
  given: GivenAnswers,
  { threadId, status, waiting }: AnsweredThread,
): Record<string, unknown> {
  const [only, ...others] = waiting;
  if (only === undefined) throw new NothingToAnswerError(threadId, status);
  if ("bare" in given && others.length > 0) throw new AmbiguousAnswerError(waiting);
  const answers = "bare" in given ? { [only.id]: given.bare } : { ...given.byId };
  for (const [id, answer] of Object.entries(answers)) {
    const request = waiting.find((one) => one.id === id);
    if (request === undefined) throw new UnknownInterruptError(id, waiting);
    const checked = request.isOurs ? checkHumanAnswer(request, answer) : { ok: true as const };
    if (!checked.ok) throw new InvalidAnswerError(id, request.node, checked.problem);
  }
  return answers;
}

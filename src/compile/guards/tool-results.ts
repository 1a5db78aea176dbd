import { readToolResults } from "../../state/human-answer.ts";
import {
  type ClientCall,
  clientCallsIn,
  type PendingRequest,
  proposedCalls,
} from "../../state/human-request.ts";
import { isRecord } from "../../values/json.ts";
import { truncateText } from "../../values/text.ts";
import { AnswerError } from "../errors.ts";

/** A result was given for a call that does not wait for one. Nothing was written. */
export class UnknownToolCallError extends AnswerError {
  readonly code = "unknown_tool_call";

  constructor(
    readonly callId: string,
    readonly waiting: readonly ClientCall[],
  ) {
    super(
      `Call ${named(callId)} does not wait for a result: it has one, or it was not requested. Calls that wait: ${listed(waiting)}.`,
      { advice: "Give results for these calls only." },
    );
  }
}

/** Results of tool calls do not have the form of results, or two are for one call. Nothing was written. */
export class InvalidToolResultError extends AnswerError {
  readonly code = "invalid_tool_result";

  constructor(
    /** What was expected, and what came instead. */
    readonly problem: string,
  ) {
    super(`The tool results do not fit. ${problem}`);
  }
}

/** Calls of several agents have the id of a result. */
export class AmbiguousToolResultError extends AnswerError {
  readonly code = "ambiguous_tool_result";

  constructor(
    readonly callId: string,
    readonly requests: readonly string[],
  ) {
    super(
      `${requests.length} calls of different agents have the id ${named(callId)}, and the result does not name the request of one: ${requests.join(", ")}.`,
      { advice: "Add request_id to the result." },
    );
  }
}

/** Tool results were given to a thread that waits for people, or an answer to one that waits for tool results. */
export class WrongAnswerKindError extends AnswerError {
  readonly code = "wrong_answer_kind";

  constructor(
    readonly threadId: string,
    readonly expected: "answer" | "toolResults",
  ) {
    super(
      expected === "answer"
        ? `Thread "${threadId}" waits for a person, not for tool results.`
        : `Thread "${threadId}" waits for the results of client tools, not for a person's answer.`,
      {
        advice:
          expected === "answer"
            ? "Answer with { answer }, or with { answers: { [id]: answer } }."
            : "Give { toolResults: [{ call_id, output }] }.",
      },
    );
  }
}

/**
 * Returns tool results as answers by request id.
 *
 * @param waiting the pending requests for results, at least one
 * @throws UnknownToolCallError, InvalidToolResultError, AmbiguousToolResultError
 */
export function answersOfResults(
  given: unknown,
  waiting: readonly PendingRequest[],
): Readonly<Record<string, unknown>> {
  const calls = clientCallsIn(waiting);
  const byRequest = new Map<string, unknown[]>();
  for (const result of Array.isArray(given) ? (given as readonly unknown[]) : [given]) {
    const id = isRecord(result) ? result["call_id"] : undefined;
    if (!isRecord(result) || typeof id !== "string") {
      throw new InvalidToolResultError(
        "Expected a list of { call_id, output } or { call_id, error }.",
      );
    }
    const request = requestOfCall(id, result["request_id"], calls);
    byRequest.set(request, [...(byRequest.get(request) ?? []), result]);
  }
  if (byRequest.size === 0) throw new InvalidToolResultError("Expected at least one result.");
  return Object.fromEntries(
    [...byRequest].map(([id, results]) => {
      const request = waiting.find((one) => one.id === id);
      const read = readToolResults(proposedCalls(request?.proposed), results);
      if (!read.ok) throw new InvalidToolResultError(read.problem);
      return [id, { tool_results: read.value }];
    }),
  );
}

function requestOfCall(callId: string, given: unknown, calls: readonly ClientCall[]): string {
  const requests = calls
    .filter((call) => call.call_id === callId)
    .filter(({ request_id }) => given === undefined || request_id === given)
    .map(({ request_id }) => request_id);
  const [only, ...others] = requests;
  if (only === undefined) throw new UnknownToolCallError(callId, calls);
  if (others.length > 0) throw new AmbiguousToolResultError(callId, requests);
  return only;
}

/** Models write ids of calls, and callers repeat them. */
function named(callId: string): string {
  return JSON.stringify(truncateText(callId, 100));
}

function listed(calls: readonly ClientCall[]): string {
  return calls.map(({ call_id, tool }) => `${named(call_id)} (${tool})`).join(", ");
}

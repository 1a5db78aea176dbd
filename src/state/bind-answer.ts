import { hashCall, hashRequest, proposedCalls } from "./approval-hash.ts";
import { isDecisionRecord, type Decision } from "./decision.ts";
import { checkHumanAnswer, type AnsweredRequest } from "./human-answer.ts";
import { isRecord } from "./is-record.ts";

/**
 * An answer that names the hash of what it decides on, as a record. What cannot be read, and an answer where nothing is
 * approved, stays as it is. The hash is that of the request: give the one that the answer is for.
 */
export function bindAnswer(request: AnsweredRequest, answer: unknown): unknown {
  const hash = hashRequest(request);
  const read = hash === null ? null : checkHumanAnswer(request, answer);
  if (read?.ok !== true) return answer;
  if (read.on === "value") {
    // The value as it was given: its node applies the schema.
    const value = isDecisionRecord(answer) ? answer["value"] : answer;
    return recordOf(read.decision, { hash, value });
  }
  const decisions = proposedCalls(request.proposed).map((call) => {
    const decision = read.decisions.get(call.id) ?? { decision: "reject", reason: "" };
    const args = decision.decision === "edit" ? decision.value : undefined;
    return [call.id, recordOf(decision, { hash: hashCall(call), args })];
  });
  return { decisions: Object.fromEntries(decisions) as Record<string, unknown> };
}

/** Whether every decision of an answer names a hash. */
export function isBound(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.every(isBound);
  if (!isRecord(answer)) return false;
  const { decisions, hash } = answer;
  return isRecord(decisions) ? Object.values(decisions).every(isBound) : typeof hash === "string";
}

function recordOf(
  { decision, ...said }: Decision,
  { hash, ...edited }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  switch (decision) {
    case "approve":
      return { decision, hash };
    case "edit":
      return { decision, ...edited, hash };
    case "reject":
      return { decision, ...said, hash };
  }
}

import { errorMessage } from "../errors.ts";
import { takesCertainValues, valueSchemaOf } from "./answer-schema.ts";
import { hashRequest, proposedCalls } from "./approval-hash.ts";
import { readCallAnswer, type CallDecisions } from "./call-answer.ts";
import {
  expectedForms,
  isDecisionRecord,
  problem,
  readDecision,
  shown,
  wordDecision,
  type Decision,
  type DecisionForms,
  type Read,
} from "./decision.ts";
import type { HumanRequest } from "./human-request.ts";
import { zodFromJsonSchema } from "./zod-from-json-schema.ts";

/** A person's answer as it was understood. What was entered, or edited without more words, is a decision to edit. */
export type HumanAnswer =
  | { readonly ok: true; readonly on: "value"; readonly decision: Decision }
  /** `decisions` has every call that waits. */
  | { readonly ok: true; readonly on: "calls"; readonly decisions: CallDecisions };

/** A request as far as an answer is read by it. */
export type AnsweredRequest = Pick<HumanRequest, "kind" | "proposed" | "schema"> &
  Partial<Pick<HumanRequest, "prompt">>;

/**
 * Reads what a person answered. `problem` says what was expected and what came instead; it can be shown to the person,
 * who is asked again. Never throws.
 */
export function checkHumanAnswer(
  request: AnsweredRequest,
  answer: unknown,
): HumanAnswer | Extract<Read<unknown>, { readonly ok: false }> {
  if (request.kind === "tool_approval") {
    const read = readCallAnswer(proposedCalls(request.proposed), answer);
    return read.ok ? { ok: true, on: "calls", decisions: read.value } : read;
  }
  const read = readValueAnswer(request, answer);
  return read.ok ? { ok: true, on: "value", decision: read.value } : read;
}

function readValueAnswer(request: AnsweredRequest, answer: unknown): Read<Decision> {
  const { kind } = request;
  const forms: DecisionForms = {
    approves: kind !== "input",
    edits: kind === "input" ? ["answer", "edit"] : ["edit"],
    key: "value",
    ...(kind !== "input" && { hash: () => hashRequest(request) }),
    check: (value) => checkValue(request, value),
  };
  const isText = isNewText(request, answer) && forms.check(answer).ok;
  const decided = isText ? null : readDecision(answer, forms);
  if (decided !== null) return decided;
  const takesBare = kind !== "approval" && answer !== undefined && !isDecisionRecord(answer);
  const checked = takesBare ? forms.check(answer) : null;
  if (checked?.ok === true) return { ok: true, value: { decision: "edit", value: checked.value } };
  if (checked !== null && kind === "input") return checked;
  const others = kind === "approval" ? [] : ["the new value itself"];
  const why = checked === null ? "" : ` ${checked.problem}`;
  return problem(`Expected ${expectedForms(forms, others)}; got ${shown(answer)}.${why}`);
}

/**
 * Whether a word that decides elsewhere may be the new text: a text is proposed, or the schema says what is taken.
 * "approve" and "reject" as documented always decide.
 */
function isNewText(
  request: Pick<HumanRequest, "kind" | "proposed" | "schema">,
  answer: unknown,
): boolean {
  if (request.kind !== "edit" || answer === wordDecision(answer)) return false;
  if (typeof answer !== "string") return false;
  return typeof request.proposed === "string" || takesCertainValues(request);
}

function checkValue(request: Pick<HumanRequest, "schema">, value: unknown): Read<unknown> {
  const schema = valueSchemaOf(request);
  if (schema === null) return { ok: true, value };
  try {
    const parsed = zodFromJsonSchema(schema).safeParse(value);
    if (parsed.success) return { ok: true, value: parsed.data };
    const issues = parsed.error.issues.map(({ path, message }) => {
      return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
    });
    return problem(`The value does not fit its schema: ${issues.join("; ")}; got ${shown(value)}.`);
  } catch (thrown) {
    // A schema that refers to itself walks as deep as the value goes.
    return problem(`The value cannot be checked: ${errorMessage(thrown)}.`);
  }
}

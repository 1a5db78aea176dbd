import { isDecisionRecord } from "../../state/decision.ts";
import { checkHumanAnswer } from "../../state/human-answer.ts";
import { isRecord } from "../../state/is-record.ts";
import type { PendingRequest } from "../../state/human-request.ts";

/** An answer as it was typed, or why it is none. */
export type TypedAnswer =
  | { readonly ok: true; readonly answer: unknown }
  /** `answer` is what comes nearest. */
  | { readonly ok: false; readonly answer: unknown; readonly problem: string };

/**
 * What a person typed as an answer: JSON, or a text as it stands, whichever the request takes. A text that is JSON as
 * well is taken as a text where one is asked for, unless it is a decision.
 */
export function readAnswer(request: PendingRequest, typed: string): TypedAnswer {
  const json = parsed(typed);
  if (isDecisionRecord(json?.value)) return firstFitting(request, [json.value]);
  return firstFitting(request, formsOf(request, typed));
}

/** The same for a new value of what is proposed, which is never taken as a decision. */
export function readEdit(request: PendingRequest, typed: string): TypedAnswer {
  const edits = formsOf(request, typed).map((value) => ({ decision: "edit", value }));
  return firstFitting(request, edits);
}

function formsOf(request: PendingRequest, typed: string): readonly unknown[] {
  const json = parsed(typed);
  if (json === undefined) return [typed];
  return takesText(request) ? [typed, json.value] : [json.value, typed];
}

function firstFitting(request: PendingRequest, answers: readonly unknown[]): TypedAnswer {
  const read = answers.map((answer) => ({ answer, checked: checkHumanAnswer(request, answer) }));
  const fitting = read.find(({ checked }) => checked.ok);
  if (fitting !== undefined) return { ok: true, answer: fitting.answer };
  const [first] = read;
  const problem = first?.checked.ok === false ? first.checked.problem : "";
  return { ok: false, answer: first?.answer, problem };
}

/** Whether a text is asked for, or takes the place of one. */
function takesText(request: PendingRequest): boolean {
  if (request.kind === "edit") return typeof request.proposed === "string";
  const schema = newValueSchema(request);
  return isRecord(schema) && schema["type"] === "string";
}

/** The schema of a new value, as it was given; undefined where none may come. */
export function newValueSchema({ schema }: PendingRequest): unknown {
  const definitions = schema["$defs"] ?? schema["definitions"];
  return isRecord(definitions) ? definitions["value"] : undefined;
}

/** What a text is as JSON, or undefined where it is none. */
export function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

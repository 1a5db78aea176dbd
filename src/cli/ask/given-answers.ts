import { isDecisionRecord } from "../../state/answer-schema.ts";
import { checkRequestAnswer } from "../../planning/plan-answer.ts";
import { bindAnswer } from "../../state/human-answer.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { isRecord } from "../../values/json.ts";
import { UsageError } from "../io.ts";

/** The values of `--answer`, before the pending requests are known. */
export type AnswerTexts = string | ReadonlyMap<string, string>;

/** Either `{ answer }` or `{ answers }`, as `executeAgent` takes them. */
export type AnswersOfRun =
  | { readonly answer: unknown }
  | { readonly answers: Readonly<Record<string, unknown>> };

/**
 * Reads the values of `--answer`: one answer, or any number of them by the ids of requests.
 * @throws UsageError
 */
export function parseAnswerOptions(values: readonly string[]): AnswerTexts {
  const byId = new Map<string, string>();
  const bare: string[] = [];
  for (const value of values) {
    const [, id, text = ""] = /^([0-9a-f]{32})=(.*)$/s.exec(value) ?? [];
    if (id === undefined) bare.push(value);
    else if (byId.has(id)) throw new UsageError(`--answer was given twice for request ${id}.`);
    else byId.set(id, text);
  }
  const [only, ...others] = bare;
  if (only === undefined) return byId;
  if (others.length > 0 || byId.size > 0) {
    throw new UsageError(
      "Only a single --answer can omit the request id. Give each as --answer ID=ANSWER.",
    );
  }
  return only;
}

/** The answers in the form that what waits takes, with its hash; those that fit nowhere as they were given. */
export function answersFor(texts: AnswerTexts, waiting: readonly PendingRequest[]): AnswersOfRun {
  const read = (request: PendingRequest | undefined, text: string): unknown =>
    request === undefined
      ? (parsed(text)?.value ?? text)
      : bindAnswer(request, readAnswer(request, text).answer);
  if (typeof texts === "string") return { answer: read(waiting[0], texts) };
  const answers = [...texts].map(([id, text]) => {
    return [
      id,
      read(
        waiting.find((request) => request.id === id),
        text,
      ),
    ] as const;
  });
  return { answers: Object.fromEntries(answers) };
}

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
  const read = answers.map((answer) => ({ answer, checked: checkRequestAnswer(request, answer) }));
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

import { bindAnswer } from "../../state/bind-answer.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { UsageError } from "../usage-error.ts";
import { parsed, readAnswer } from "./read-answer.ts";

/** What `--answer` was given, before anybody knows what is asked. */
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
      "Only one --answer may come without the id of its request. Give each as --answer ID=ANSWER.",
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

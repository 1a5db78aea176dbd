import { errorMessage } from "../errors.ts";
import type { DefinitionProblem } from "./problems.ts";

/** Why a text is no JSON, and where. */
export function jsonSyntaxProblem(text: string): DefinitionProblem | undefined {
  const json = text.replace(/^\uFEFF/, "");
  const failure = failureOf(json);
  if (failure === undefined) return undefined;
  const before = json.slice(0, failure.position ?? search(json));
  let line = 1;
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line += 1;
  return {
    path: [],
    message: `JSON syntax: ${failure.reason}`,
    line,
    column: before.length - before.lastIndexOf("\n"),
  };
}

interface Failure {
  readonly reason: string;
  /** 0-based; not every message of Node tells it. */
  readonly position: number | undefined;
}

function failureOf(json: string): Failure | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (thrown) {
    const message = errorMessage(thrown);
    const position = /at position (\d+)/.exec(message)?.[1];
    const reason = message
      .replace(/ (in JSON )?at position.*$/s, "")
      .replace(/, .*not valid JSON$/s, "");
    const atEnd = message.startsWith("Unexpected end");
    return {
      reason,
      position: position === undefined ? (atEnd ? json.length : undefined) : Number(position),
    };
  }
}

/** The first character that no continuation could make right: of all beginnings, the shortest that fails before its end. */
function search(json: string): number {
  let [fine, wrong] = [0, json.length];
  while (wrong - fine > 1) {
    const middle = Math.floor((fine + wrong) / 2);
    const failure = failureOf(json.slice(0, middle));
    if (failure === undefined || failure.position === middle) fine = middle;
    else wrong = middle;
  }
  return fine;
}

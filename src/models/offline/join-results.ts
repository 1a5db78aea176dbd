import { shortResult } from "./answer.ts";
import type { Outcome } from "./outcome.ts";
import { isOfSeveral } from "./subtask-links.ts";
import { taskOf } from "./worker-message.ts";

/**
 * The results of subtasks in their order, each with what it is the result of. Where the last of them has joined those
 * before it, what it says comes first, and only what it does not say follows.
 *
 * @param missing what there is no result of
 */
export function joinResults(outcomes: readonly Outcome[], missing: readonly string[] = []): string {
  const gone = missing.map((task) => `Missing: ${task}`);
  const last = outcomes.at(-1);
  if (last === undefined || last.failed || !isOfSeveral(taskOf(last) ?? "")) {
    return [...outcomes.map(line), ...gone].join("\n");
  }
  const joined = told(last);
  const rest = outcomes.slice(0, -1).filter((one) => !joined.includes(told(one)));
  return [joined, ...rest.map(line), ...gone].join("\n");
}

/** Results of subtasks in the order in which a task names them, whichever was there first; after them what it does not name. */
export function inOrderOf(task: string, outcomes: readonly Outcome[]): readonly Outcome[] {
  const placeOf = (one: Outcome) => {
    const at = task.indexOf(taskOf(one) ?? one.name);
    return at < 0 ? task.length : at;
  };
  return outcomes.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function line(one: Outcome): string {
  const label = (taskOf(one) ?? one.name).trim().replace(/[\s.:!?]+$/, "");
  if (one.failed) return `${label}: not done (${told(one)})`;
  const text = told(one);
  return `${label}:${text.includes("\n") ? "\n" : " "}${text}`;
}

/** A result as text. */
export function told(one: Outcome): string {
  if (!one.failed) return shortResult(one);
  return shortResult({ ...one, text: one.text.replace(/^(?:failure|error|timeout): (?=.)/, "") });
}

import { preview } from "../context/preview/preview.ts";
import { headOf } from "../state/cut-text.ts";
import type { Subtask } from "../state/task-plan.ts";

/** Characters of the results that a worker is shown; they share them equally, and what one leaves goes to the others. */
const shownCharacters = 40_000;

/** What stands before the results. */
const resultsHeading = "Results of earlier subtasks:";

/**
 * What an agent is told when it is to do a subtask: its description, what is expected, and the results of the subtasks
 * that it depends on, large ones as previews. Nothing else of the plan. A result of several lines stands between two
 * fences, so that nothing in it looks like another result.
 *
 * @param dependencies in the order in which the subtask names them
 */
export function workerMessage(
  { description, expected_output = "" }: Pick<Subtask, "description" | "expected_output">,
  dependencies: readonly {
    readonly id: string;
    readonly description: string;
    readonly result: unknown;
  }[],
): string {
  const parts = [
    description,
    ...(expected_output === "" ? [] : [`Expected output: ${expected_output}`]),
  ];
  if (dependencies.length === 0) return parts.join("\n\n");
  const texts = shownResults(dependencies.map(({ result }) => result));
  const results = dependencies.map(
    ({ id, description: about }, i) => `### ${id}: ${oneLine(about)}\n${fenced(texts[i] ?? "")}`,
  );
  return [...parts, resultsHeading, ...results].join("\n\n");
}

/** Small results whole; what is left is shared among the large ones. */
function shownResults(results: readonly unknown[]): readonly string[] {
  const whole = results.map(textOf);
  const bySize = whole.map((_, i) => i).toSorted((a, b) => lengthAt(whole, a) - lengthAt(whole, b));
  const texts = [...whole];
  let left = shownCharacters;
  bySize.forEach((at, i) => {
    const share = Math.max(1000, Math.floor(left / (bySize.length - i)));
    if (lengthAt(whole, at) > share) {
      texts[at] = textOf(
        preview(results[at], { maxChars: Math.ceil(share / 4), maxItems: 20, maxTotal: share }),
      );
    }
    left = Math.max(0, left - lengthAt(texts, at));
  });
  return texts;
}

function lengthAt(texts: readonly string[], at: number): number {
  return texts[at]?.length ?? 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** As it is, where it is one line that is no heading and no fence itself. */
function fenced(text: string): string {
  if (!/[\n\r\u2028\u2029]|^(?:#|```)/.test(text) && text !== resultsHeading) return text;
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 200 ? `${headOf(line, 199)}…` : line;
}

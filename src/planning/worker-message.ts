import { preview } from "../context/preview/preview.ts";
import type { Subtask } from "../state/task-plan.ts";

/** Characters of the results that a worker is shown; they share them equally, and what one leaves goes to the others. */
const shownCharacters = 40_000;

/** What stands before the results. */
export const resultsHeading = "Results of earlier subtasks:";

/**
 * What an agent is told when it is to do a subtask: its description, what is expected, and the results of the subtasks
 * that it depends on, large ones as previews. Nothing else of the plan.
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
    ({ id, description: about }, i) => `### ${id}: ${oneLine(about)}\n${texts[i] ?? ""}`,
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

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

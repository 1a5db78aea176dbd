import { outcome, type Outcome } from "./outcome.ts";

/** What a worker of a planner is told: what to do, and the results of earlier subtasks, each named by its id. */
export interface WorkerMessage {
  readonly description: string;
  readonly given: readonly Outcome[];
}

const heading = /\n\s*\nResults of earlier subtasks:\s*\n(?=### )/g;
const section = /(?:^|\n\n)### ([\w.-]+): (.*)\n(?:(`{3,})\n([^]*?)\n\3(?=\n\n|$)|(.*)(?=\n\n|$))/y;
const expected = /\n\s*\nExpected output: [^]*$/;

/** Null for a message that brings no results. */
export function readWorkerMessage(text: string): WorkerMessage | null {
  for (const { 0: found, index } of text.matchAll(heading)) {
    const given = sectionsOf(text.slice(index + found.length));
    // A description may hold the words of the heading: what follows the real one is read to the end.
    if (given === null) continue;
    return { description: text.slice(0, index).replace(expected, "").trim(), given };
  }
  return null;
}

/** Null where something stands between the results, or after them. */
function sectionsOf(results: string): readonly Outcome[] | null {
  const given: Outcome[] = [];
  let end = 0;
  while (end < results.length) {
    section.lastIndex = end;
    const found = section.exec(results);
    if (found === null) return null;
    const [whole, id = "", task = "", , lines, line = ""] = found;
    given.push(outcome({ name: id, args: { task }, text: lines ?? line, failed: false }));
    end += whole.length;
  }
  return given;
}

/** The subtask that gave a result; null for the result of a tool. */
export function taskOf({ args }: Outcome): string | null {
  const { task } = args;
  const isSubtask = Object.keys(args).every((key) => key === "task" || key === "id");
  return typeof task === "string" && isSubtask ? task : null;
}

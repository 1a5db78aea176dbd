import { outcome, type Outcome } from "./outcome.ts";

/** What a worker of a planner is told: what to do, and the results of earlier subtasks, each named by its id. */
export interface WorkerMessage {
  readonly description: string;
  readonly given: readonly Outcome[];
}

const heading = /\n\s*\nResults of earlier subtasks:\s*\n(?=### )/;
const section = /^### ([\w.-]+): (.*)$/gm;
const expected = /\n\s*\nExpected output: [^]*$/;

/** Null for a message that brings no results. */
export function readWorkerMessage(text: string): WorkerMessage | null {
  const found = heading.exec(text);
  if (found === null) return null;
  const results = text.slice(found.index + found[0].length);
  const sections = [...results.matchAll(section)];
  const given = sections.map((one, i) => {
    const from = one.index + one[0].length;
    const told = results.slice(from, sections[i + 1]?.index).trim();
    return outcome({ name: one[1] ?? "", args: { task: one[2] ?? "" }, text: told, failed: false });
  });
  return { description: text.slice(0, found.index).replace(expected, "").trim(), given };
}

/** The subtask that gave a result; null for the result of a tool. */
export function taskOf({ args }: Outcome): string | null {
  const { task } = args;
  return typeof task === "string" && Object.keys(args).length === 1 ? task : null;
}

import { callSignature } from "../../state/step-record.ts";
import { isRecord } from "../../values/json.ts";
import { readNamedArguments } from "../text-form/actions.ts";
import { outcome, type Outcome } from "./notation.ts";

/** What a context tells in lines instead of in messages of their own. */
export interface ShortenedHistory {
  /** `steps`: calls, where they were made in the conversation. `conversation`: turns before all that follows. */
  readonly of: "steps" | "conversation";
  /** What people and the agent said, and what a summary says of it. */
  readonly said: readonly string[];
  readonly calls: readonly ShortenedCall[];
}

export interface ShortenedCall {
  /** The call as it stands in its line: `search(query="python")`. */
  readonly signature: string;
  readonly outcome: Outcome;
  /** How often it was made with this outcome. */
  readonly times: number;
}

const historyHeading = /^\[Earlier (steps|conversation), shortened\]([^\n]*)\n?/;
const spoken = /^(?:user|assistant): (?:\[offline:rules\] )?/;

/** Null for a message that is something else. */
export function readShortenedHistory(text: string): ShortenedHistory | null {
  const found = historyHeading.exec(text);
  if (found === null) return null;
  const said: string[] = [];
  const calls: ShortenedCall[] = [];
  for (const line of text.slice(found[0].length).split("\n")) {
    const call = line.startsWith("- ") ? readCallLine(line.slice(2)) : null;
    if (call !== null) calls.push(call);
    else if (line.trim() !== "" && !/^Turn \d+$|^Still failing:$/.test(line)) {
      said.push(line.replace(spoken, ""));
    }
  }
  return { of: found[1] === "steps" ? "steps" : "conversation", said, calls };
}

const resultPattern = /\) → (success|failure|error|timeout)(?=$|[:;]| \(×)/g;
const count = / \(×(\d+)\)$/;

/**
 * A call with what came of it: `read(path="a.txt") → failure: no such file (×2)`. Arguments that were cut in the line are
 * not known. Null for any other line.
 */
export function readCallLine(line: string): ShortenedCall | null {
  const name = /^([\w.-]+)\(/.exec(line)?.[1];
  if (name === undefined) return null;
  const ends = [...line.matchAll(resultPattern)];
  const argsBefore = ({ index }: RegExpExecArray) =>
    readArguments(line.slice(name.length + 1, index));
  // Values may contain the separator that ends the arguments: the text before the right one is valid.
  const exact = ends.find((one) => {
    const args = argsBefore(one);
    return args !== null && callSignature({ name, args }) === line.slice(0, one.index + 1);
  });
  const end = exact ?? ends[0];
  if (end === undefined) return null;
  const times = Number(count.exec(line)?.[1] ?? 1);
  const failed = end[1] !== "success";
  const rest = line.slice(end.index + ") → ".length).replace(count, "");
  const text = failed ? rest : rest.replace(/^success[:;] /, "");
  const args = argsBefore(end) ?? {};
  return {
    signature: line.slice(0, end.index + 1),
    outcome: outcome({ name, args, text, failed }),
    times,
  };
}

function readArguments(text: string): Record<string, unknown> | null {
  return text === "" ? {} : readNamedArguments(text);
}

const reportHeading = /^What the tools gave:\n(?=- )/;
const failure = /^(failure|error|timeout): /;

/**
 * The calls and results of a message in words, for requests without tools: a line `- name({…}): result` for
 * each call, whose result may go on for further lines. Empty where the text is no such report.
 */
export function readToolReport(text: string): Outcome[] {
  const rest = text.replace(reportHeading, "");
  if (rest === text) return [];
  const told: { name: string; args: Record<string, unknown>; lines: string[] }[] = [];
  for (const line of rest.split("\n")) {
    const call = readCall(line);
    if (call !== null) told.push({ name: call.name, args: call.args, lines: [call.result] });
    else told.at(-1)?.lines.push(line);
  }
  return told.map(({ name, args, lines }) => {
    const result = lines.join("\n");
    return outcome({ name, args, text: result, failed: failure.test(result) });
  });
}

/** Null for a line that begins no call. */
function readCall(line: string) {
  const name = /^- ([^(]+)\(\{/.exec(line)?.[1];
  if (name === undefined) return null;
  const from = `- ${name}(`.length;
  // Arguments may hold the mark that ends them: only one of the ends makes JSON of them.
  for (let end = line.indexOf("}): ", from); end >= 0; end = line.indexOf("}): ", end + 1)) {
    const args = objectIn(line.slice(from, end + 1));
    if (args !== null) return { name, args, result: line.slice(end + "}): ".length) };
  }
  return null;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** The message to a planner's worker: its task, and the results of earlier subtasks by id. */
export interface WorkerMessage {
  readonly description: string;
  readonly given: readonly Outcome[];
}

const workerHeading = /\n\s*\nResults of earlier subtasks:\s*\n(?=### )/g;
const section = /(?:^|\n\n)### ([\w.-]+): (.*)\n(?:(`{3,})\n([^]*?)\n\3(?=\n\n|$)|(.*)(?=\n\n|$))/y;
const expected = /\n\s*\nExpected output: [^]*$/;

/** Null for a message that brings no results. */
export function readWorkerMessage(text: string): WorkerMessage | null {
  for (const { 0: found, index } of text.matchAll(workerHeading)) {
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

const memoryHeading = /^\[Memories\] [^\n]*\n/;
const memoryLine =
  /^- (?:\[[\da-f-]{4,36}\] ([a-z_]+), [^"]{0,120}?(user|agent|tool|system)(?: [^":]{0,80})?: )?("(?:[^"\\]|\\.)*")$/;

/**
 * The statements in the entries of a memory section, once each: facts, and what people said. Null for a message that is
 * something else.
 */
export function readMemorySection(text: string): readonly string[] | null {
  const heading = memoryHeading.exec(text);
  if (heading === null) return null;
  const lines = text.slice(heading[0].length).split("\n");
  const texts = lines.flatMap((line) => {
    const [, type = "semantic", source, quoted] = memoryLine.exec(line) ?? [];
    const isStated = type === "semantic" || (type === "short_term" && source === "user");
    return quoted === undefined || !isStated ? [] : [readQuoted(quoted)];
  });
  const sentences = texts.flatMap((one) => one.split(/\n+|(?<=[.!?])\s+/));
  const stated = sentences.map((one) => one.trim().replace(/[.!]+$/, ""));
  return [...new Set(stated)].filter((one) => one !== "" && !one.endsWith("?"));
}

function readQuoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

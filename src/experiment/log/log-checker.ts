import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type CycleMetrics,
  type LogEntry,
  type LogMessage,
  noMetrics,
  withEntry,
} from "./log-entry.ts";
import { type LogLine, readLog } from "./read-log.ts";

/** One thing that is wrong with a log. */
export interface LogProblem {
  /** 1-based. */
  readonly line: number;
  /** A sentence without its full stop. */
  readonly message: string;
}

export interface LogCheck {
  /** By the name of the log's file. */
  readonly run_id: string;
  /** Cycles that have ended. */
  readonly cycles: number;
  /** Lines that are entries. */
  readonly events: number;
  /** What the end of the log lacks, which is no problem: the run goes on, or was stopped. Null where it lacks nothing. */
  readonly unfinished: Unfinished | null;
  readonly problem_count: number;
  /** The first fifty of them. */
  readonly problems: readonly LogProblem[];
}

export interface Unfinished {
  /** The cycle that has not ended; null where the last one has. */
  readonly cycle_number: number | null;
  /** Whether the log ends in a line that was not written whole. */
  readonly half_line: boolean;
}

/** Problems of a log that are kept; all are counted. */
const maxProblems = 50;

type Start = Extract<LogEntry, { event_type: "CYCLE_START" }>["payload"];
/** What every cycle of a run says alike. */
const sameInAll = ["config_hash", "model_name"] as const;

/** Checks a log while it is read: give it every line, then end it. It holds no prompts. */
export class LogChecker {
  readonly #runId: string;
  readonly #problems: LogProblem[] = [];
  #problemCount = 0;
  #events = 0;
  #cycles = 0;
  #halfLine = false;
  /** The last run_id that was complained of, so that a log of another run is one problem. */
  #otherRun: string | undefined;
  #time = -Infinity;
  #timestamp = "";
  /** What the first cycle says of the run. */
  #first: Start | undefined;
  /** Number of the last cycle that began or ended; 0 before the first. */
  #number = 0;
  #cycle: CycleCheck | undefined;
  /**
   * Whether a line of this cycle could not be read. It may have been of any kind, so until the next cycle begins, or this
   * one ends, nothing is said of what depends on it.
   */
  #blind = false;

  constructor(runId: string) {
    this.#runId = runId;
  }

  take(line: LogLine): void {
    if (line.kind === "unfinished") {
      this.#halfLine = true;
    } else if (line.kind === "broken") {
      this.#blind = true;
      for (const message of line.problems) this.#add(line.line, message);
    } else {
      this.#events += 1;
      for (const message of this.#entryProblems(line.entry)) this.#add(line.line, message);
    }
  }

  end(): LogCheck {
    const unfinished = this.#cycle !== undefined || this.#halfLine;
    return {
      run_id: this.#runId,
      cycles: this.#cycles,
      events: this.#events,
      unfinished: unfinished
        ? { cycle_number: this.#cycle?.number ?? null, half_line: this.#halfLine }
        : null,
      problem_count: this.#problemCount,
      problems: this.#problems,
    };
  }

  #add(line: number, message: string): void {
    this.#problemCount += 1;
    if (this.#problems.length < maxProblems) this.#problems.push({ line, message });
  }

  #entryProblems(entry: LogEntry): string[] {
    const common = [...this.#runProblems(entry), ...this.#timeProblems(entry)];
    switch (entry.event_type) {
      case "CYCLE_START":
        return [...common, ...this.#begin(entry.cycle_number, entry.payload)];
      case "CYCLE_END":
        return [...common, ...this.#within(entry), ...this.#endCycle(entry.cycle_number)];
      default:
        return [...common, ...this.#within(entry)];
    }
  }

  #runProblems({ run_id: runId }: LogEntry): string[] {
    if (runId === this.#runId || runId === this.#otherRun) return [];
    this.#otherRun = runId;
    return [`run_id: expected ${show(this.#runId)}, as the file is named, found ${show(runId)}`];
  }

  #timeProblems({ timestamp }: LogEntry): string[] {
    const time = Date.parse(timestamp);
    const before = this.#timestamp;
    const goesBack = time < this.#time;
    this.#time = time;
    this.#timestamp = timestamp;
    return goesBack ? [`timestamp: goes back, from ${before} to ${timestamp}`] : [];
  }

  #begin(number: number, start: Start): string[] {
    const problems: string[] = [];
    if (this.#cycle !== undefined && !this.#blind) {
      problems.push(`cycle ${number} begins before cycle ${this.#cycle.number} has ended`);
    }
    const isNext = this.#blind ? number > this.#number : number === this.#number + 1;
    if (!isNext) {
      problems.push(`cycle_number: expected ${this.#number + 1}, found ${number}`);
    }
    const first = (this.#first ??= start);
    for (const name of sameInAll) {
      if (start[name] === first[name]) continue;
      problems.push(
        `payload.${name}: expected ${show(first[name])}, as in the first cycle, found ${show(start[name])}`,
      );
    }
    this.#blind = false;
    this.#number = number;
    this.#cycle = new CycleCheck(number);
    return problems;
  }

  /** What an entry says against the cycle that it stands in. */
  #within(entry: LogEntry): string[] {
    const cycle = this.#cycle;
    if (cycle === undefined) return this.#blind ? [] : [`${entry.event_type} outside of a cycle`];
    const elsewhere = entry.cycle_number !== cycle.number;
    if (elsewhere && this.#blind) return [];
    const problems = cycle.take(entry);
    return [
      ...(elsewhere ? [`cycle_number: expected ${cycle.number}, found ${entry.cycle_number}`] : []),
      ...(this.#blind ? [] : problems),
    ];
  }

  #endCycle(number: number): string[] {
    if (this.#cycle !== undefined || this.#blind) {
      this.#cycles += 1;
      this.#number = this.#blind ? number : this.#number;
    }
    this.#cycle = undefined;
    this.#blind = false;
    return [];
  }
}

function show(value: unknown): string {
  return JSON.stringify(value);
}

type ToolCall = NonNullable<LogMessage["tool_calls"]>[number];

const metricNames = Object.keys(noMetrics) as (keyof CycleMetrics)[];

/** Checks the entries of one cycle after its CYCLE_START, in order. */
class CycleCheck {
  readonly number: number;
  #metrics = noMetrics;
  #invocations = 0;
  /** Calls of the last answer, and how many of them have been made. */
  #asked: readonly ToolCall[] = [];
  #made = 0;

  constructor(number: number) {
    this.number = number;
  }

  /** The problems of one more entry. */
  take(entry: LogEntry): string[] {
    this.#metrics = withEntry(this.#metrics, entry);
    switch (entry.event_type) {
      case "CYCLE_START":
        return [];
      case "LLM_INVOCATION":
        return this.#answer(entry.payload.response_message.tool_calls ?? []);
      case "TOOL_CALL":
        return this.#call(entry.payload.tool_name, entry.payload.parameters);
      case "CYCLE_END":
        return [...this.#ending(), ...this.#metricProblems(entry.payload.metrics)];
    }
  }

  #answer(asked: readonly ToolCall[]): string[] {
    const problems = this.#missing();
    this.#invocations += 1;
    this.#asked = asked;
    this.#made = 0;
    return problems;
  }

  #call(tool: string, parameters: unknown): string[] {
    const asked = this.#asked[this.#made];
    this.#made += 1;
    if (asked === undefined) {
      return [`TOOL_CALL of ${shownValue(tool)} that the answer before has not asked for`];
    }
    if (asked.name !== tool) {
      return [
        `payload.tool_name: expected ${shownValue(asked.name)}, as the answer before has asked, found ${shownValue(tool)}`,
      ];
    }
    return isDeepStrictEqual(asked.args, parameters)
      ? []
      : [`payload.parameters: not what the answer before has asked of ${shownValue(tool)}`];
  }

  #ending(): string[] {
    return [
      ...(this.#invocations === 0 ? ["a cycle without an LLM_INVOCATION"] : []),
      ...this.#missing(),
    ];
  }

  #missing(): string[] {
    const left = this.#asked.slice(this.#made).map(({ name }) => shownValue(name));
    return left.length === 0
      ? []
      : [`no TOOL_CALL of ${left.join(", ")}, which the answer before has asked for`];
  }

  #metricProblems(told: CycleMetrics): string[] {
    return metricNames.flatMap((name) =>
      told[name] === this.#metrics[name]
        ? []
        : [
            `payload.metrics.${name}: expected ${this.#metrics[name]} by the entries of the cycle, found ${told[name]}`,
          ],
    );
  }
}

function shownValue(name: string): string {
  return JSON.stringify(name);
}

/** What the name of a log's file ends in. */
export const logExtension = ".jsonl";

/** Id of the run that a log is of, by the name of its file. */
export function runIdOf(path: string): string {
  return basename(path, logExtension);
}

/**
 * Whether a log is what a run writes: every line by its schema, and the lines by each other.
 * @throws UnreadableLogError
 */
export async function checkLog(path: string): Promise<LogCheck> {
  const checker = new LogChecker(runIdOf(path));
  for await (const line of readLog(path)) checker.take(line);
  return checker.end();
}

import { isDeepStrictEqual } from "node:util";
import { noMetrics, withEntry } from "./cycle-metrics.ts";
import type { CycleMetrics, LogEntry, LogMessage } from "./log-entry.ts";

type ToolCall = NonNullable<LogMessage["tool_calls"]>[number];

const metricNames = Object.keys(noMetrics) as (keyof CycleMetrics)[];

/** Checks the entries of one cycle after its CYCLE_START, in order. */
export class CycleCheck {
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
      return [`TOOL_CALL of ${show(tool)} that the answer before has not asked for`];
    }
    if (asked.name !== tool) {
      return [
        `payload.tool_name: expected ${show(asked.name)}, as the answer before has asked, found ${show(tool)}`,
      ];
    }
    return isDeepStrictEqual(asked.args, parameters)
      ? []
      : [`payload.parameters: not what the answer before has asked of ${show(tool)}`];
  }

  #ending(): string[] {
    return [
      ...(this.#invocations === 0 ? ["a cycle without an LLM_INVOCATION"] : []),
      ...this.#missing(),
    ];
  }

  #missing(): string[] {
    const left = this.#asked.slice(this.#made).map(({ name }) => show(name));
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

function show(name: string): string {
  return JSON.stringify(name);
}

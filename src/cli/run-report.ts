import { systemClock } from "../clock.ts";
import type { ExecuteResult } from "../runtime/execute-agent.ts";
import type { AgentEvent } from "../state/event.ts";
import type { PendingRequest } from "../state/human-request.ts";
import { askPerson, type Asked } from "./ask/ask-person.ts";
import type { CliIo, LinePrompt } from "./io.ts";
import { endingLines } from "./view/ending.ts";
import { LiveWriter } from "./view/live-writer.ts";
import { openingLines, type Opening } from "./view/opening.ts";
import { RunView } from "./view/run-view.ts";
import { createStyle, wantsColour } from "./view/style.ts";

/** Tells of a run while it goes on and when it is over. */
export interface RunReport {
  event(event: AgentEvent): void;
  /** Asks a person on the terminal; aborting the signal is leaving. */
  ask(request: PendingRequest, openPrompt: () => LinePrompt, signal: AbortSignal): Promise<Asked>;
  /** It is being stopped. */
  stopping(): void;
  /** Takes away whatever was on the screen for the time of the run only. */
  leave(): void;
  end(result: ExecuteResult): void;
}

export interface RunReportOptions extends Opening {
  readonly maxAttempts: number;
  /** The command that goes on with the thread, or null where nothing is kept. */
  readonly resume: string | null;
}

/** One JSON document at the end. */
export function jsonReport(options: Pick<RunReportOptions, "threadId">, io: CliIo): RunReport {
  return {
    event() {},
    ask: async () => "left",
    stopping() {},
    leave() {},
    end(result) {
      const { status, output, interrupts, incomplete, failure, attempts, usage, steps } = result;
      const { threadId: thread_id } = options;
      const ending = { status, output, interrupts, incomplete, failure, attempts, usage, steps };
      const told = { thread_id, ...ending };
      io.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
    },
  };
}

/** The run as people follow it. Nothing is printed before the turn has begun, so that a refusal stands alone. */
export function liveReport(options: RunReportOptions, io: CliIo): RunReport {
  const { stdout: sink } = io;
  const clock = systemClock;
  const startedAt = clock.monotonic();
  const style = createStyle(wantsColour(sink.isTerminal, io.env));
  const width = sink.isTerminal ? (sink.columns ?? 80) : Number.POSITIVE_INFINITY;
  const writer = new LiveWriter({ sink, style, clock });
  const view = new RunView({ width, style, maxAttempts: options.maxAttempts });
  const asked = new Set<string>();
  let waitedMs = 0;
  let opened = false;
  let stopping = false;
  let begun = false;
  const open = () => {
    if (!opened) writer.print(openingLines(options, width, style));
    opened = true;
  };
  const printSteps = (lines: readonly string[]) => {
    if (lines.length === 0) return;
    writer.print(begun ? lines : ["", ...lines]);
    begun = true;
  };
  writer.setActivity(view.activity);
  return {
    event(event) {
      open();
      printSteps(view.event(event));
      if (!stopping) writer.setActivity(view.activity);
    },
    async ask(request, openPrompt, signal) {
      open();
      writer.setActivity(null);
      asked.add(request.id);
      const prompt = openPrompt();
      const since = clock.monotonic();
      const print = (lines: readonly string[]) => writer.print(lines);
      try {
        return await askPerson(request, { prompt, print, width, style, clock, signal });
      } finally {
        prompt.close();
        waitedMs += clock.monotonic() - since;
      }
    },
    stopping() {
      stopping = true;
      writer.setActivity("stopping");
    },
    leave() {
      writer.setActivity(null);
    },
    end(result) {
      open();
      writer.setActivity(null);
      printSteps(view.end());
      const elapsedMs = clock.monotonic() - startedAt - waitedMs;
      const { resume } = options;
      writer.print(endingLines(result, { width, style, elapsedMs, resume, asked }));
    },
  };
}

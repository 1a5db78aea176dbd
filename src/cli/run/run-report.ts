import { systemClock } from "../../clock.ts";
import type { ExecuteOptions, ExecuteResult } from "../../runtime/execute-agent.ts";
import type { AgentEvent } from "../../state/events.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { type PromptResult, promptUser } from "../ask/prompt-user.ts";
import type { CliIo, LinePrompt } from "../io.ts";
import { type AgentOptions, resumeCommand } from "../options.ts";
import { printJson } from "../output.ts";
import { LiveWriter } from "../view/live.ts";
import { endingLines, type Opening, openingLines } from "../view/run/lines.ts";
import { RunView } from "../view/run/run-view.ts";
import { createStyle, wantsColour } from "../view/terminal.ts";
import type { PreparedAgent } from "./prepare-run.ts";

/** Reports a run while it runs and when it has ended. */
export interface RunReport {
  /** The database is open, and the turn begins: what it takes counts from here. */
  begin(): void;
  event(event: AgentEvent): void;
  /** Asks a person on the terminal; aborting the signal is leaving. */
  ask(
    request: PendingRequest,
    openPrompt: () => LinePrompt,
    signal: AbortSignal,
  ): Promise<PromptResult>;
  /** Lines in addition to those of the run itself. */
  say(lines: readonly string[]): void;
  /** It is being stopped. */
  stopping(): void;
  /** Takes away whatever was on the screen for the time of the run only. */
  leave(): void;
  end(result: ExecuteResult): void;
}

interface RunReportOptions extends Opening {
  readonly maxAttempts: number;
  /** The command that resumes the thread; null if it is not stored. */
  readonly resume: string | null;
}

/** Reports a run in the requested form. */
export function runReport(
  given: AgentOptions & {
    readonly agent: string;
    readonly prepared: PreparedAgent;
    /** Null where nothing is kept. */
    readonly threadId: string | null;
  },
  io: CliIo,
): RunReport {
  const { threadId, prepared } = given;
  const { name, version, execution_config: limits } = prepared.definition.spec;
  const options = {
    agent: { name, version },
    model: prepared.model,
    threadId,
    maxAttempts: limits.max_attempts,
    resume: threadId === null ? null : resumeCommand(given, threadId, io),
  };
  return given.json ? jsonReport(options, io) : liveReport(options, io);
}

/** One JSON document at the end. */
function jsonReport(options: Pick<RunReportOptions, "threadId">, io: CliIo): RunReport {
  return {
    begin() {},
    event() {},
    ask: async () => "left",
    say() {},
    stopping() {},
    leave() {},
    end(result) {
      printJson(resultJson(result, options.threadId), io);
    },
  };
}

/** What a run came to, as a document of JSON says it. */
export function resultJson(
  result: ExecuteResult,
  threadId: string | null,
): Readonly<Record<string, unknown>> {
  const { status, output, interrupts, incomplete, failure, attempts, usage, steps } = result;
  const ending = { status, output, interrupts, incomplete, failure, attempts, usage, steps };
  return { thread_id: threadId, ...ending };
}

/** The run as people follow it. Nothing is printed before the turn has begun, so that a refusal stands alone. */
function liveReport(options: RunReportOptions, io: CliIo): RunReport {
  const { stdout: sink } = io;
  const clock = systemClock;
  let startedAt = clock.monotonic();
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
    begin() {
      startedAt = clock.monotonic();
    },
    event(event) {
      open();
      printSteps(view.event(event));
      if (!stopping) writer.setActivity(view.activity, view.subtasks);
    },
    async ask(request, openPrompt, signal) {
      open();
      writer.setActivity(null);
      asked.add(request.id);
      const prompt = openPrompt();
      const since = clock.monotonic();
      const print = (lines: readonly string[]) => writer.print(lines);
      try {
        return await promptUser(request, { prompt, print, width, style, clock, signal });
      } finally {
        prompt.close();
        waitedMs += clock.monotonic() - since;
      }
    },
    say(lines) {
      open();
      writer.setActivity(null);
      writer.print(lines);
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
      const { hasRefused } = view;
      writer.print(endingLines(result, { width, style, elapsedMs, resume, asked, hasRefused }));
    },
  };
}

/** How a turn is run, as the options of the command line say, and told of by a report. */
export function turnOptions(
  { model, temperature, acceptChanges, acceptAgent }: AgentOptions,
  { report, signal }: { readonly report: RunReport; readonly signal: AbortSignal },
): Pick<
  ExecuteOptions,
  "signal" | "onEvent" | "model" | "temperature" | "acceptChanges" | "acceptAgent"
> {
  return {
    signal,
    onEvent: (event) => report.event(event),
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(acceptChanges !== undefined && { acceptChanges }),
    ...(acceptAgent !== undefined && { acceptAgent }),
  };
}

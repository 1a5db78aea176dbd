import { systemClock } from "../../clock.ts";
import type { ExecuteOptions, ExecuteResult } from "../../runtime/execute-agent.ts";
import type { AgentEvent } from "../../state/events.ts";
import type { ClientCall, PendingRequest } from "../../state/human-request.ts";
import {
  type PromptOptions,
  type PromptResult,
  promptResults,
  promptUser,
  type TypedResults,
} from "../ask/prompt-user.ts";
import type { CliIo, LinePrompt } from "../io.ts";
import { type AgentOptions, resumeCommand } from "../options.ts";
import { printJson } from "../output.ts";
import { LiveWriter } from "../view/live.ts";
import { endingLines, type EndingOptions, type Opening, openingLines } from "../view/run/lines.ts";
import { ModelView } from "../view/run/model-view.ts";
import { RunView } from "../view/run/run-view.ts";
import { type ToolTitles, toolTitles, withTitle } from "../view/run/tool-titles.ts";
import type { LineRenderer } from "../view/streamed-text.ts";
import { createStyle, type Style, wantsColour } from "../view/terminal.ts";
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
  /** Asks a person for the results of calls of client tools. Left out: programs return them. */
  readonly askResults?: (
    calls: readonly ClientCall[],
    openPrompt: () => LinePrompt,
    signal: AbortSignal,
  ) => Promise<TypedResults>;
  /** Lines in addition to those of the run itself. */
  say(lines: readonly string[]): void;
  /** It is being stopped. */
  stopping(): void;
  /** Takes away whatever was on the screen for the time of the run only. */
  leave(): void;
  end(result: ExecuteResult): void;
  /** Where the text of models goes while it streams. */
  readonly streams: Pick<ExecuteOptions, "onToken" | "onReasoning">;
}

interface RunReportOptions extends Opening {
  readonly maxAttempts: number;
  /** The command that resumes the thread; null if it is not stored. */
  readonly resume: string | null;
  readonly showReasoning: boolean;
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
    showReasoning: given.showReasoning ?? false,
  };
  if (given.json) return jsonReport(options, io);
  return liveReport(
    {
      ...options,
      opening: ({ width, style }) => openingLines(options, width, style),
      ending: (result, ending) => endingLines(result, { ...ending, resume: options.resume }),
      namesAnswers: true,
      titles: titlesOf(prepared),
    },
    io,
  );
}

/** Display names of the agent's tools and of the runtime's. */
export function titlesOf({ definition, services }: PreparedAgent): ToolTitles {
  const registry = services.prepared?.services.tools;
  return toolTitles(definition, registry?.resolve(registry.names()) ?? []);
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
    streams: {},
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
  const { status, output, interrupts, waits, toolCalls, incomplete, incomplete_reason } = result;
  const { failure, attempts, usage, invocation_usage, steps, cancel_reason } = result;
  const open = { interrupts, ...(waits.length > 0 && { waits }), tool_calls: toolCalls };
  const ending = { status, output, ...open, incomplete, incomplete_reason, failure, attempts };
  const why = cancel_reason !== null && { cancel_reason };
  return { thread_id: threadId, ...ending, ...why, usage, invocation_usage, steps };
}

/** What a report prints in its own way. */
export interface LiveReportOptions extends Pick<RunReportOptions, "maxAttempts" | "showReasoning"> {
  /** Names of tools for people. Default none. */
  readonly titles?: ToolTitles;
  /** Lines before the first ones of the run. */
  readonly opening: (view: Layout) => readonly string[];
  readonly ending: (
    result: ExecuteResult,
    options: Omit<EndingOptions, "resume">,
  ) => readonly string[];
  /** Whether a step that gives the answer says so. */
  readonly namesAnswers: boolean;
  /** Renders the lines of a streamed text. Default: indented as steps are, without markup. */
  readonly render?: (view: Layout) => LineRenderer;
  /** Whether a person is asked for the results of client tools. Default false. */
  readonly asksResults?: boolean;
}

interface Layout {
  readonly width: number;
  readonly style: Style;
}

/**
 * A run as people follow it. On a terminal, the texts of models are shown while they stream, and replaced by the lines
 * of their steps. Nothing is printed before the turn has begun, so that a refusal stands alone.
 */
export function liveReport(options: LiveReportOptions, io: CliIo): RunReport {
  const { maxAttempts, namesAnswers, showReasoning, titles = new Map() } = options;
  const { stdout: sink } = io;
  const clock = systemClock;
  let startedAt = clock.monotonic();
  const style = createStyle(wantsColour(sink.isTerminal, io.env));
  const width = sink.isTerminal ? (sink.columns ?? 80) : Number.POSITIVE_INFINITY;
  const writer = new LiveWriter({ sink, style, clock });
  const view = new RunView({ width, style, maxAttempts, namesAnswers });
  const live = { width: width - 1, style };
  const render = options.render?.(live);
  const models = new ModelView({ ...live, clock, showReasoning, ...(render && { render }) });
  const activity = () => models.activity ?? view.activity;
  const asked = new Set<string>();
  let waitedMs = 0;
  let opened = false;
  let stopping = false;
  let begun = false;
  const open = () => {
    if (!opened) writer.print(options.opening({ width, style }));
    opened = true;
  };
  const printSteps = (lines: readonly string[]) => {
    if (lines.length === 0) return;
    writer.print(begun ? lines : ["", ...lines]);
    begun = true;
  };
  const showText = () => {
    open();
    if (!stopping) writer.setText(models.lines);
  };
  const withPrompt = async <Result>(
    openPrompt: () => LinePrompt,
    askOn: (on: Pick<PromptOptions, "prompt" | "print" | "width" | "style">) => Promise<Result>,
  ): Promise<Result> => {
    open();
    writer.setActivity(null);
    const prompt = openPrompt();
    const since = clock.monotonic();
    const print = (lines: readonly string[]) => writer.print(lines);
    try {
      return await askOn({ prompt, print, width, style });
    } finally {
      prompt.close();
      waitedMs += clock.monotonic() - since;
    }
  };
  writer.setActivity(view.activity);
  return {
    begin() {
      startedAt = clock.monotonic();
    },
    event(event) {
      open();
      const lines = [...models.event(event), ...view.event(withTitle(event, titles))];
      if (!stopping) writer.setText(models.lines);
      printSteps(lines);
      if (!stopping) writer.setActivity(activity, view.subtasks);
    },
    streams: {
      ...(sink.isTerminal && {
        onToken(text, of) {
          models.token(text, of);
          showText();
        },
      }),
      ...((sink.isTerminal || showReasoning) && {
        onReasoning(text, of) {
          models.reasoning(text, of);
          showText();
        },
      }),
    },
    async ask(request, openPrompt, signal) {
      asked.add(request.id);
      return withPrompt(openPrompt, (shown) => promptUser(request, { ...shown, clock, signal }));
    },
    ...(options.asksResults === true && {
      askResults: (calls, openPrompt, signal) =>
        withPrompt(openPrompt, (shown) => promptResults(calls, { ...shown, signal })),
    }),
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
      // Of a reply that was cancelled, nothing else is left.
      const cut = models.cut();
      printSteps([...(result.status === "CANCELLED" ? cut : []), ...view.end()]);
      const elapsedMs = clock.monotonic() - startedAt - waitedMs;
      const { hasRefused } = view;
      writer.print(options.ending(result, { width, style, elapsedMs, asked, hasRefused }));
    },
  };
}

/** How a turn is run, as the options of the command line say, and told of by a report. */
export function turnOptions(
  { model, temperature, user, acceptChanges, acceptAgent }: AgentOptions,
  { report, signal }: { readonly report: RunReport; readonly signal: AbortSignal },
): Pick<
  ExecuteOptions,
  | "signal"
  | "onEvent"
  | "onToken"
  | "onReasoning"
  | "model"
  | "temperature"
  | "user"
  | "acceptChanges"
  | "acceptAgent"
> {
  return {
    signal,
    onEvent: (event) => report.event(event),
    ...report.streams,
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(user !== undefined && { user }),
    ...(acceptChanges !== undefined && { acceptChanges }),
    ...(acceptAgent !== undefined && { acceptAgent }),
  };
}

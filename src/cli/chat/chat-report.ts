import type { ExecuteResult } from "../../runtime/execute-agent.ts";
import type { CliIo } from "../io.ts";
import { liveReport, type LiveReportOptions, type RunReport } from "../run/run-report.ts";
import { totals } from "../view/figures.ts";
import { markdownLines, markdownRenderer } from "../view/markdown.ts";
import { answerText, endingLines, type EndingOptions, incompleteTexts } from "../view/run/lines.ts";
import { plainText } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";

/** Reports a turn of a chat on a terminal: its steps, and its answer as Markdown. */
export function chatReport(
  options: Pick<LiveReportOptions, "maxAttempts" | "showReasoning" | "titles"> & {
    /** The command that tool results are returned with. */
    readonly resume: string | null;
  },
  io: CliIo,
): RunReport {
  return liveReport(
    {
      ...options,
      opening: () => [],
      ending: (result, view) => {
        // People answer in the chat itself.
        const resume = result.toolCalls.length > 0 ? options.resume : null;
        return chatEnding(result, { ...view, resume });
      },
      namesAnswers: false,
      asksResults: true,
      render: markdownRenderer,
    },
    io,
  );
}

function chatEnding(result: ExecuteResult, options: EndingOptions): string[] {
  const { width, style, elapsedMs } = options;
  if (result.status !== "COMPLETED") {
    return [...endingLines(result, options), ""];
  }
  const { steps, usage, incomplete_reason: reason } = result;
  const note =
    reason === null ? [] : [style.yellow(`■ Incomplete: ${incompleteTexts[reason]}.`), ""];
  return [
    "",
    ...markdownLines(answerText(result.output), { width, style }),
    "",
    ...note,
    style.dim(totals({ steps: steps.length, usage, elapsedMs })),
    "",
  ];
}

/**
 * Reports a turn of a chat without a terminal: only its answer, to standard output. A turn that gives none says so on
 * standard error. `resume` is the command that an answer is given with.
 */
export function plainReport(io: CliIo, resume: string | null): RunReport {
  const say = (lines: readonly string[]) =>
    io.stderr.write(lines.map((line) => `${line}\n`).join(""));
  return {
    begin() {},
    event() {},
    ask: async () => "left",
    say,
    stopping() {},
    leave() {},
    streams: {},
    end(result) {
      if (result.status === "COMPLETED") {
        io.stdout.write(`${plainText(answerText(result.output)).trimEnd()}\n`);
        return;
      }
      const layout = outputLayout({ stdout: io.stderr, env: io.env });
      const isOpen = result.interrupts.length > 0 || result.waits.length > 0;
      const waits = isOpen || result.toolCalls.length > 0;
      const how = waits ? resume : null;
      // Without the totals at the end.
      say(endingLines(result, { ...layout, elapsedMs: 0, resume: how }).slice(1, -2));
    },
  };
}

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
  options: Pick<LiveReportOptions, "maxAttempts" | "showReasoning" | "titles">,
  io: CliIo,
): RunReport {
  return liveReport(
    {
      ...options,
      opening: () => [],
      ending: chatEnding,
      namesAnswers: false,
      render: markdownRenderer,
    },
    io,
  );
}

function chatEnding(result: ExecuteResult, options: Omit<EndingOptions, "resume">): string[] {
  const { width, style, elapsedMs } = options;
  if (result.status !== "COMPLETED") {
    return [...endingLines(result, { ...options, resume: null }), ""];
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
      const how = result.status === "AWAITING_HUMAN" ? resume : null;
      // Without the totals at the end.
      say(endingLines(result, { ...layout, elapsedMs: 0, resume: how }).slice(1, -2));
    },
  };
}

import type { Runtime } from "../../app.ts";
import { StratagraphError } from "../../errors.ts";
import type { ExecuteOptions, ExecuteResult } from "../../runtime/execute-agent.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import type { AnswersOfRun } from "../ask/given-answers.ts";
import type { CliIo, LinePrompt } from "../io.ts";
import { exitCodes } from "../report-error.ts";
import type { RunReport } from "./run-report.ts";

/** A signal came before there was anything to cancel. */
class StoppedEarlyError extends StratagraphError {
  readonly code = "stopped";
  override readonly kind = "run";

  constructor() {
    super("Stopped before the turn started.");
  }
}

/** What a waiting turn continues with. */
export type GivenAnswers = Partial<AnswersOfRun> & Pick<ExecuteOptions, "toolResults">;

export interface FollowOptions<Result extends ExecuteResult | null> {
  readonly io: Pick<CliIo, "onStop">;
  readonly report: RunReport;
  /** Null if no person can be asked. */
  readonly openPrompt: (() => LinePrompt) | null;
  readonly openRuntime: () => Promise<Runtime>;
  /** Whether the runtime stays open after the turn. Default false. */
  readonly keepsRuntime?: boolean;
  /** Runs the turn until it ends or waits; null where there was nothing to run. */
  readonly begin: (runtime: Runtime, signal: AbortSignal) => Promise<Result>;
  /** Resumes the waiting turn. */
  readonly goOn: (
    runtime: Runtime,
    signal: AbortSignal,
    answers: GivenAnswers,
  ) => Promise<ExecuteResult>;
  /** Called with what it came to, while the runtime is still open. */
  readonly end: (result: ExecuteResult | Result) => void;
}

/**
 * Follows a turn as far as it goes without people, or on a terminal with them. A signal cancels it.
 * @returns the exit code of a result; `done` without one
 */
export async function followTurn<Result extends ExecuteResult | null>(
  options: FollowOptions<Result>,
): Promise<number> {
  const { report, openPrompt } = options;
  const abort = new AbortController();
  const leave = new AbortController();
  let asks = false;
  const release = options.io.onStop((reason) => {
    if (asks) return leave.abort();
    report.stopping();
    abort.abort(new Error(reason));
  });
  let runtime: Runtime | undefined;
  try {
    runtime = await options.openRuntime();
    if (abort.signal.aborted) throw new StoppedEarlyError();
    report.begin();
    let result: ExecuteResult | Result = await options.begin(runtime, abort.signal);
    for (;;) {
      if (openPrompt === null) break;
      asks = true;
      const answers = await askFirst(result, { report, openPrompt, signal: leave.signal });
      asks = false;
      if (answers === null) break;
      const before: Usage = result?.invocation_usage ?? noUsage;
      const next = await options.goOn(runtime, abort.signal, answers);
      // For a reader the command is one run of the turn.
      result = { ...next, invocation_usage: addUsage(before, next.invocation_usage) };
    }
    options.end(result);
    return result === null ? exitCodes.done : exitCodeOf(result);
  } finally {
    report.leave();
    if (options.keepsRuntime !== true) await runtime?.close();
    release();
  }
}

/** Asks for what a turn waits for first; null if it waits for nothing that a person gives, or the person left. */
async function askFirst(
  result: ExecuteResult | null,
  of: {
    readonly report: RunReport;
    readonly openPrompt: () => LinePrompt;
    readonly signal: AbortSignal;
  },
): Promise<GivenAnswers | null> {
  const { report, openPrompt, signal } = of;
  const { interrupts = [], toolCalls = [] } = result ?? {};
  const [request] = interrupts;
  if (request !== undefined) {
    const asked = await report.ask(request, openPrompt, signal);
    if (asked === "left") return null;
    return asked === "expired" ? {} : { answers: { [request.id]: asked.answer } };
  }
  if (toolCalls.length === 0 || report.askResults === undefined) return null;
  const toolResults = await report.askResults(toolCalls, openPrompt, signal);
  return toolResults === "left" ? null : { toolResults };
}

function exitCodeOf({ status, toolCalls, waits }: ExecuteResult): number {
  if (status === "COMPLETED") return exitCodes.done;
  return status === "AWAITING_HUMAN" || toolCalls.length > 0 || waits.length > 0
    ? exitCodes.waits
    : exitCodes.runFailed;
}

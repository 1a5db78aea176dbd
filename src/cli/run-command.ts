import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, executeAgent, type Runtime } from "../app.ts";
import { systemIds } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import type { ExecuteResult } from "../runtime/execute-agent.ts";
import { NothingToResumeError } from "../runtime/errors.ts";
import type { CliIo } from "./io.ts";
import { prepareRun, type PreparedRun } from "./prepare-run.ts";
import { exitCodes } from "./report-error.ts";
import type { RunArguments, RunOptions } from "./run-arguments.ts";
import { jsonReport, liveReport, type RunReport } from "./run-report.ts";
import { shellCommand } from "./shell-command.ts";

/** A signal came before there was anything to cancel. */
class StoppedEarlyError extends StratagraphError {
  readonly code = "stopped";
  override readonly kind = "run";

  constructor() {
    super("Stopped before the turn began.");
  }
}

/**
 * `stratagraph run`: one turn of an agent.
 * @throws whatever is wrong with its use, before anything is written
 */
export async function runCommand(given: RunArguments, io: CliIo): Promise<number> {
  const prepared = await prepareRun(given, io);
  const folder = join(io.cwd, ".stratagraph");
  if (prepared.input === null && !io.env["DATABASE_URL"] && !existsSync(folder)) {
    throw new NothingToResumeError(given.thread ?? "", null);
  }
  const threadId = given.save ? (given.thread ?? systemIds()) : null;
  const { name, version, execution_config: limits } = prepared.definition.spec;
  const about = {
    agent: { name, version },
    model: prepared.model,
    threadId,
    maxAttempts: limits.max_attempts,
    resume: threadId === null ? null : resumeCommand(given, threadId),
  };
  const report = given.json ? jsonReport(about, io) : liveReport(about, io);
  const abort = new AbortController();
  const release = io.onStop((reason) => {
    report.stopping();
    abort.abort(new Error(reason));
  });
  let runtime: Runtime | undefined;
  try {
    runtime = await createRuntime({
      ...prepared.services,
      ...(threadId === null ? { checkpointer: false } : { folder }),
    });
    if (abort.signal.aborted) throw new StoppedEarlyError();
    const run = { ...prepared, runtime, threadId, report, signal: abort.signal };
    const result = await executeTurn(run, given);
    report.end(result);
    return result.status === "COMPLETED" ? exitCodes.done : exitCodes.runFailed;
  } finally {
    report.leave();
    await runtime?.close();
    release();
  }
}

interface TurnOfRun extends PreparedRun {
  readonly runtime: Runtime;
  readonly threadId: string | null;
  readonly report: RunReport;
  readonly signal: AbortSignal;
}

function executeTurn(run: TurnOfRun, given: RunOptions): Promise<ExecuteResult> {
  const { definition, input, runtime, threadId, report, signal } = run;
  return executeAgent(definition, input, {
    runtime,
    signal,
    onEvent: (event) => report.event(event),
    ...(threadId !== null && { threadId }),
    ...(given.model !== undefined && { model: given.model }),
    ...(given.temperature !== undefined && { temperature: given.temperature }),
  });
}

/** The command line that goes on with a thread, under the same conditions. */
function resumeCommand(given: RunArguments, threadId: string): string {
  const options = {
    "--thread": threadId,
    "--model": given.model,
    "--temperature": given.temperature,
    "--tools": given.tools,
    "--root": given.root,
  };
  const words = Object.entries(options).flatMap(([option, value]) =>
    value === undefined ? [] : [option, String(value)],
  );
  return shellCommand(["stratagraph", "run", given.agent, ...words]);
}

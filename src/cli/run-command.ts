import { existsSync } from "node:fs";
import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { compileAgent, createRuntime, executeAgent, type Runtime } from "../app.ts";
import { systemIds } from "../clock.ts";
import { NothingToAnswerError } from "../compile/answer-errors.ts";
import { readWaiting } from "../compile/waiting-requests.ts";
import { StratagraphError } from "../errors.ts";
import type { ExecuteResult } from "../runtime/execute-agent.ts";
import { NoCheckpointerError, NothingToResumeError } from "../runtime/errors.ts";
import type { Status } from "../state/lifecycle.ts";
import { answersFor, type AnswersOfRun } from "./ask/given-answers.ts";
import type { CliIo } from "./io.ts";
import { prepareRun, type PreparedRun } from "./prepare-run.ts";
import { exitCodes } from "./report-error.ts";
import type { RunArguments, RunOptions } from "./run-arguments.ts";
import { jsonReport, liveReport, type RunReport } from "./run-report.ts";
import { shellCommand } from "./shell-command.ts";
import { UsageError } from "./usage-error.ts";

/** A signal came before there was anything to cancel. */
class StoppedEarlyError extends StratagraphError {
  readonly code = "stopped";
  override readonly kind = "run";

  constructor() {
    super("Stopped before the turn began.");
  }
}

/**
 * `stratagraph run`: one turn of an agent, as far as it goes without people, or on a terminal with them.
 * @throws whatever is wrong with its use, before anything is written
 */
export async function runCommand(given: RunArguments, io: CliIo): Promise<number> {
  const prepared = await prepareRun(given, io);
  const folder = join(io.cwd, ".stratagraph");
  if (prepared.input === null && !io.env["DATABASE_URL"] && !existsSync(folder)) {
    const threadId = given.thread ?? "";
    if (prepared.answers !== null) throw new NothingToAnswerError(threadId, null);
    throw new NothingToResumeError(threadId, null);
  }
  const openPrompt = given.json ? null : io.openPrompt;
  const { name, version, execution_config: limits } = prepared.definition.spec;
  const threadId = given.thread ?? systemIds();
  const about = {
    agent: { name, version },
    model: prepared.model,
    threadId: given.save ? threadId : null,
    maxAttempts: limits.max_attempts,
    resume: given.save ? resumeCommand(given, threadId) : null,
  };
  const report = given.json ? jsonReport(about, io) : liveReport(about, io);
  const abort = new AbortController();
  const leave = new AbortController();
  let asks = false;
  const release = io.onStop((reason) => {
    if (asks) return leave.abort();
    report.stopping();
    abort.abort(new Error(reason));
  });
  let runtime: Runtime | undefined;
  try {
    runtime = await createRuntime({
      ...prepared.services,
      ...(given.save
        ? { folder }
        : { checkpointer: openPrompt === null ? false : new MemorySaver() }),
    });
    if (abort.signal.aborted) throw new StoppedEarlyError();
    const keeps = given.save || openPrompt !== null;
    const run = { ...prepared, runtime, threadId: keeps ? threadId : null, report, given };
    let result = await executeTurn(run, prepared.input, abort.signal);
    for (let [request] = result.interrupts; request !== undefined; [request] = result.interrupts) {
      if (openPrompt === null) break;
      asks = true;
      const asked = await report.ask(request, openPrompt, leave.signal);
      asks = false;
      if (asked === "left") break;
      const answers = asked === "expired" ? {} : { answers: { [request.id]: asked.answer } };
      result = await executeTurn({ ...run, answers: null }, null, abort.signal, answers);
    }
    report.end(result);
    return exitCodeOf(result.status);
  } catch (thrown) {
    if (!(thrown instanceof NoCheckpointerError) || given.save) throw thrown;
    throw new UsageError(
      "The run has to wait for a person, and --no-save keeps nothing that could wait. Run it on a terminal, or without --no-save.",
      thrown.code,
      { cause: thrown },
    );
  } finally {
    report.leave();
    await runtime?.close();
    release();
  }
}

function exitCodeOf(status: Status): number {
  if (status === "COMPLETED") return exitCodes.done;
  return status === "AWAITING_HUMAN" ? exitCodes.waits : exitCodes.runFailed;
}

interface TurnOfRun extends PreparedRun {
  readonly runtime: Runtime;
  readonly threadId: string | null;
  readonly report: RunReport;
  readonly given: RunOptions;
}

async function executeTurn(
  run: TurnOfRun,
  input: unknown,
  signal: AbortSignal,
  answers: Partial<AnswersOfRun> = {},
): Promise<ExecuteResult> {
  const { definition, runtime, threadId, report, given } = run;
  const texts = threadId === null ? null : run.answers;
  return executeAgent(definition, input, {
    runtime,
    signal,
    onEvent: (event) => report.event(event),
    ...(threadId !== null && { threadId }),
    ...(given.model !== undefined && { model: given.model }),
    ...(given.temperature !== undefined && { temperature: given.temperature }),
    ...answers,
    ...(texts !== null && answersFor(texts, await waitingOn(run))),
  });
}

/** What the thread waits for. */
async function waitingOn({ definition, runtime, threadId }: TurnOfRun) {
  const graph = await compileAgent(definition, runtime);
  const { waiting } = await readWaiting(graph, { configurable: { thread_id: threadId } });
  return waiting;
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

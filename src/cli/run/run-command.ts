import { type CliIo, UsageError } from "../io.ts";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { compileAgent, createRuntime, executeAgent, type Runtime } from "../../app.ts";
import { systemIds } from "../../clock.ts";
import type { Attachment } from "../../compile/attachments/read-attachments.ts";
import { NothingToAnswerError } from "../../compile/errors.ts";
import { readWaiting } from "../../compile/guards/waiting.ts";
import type { ExecuteResult } from "../../runtime/execute-agent.ts";
import { NoCheckpointerError, NothingToResumeError } from "../../runtime/errors.ts";
import { answersFor } from "../ask/given-answers.ts";
import { followTurn, type GivenAnswers } from "./follow-turn.ts";
import { prepareRun, withPrepared, type PreparedRun } from "./prepare-run.ts";
import type { RunArguments, RunOptions } from "../options.ts";
import { runReport, type RunReport, turnOptions } from "./run-report.ts";

/**
 * `stratagraph run`: one turn of an agent, as far as it goes without people, or on a terminal with them.
 * @throws whatever is wrong with its use, before anything is written
 */
export async function runCommand(given: RunArguments, io: CliIo): Promise<number> {
  const prepared = await prepareRun(given, io);
  return withPrepared(prepared, () => runPrepared(prepared, given, io));
}

async function runPrepared(prepared: PreparedRun, given: RunArguments, io: CliIo): Promise<number> {
  const folder = join(io.cwd, ".stratagraph");
  if (prepared.input === null && !io.env["DATABASE_URL"] && !existsSync(folder)) {
    const threadId = given.thread ?? "";
    if (prepared.answers !== null || prepared.toolResults !== null)
      throw new NothingToAnswerError(threadId, null);
    throw new NothingToResumeError(threadId, null);
  }
  const openPrompt = given.json ? null : io.openPrompt;
  const threadId = given.thread ?? systemIds();
  const report = runReport({ ...given, prepared, threadId: given.save ? threadId : null }, io);
  const openRuntime = () =>
    createRuntime({
      ...prepared.services,
      ...(given.save
        ? { folder }
        : { checkpointer: openPrompt === null ? false : new MemorySaver() }),
    });
  const keeps = given.save || openPrompt !== null;
  const paths = given.attach?.map((path) => ({ path: resolve(io.cwd, path) }));
  const attached = paths !== undefined && { attachments: paths };
  const run = { ...prepared, threadId: keeps ? threadId : null, report, given };
  try {
    return await followTurn({
      io,
      report,
      openPrompt,
      openRuntime,
      begin: (runtime, signal) =>
        executeTurn({ ...run, ...attached, runtime, signal }, prepared.input),
      goOn: (runtime, signal, answers) =>
        executeTurn({ ...run, runtime, signal, answers: null, toolResults: null }, null, answers),
      end: (result) => report.end(result),
    });
  } catch (thrown) {
    if (!(thrown instanceof NoCheckpointerError) || given.save) throw thrown;
    throw new UsageError(
      "The run must wait for a person or for tool results, and --no-save stores no state to resume. Run it on a terminal, or without --no-save.",
      thrown.code,
      { cause: thrown },
    );
  }
}

interface TurnOfRun extends PreparedRun {
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  readonly threadId: string | null;
  readonly report: RunReport;
  readonly given: RunOptions;
  readonly attachments?: readonly Attachment[] | undefined;
}

async function executeTurn(
  run: TurnOfRun,
  input: unknown,
  answers: GivenAnswers = {},
): Promise<ExecuteResult> {
  const { definition, runtime, signal, threadId, report, given, attachments, toolResults } = run;
  const texts = threadId === null ? null : run.answers;
  return executeAgent(definition, input, {
    runtime,
    ...turnOptions(given, { report, signal }),
    ...(threadId !== null && { threadId }),
    ...answers,
    ...(attachments !== undefined && { attachments }),
    ...(toolResults !== null && { toolResults }),
    ...(texts !== null && answersFor(texts, await waitingOn(run))),
  });
}

/** What the thread waits for. */
async function waitingOn({ definition, runtime, threadId }: TurnOfRun) {
  const graph = await compileAgent(definition, runtime);
  const { waiting } = await readWaiting(graph, { configurable: { thread_id: threadId } });
  return waiting;
}

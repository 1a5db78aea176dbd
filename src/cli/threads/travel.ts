import { type CliIo, UsageError } from "../io.ts";
import { executeAgent } from "../../app.ts";
import { systemIds } from "../../clock.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import type { ExecuteResult } from "../../runtime/execute-agent.ts";
import type { Recovery, StoredState } from "../../runtime/threads/threads.ts";
import { readJsonObject } from "../input.ts";
import { type AgentOptions, resumeCommand } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { followTurn } from "../run/follow-turn.ts";
import { prepareAgent, withPrepared } from "../run/prepare-run.ts";
import { resultJson, runReport, turnOptions } from "../run/run-report.ts";
import { waitingLines } from "../view/run/lines.ts";
import { answerWords } from "../view/run/request-lines.ts";
import { plainLine } from "../view/terminal.ts";
import { recoveryLines } from "../view/thread/history-lines.ts";
import { outputLayout } from "../view/values.ts";
import {
  findCheckpoint,
  knownThreads,
  openDatabase,
  parseReference,
  requireThread,
  withKnownThread,
} from "./open.ts";

export interface ForkOptions extends Pick<
  AgentOptions,
  "tools" | "acceptChanges" | "acceptAgent" | "json"
> {
  /** Updates by channel, as JSON. */
  readonly set?: string;
  readonly agent?: string;
  /** Id of the new thread. */
  readonly new?: string;
}

/**
 * `stratagraph fork`: a new thread that begins at a checkpoint of another. Nothing is run.
 * @throws UsageError, UnknownThreadError, UnknownCheckpointError, AmbiguousCheckpointError, and what loading the agent
 * and `fork` of threads throw
 */
export async function forkCommand(
  given: ForkOptions & { readonly thread: string; readonly checkpoint: string },
  io: CliIo,
): Promise<number> {
  const {
    thread: threadId,
    agent: file,
    set,
    new: newThreadId,
    acceptChanges,
    acceptAgent,
  } = given;
  const reference = parseReference(given.checkpoint);
  const modifiedState = set === undefined ? undefined : readJsonObject(set, "--set");
  if (modifiedState !== undefined && file === undefined) {
    throw new UsageError(
      "--set is validated by the agent of the thread: give it with --agent FILE.",
    );
  }
  if (newThreadId !== undefined) checkThreadId(newThreadId);
  const prepared = file === undefined ? null : await prepareAgent({ ...given, agent: file }, io);
  const fork = () =>
    withKnownThread(
      threadId,
      io,
      async (threads) => {
        const { id } = await findCheckpoint(threads, threadId, reference);
        const made = await threads.fork({
          threadId,
          checkpointId: id,
          ...(newThreadId !== undefined && { newThreadId }),
          ...(prepared !== null && { agent: prepared.definition }),
          ...(modifiedState !== undefined && { modifiedState }),
          ...(acceptChanges !== undefined && { acceptChanges }),
          ...(acceptAgent !== undefined && { acceptAgent }),
        });
        return { from: id, state: await threads.stateAt(made) };
      },
      prepared?.services,
    );
  const forked = await withPrepared(prepared, fork);
  const { from, state } = forked;
  const command = goOnCommand(given, state, io);
  if (given.json) {
    const { threadId: thread_id, id: checkpoint_id, next } = state;
    const origin = { thread_id: threadId, checkpoint_id: from };
    printJson({ thread_id, checkpoint_id, from: origin, next, command }, io);
  } else {
    const { style } = outputLayout(io);
    const made = plainLine(`Thread ${state.threadId} starts at checkpoint ${from} of ${threadId}.`);
    printLines([made, "", style.yellow("To continue:"), `  ${command}`], io);
  }
  return exitCodes.done;
}

/** The command line that continues the new thread. */
function goOnCommand(
  given: ForkOptions,
  { threadId, next, waiting }: StoredState,
  io: Pick<CliIo, "env">,
): string {
  const { agent = "AGENT", tools } = given;
  const command = resumeCommand({ agent, ...(tools !== undefined && { tools }) }, threadId, io);
  if (waiting.length > 0) return `${command} ${answerWords(waiting)}`;
  return next.length > 0 ? command : `${command} "…"`;
}

export interface ReplayOptions extends AgentOptions {
  /** Id of the new thread; true for a generated one. */
  readonly newThread?: string | true;
  /** Updates by channel, as JSON. */
  readonly state?: string;
}

/**
 * `stratagraph replay`: runs a thread on from one of its checkpoints, as a new branch, or in a new thread.
 * @throws whatever is wrong with its use, before anything is run
 */
export async function replayCommand(
  given: ReplayOptions & {
    readonly agent: string;
    readonly thread: string;
    readonly checkpoint: string;
  },
  io: CliIo,
): Promise<number> {
  const { thread: from, newThread, state } = given;
  const reference = parseReference(given.checkpoint);
  const modifiedState = state === undefined ? undefined : readJsonObject(state, "--state");
  const isNew = newThread !== undefined || modifiedState !== undefined;
  const threadId = isNew
    ? checkThreadId(typeof newThread === "string" ? newThread : systemIds())
    : from;
  requireThread(from, io);
  const prepared = await prepareAgent(given, io);
  const { definition } = prepared;
  const report = runReport({ ...given, prepared, threadId }, io);
  return withPrepared(prepared, () =>
    followTurn({
      io,
      report,
      openPrompt: given.json ? null : io.openPrompt,
      openRuntime: () => openDatabase(io, prepared.services),
      begin: (runtime, signal) =>
        knownThreads(runtime.threads, async (threads) => {
          const { id: checkpointId } = await findCheckpoint(threads, from, reference);
          return threads.replay(definition, {
            threadId: from,
            checkpointId,
            ...(isNew && { newThreadId: threadId }),
            ...(modifiedState !== undefined && { modifiedState }),
            ...turnOptions(given, { report, signal }),
          });
        }),
      goOn: (runtime, signal, answers) =>
        executeAgent(definition, null, {
          runtime,
          threadId,
          ...turnOptions(given, { report, signal }),
          ...answers,
        }),
      end: (result) => report.end(result),
    }),
  );
}

/**
 * `stratagraph recover`: resumes an interrupted turn from the last intact checkpoint.
 * @throws whatever is wrong with its use, before anything is run
 */
export async function recoverCommand(
  given: AgentOptions & {
    readonly agent: string;
    readonly thread: string;
    readonly checkpoint: string | undefined;
  },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, checkpoint } = given;
  const reference = checkpoint === undefined ? null : parseReference(checkpoint);
  requireThread(threadId, io);
  const prepared = await prepareAgent(given, io);
  const { definition } = prepared;
  const report = runReport({ ...given, prepared, threadId }, io);
  const found: { recovery?: Recovery } = {};
  const follow = () =>
    followTurn<ExecuteResult | null>({
      io,
      report,
      openPrompt: given.json ? null : io.openPrompt,
      openRuntime: () => openDatabase(io, prepared.services),
      begin: (runtime, signal) =>
        knownThreads(runtime.threads, async (threads) => {
          const at =
            reference === null
              ? {}
              : { checkpointId: (await findCheckpoint(threads, threadId, reference)).id };
          const options = turnOptions(given, { report, signal });
          const recovery = await threads.recover(definition, { threadId, ...at, ...options });
          found.recovery = recovery;
          report.say(["", ...recoveryLines(recovery, outputLayout(io))]);
          return recovery.result;
        }),
      goOn: (runtime, signal, answers) =>
        executeAgent(definition, null, {
          runtime,
          threadId,
          ...turnOptions(given, { report, signal }),
          ...answers,
        }),
      end: (result) => {
        const { recovery } = found;
        if (recovery === undefined) return;
        if (given.json) {
          const { from, skipped, settled } = recovery;
          const details = {
            from: snakeKeys(from),
            skipped: skipped.map(snakeKeys),
            settled: settled.map(snakeKeys),
          };
          const ran = result === null ? null : resultJson(result, threadId);
          printJson({ ...snakeKeys(recovery), ...details, result: ran }, io);
        } else if (result !== null) report.end(result);
        else if (recovery.waiting.length > 0) {
          const resume = resumeCommand(given, threadId, io);
          report.say(waitingLines(recovery.waiting, { ...outputLayout(io), resume }));
        }
      },
    });
  const code = await withPrepared(prepared, follow);
  const waits = found.recovery?.result === null && found.recovery.waiting.length > 0;
  return waits ? exitCodes.waits : code;
}

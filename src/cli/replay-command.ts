import { executeAgent } from "../app.ts";
import { findCheckpoint, parseReference } from "./checkpoint-reference.ts";
import { followTurn } from "./follow-turn.ts";
import type { CliIo } from "./io.ts";
import { knownThreads, openDatabase, requireThread } from "./open-threads.ts";
import { prepareAgent, withPrepared } from "./prepare-run.ts";
import { runReport } from "./run-report.ts";
import type { AgentOptions } from "./run-arguments.ts";
import { turnOptions } from "./turn-options.ts";

/**
 * `stratagraph replay`: runs a thread on from one of its checkpoints, as a new branch.
 * @throws whatever is wrong with its use, before anything is run
 */
export async function replayCommand(
  given: AgentOptions & {
    readonly agent: string;
    readonly thread: string;
    readonly checkpoint: string;
  },
  io: CliIo,
): Promise<number> {
  const { thread: threadId } = given;
  const reference = parseReference(given.checkpoint);
  requireThread(threadId, io);
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
          const { id: checkpointId } = await findCheckpoint(threads, threadId, reference);
          const options = turnOptions(given, { report, signal });
          return threads.replay(definition, { threadId, checkpointId, ...options });
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

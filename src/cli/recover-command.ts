import { executeAgent } from "../app.ts";
import type { ExecuteResult } from "../runtime/execute-agent.ts";
import type { Recovery } from "../runtime/threads/threads.ts";
import { findCheckpoint, parseReference } from "./checkpoint-reference.ts";
import { followTurn } from "./follow-turn.ts";
import type { CliIo } from "./io.ts";
import { knownThreads, openDatabase, requireThread } from "./open-threads.ts";
import { prepareAgent, withPrepared } from "./prepare-run.ts";
import { printJson } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { resumeCommand } from "./resume-command.ts";
import { resultJson, runReport } from "./run-report.ts";
import type { AgentOptions } from "./run-arguments.ts";
import { snakeKeys } from "./snake-case.ts";
import { turnOptions } from "./turn-options.ts";
import { waitingLines } from "./view/ending.ts";
import { recoveryLines } from "./view/recovery-lines.ts";
import { viewOf } from "./view/view-of.ts";

/**
 * `stratagraph recover`: goes on with a turn that was cut off, from the last checkpoint that is sound.
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
          report.say(["", ...recoveryLines(recovery, viewOf(io))]);
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
          report.say(waitingLines(recovery.waiting, { ...viewOf(io), resume }));
        }
      },
    });
  const code = await withPrepared(prepared, follow);
  const waits = found.recovery?.result === null && found.recovery.waiting.length > 0;
  return waits ? exitCodes.waits : code;
}

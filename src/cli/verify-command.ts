import type { ThreadVerification } from "../runtime/threads/archive.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { snakeKeys } from "./snake-case.ts";
import { count } from "./view/figures.ts";
import { plainLine } from "./view/plain-text.ts";

/** Checkpoints after which progress is told again. */
const progressEvery = 1_000;

/**
 * `stratagraph verify`: reads every checkpoint of a thread, and lists those that are not as they were written.
 * @returns 1 where any is damaged
 * @throws UnknownThreadError
 */
export async function verifyCommand(
  given: { readonly thread: string; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const { thread: threadId } = given;
  const onProgress = ({ checked, total }: { checked: number; total: number }) => {
    if (checked % progressEvery !== 0) return;
    io.stderr.write(`Read ${checked.toLocaleString("en")} of ${count(total, "checkpoint")}\n`);
  };
  const found = await withKnownThread(threadId, io, (threads) =>
    threads.verify(threadId, { onProgress }),
  );
  const { checked, damaged } = found;
  if (given.json) printJson({ thread_id: threadId, checked, damaged: damaged.map(snakeKeys) }, io);
  else printLines(verificationLines(threadId, found), io);
  return damaged.length === 0 ? exitCodes.done : exitCodes.runFailed;
}

function verificationLines(
  threadId: string,
  { checked, damaged }: ThreadVerification,
): readonly string[] {
  const read = plainLine(`Read ${count(checked, "checkpoint")} of ${threadId}`);
  if (damaged.length === 0) return [`${read}: all are as they were written.`];
  return [
    `${read}: ${damaged.length.toLocaleString("en")} ${damaged.length === 1 ? "is" : "are"} damaged.`,
    ...damaged.map(({ namespace, checkpointId, reason }) => {
      const within = namespace === "" ? "" : ` in ${namespace}`;
      return `  ${plainLine(`${checkpointId}${within}: ${reason}`)}`;
    }),
  ];
}

import type { CheckpointRef } from "../runtime/threads/threads.ts";
import { checkThreadId } from "../runtime/thread-id.ts";
import { findCheckpoint, parseThreadReference } from "./checkpoint-reference.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { snakeKeys } from "./snake-case.ts";
import { diffLines } from "./view/diff-lines.ts";
import { viewOf } from "./view/view-of.ts";

/**
 * `stratagraph diff`: how one checkpoint differs from another, which may be another thread's: `THREAD/ID`.
 * @throws UsageError, UnknownThreadError, UnknownCheckpointError, AmbiguousCheckpointError
 */
export async function diffCommand(
  given: {
    readonly thread: string;
    readonly a: string;
    readonly b: string;
    /** One channel alone. */
    readonly channel?: string;
    readonly json?: boolean;
  },
  io: CliIo,
): Promise<number> {
  const before = parseThreadReference(given.a, given.thread);
  const after = parseThreadReference(given.b, given.thread);
  checkThreadId(after.threadId);
  const compared = await withKnownThread(before.threadId, io, async (threads) => {
    const refOf = async ({ threadId, reference }: typeof before): Promise<CheckpointRef> => {
      const { id } = await findCheckpoint(threads, threadId, reference);
      return { threadId, checkpointId: id };
    };
    const [a, b] = [await refOf(before), await refOf(after)];
    const channels = await threads.diff(a, b);
    const { channel } = given;
    return { a, b, channels: channels.filter((of) => (channel ?? of.channel) === of.channel) };
  });
  if (given.json) {
    const { a, b, channels } = compared;
    printJson({ a: snakeKeys(a), b: snakeKeys(b), channels }, io);
  } else {
    printLines(diffLines(compared, viewOf(io)), io);
  }
  return exitCodes.done;
}

import { confirmed } from "./ask/confirm.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { plainLine } from "./view/plain-text.ts";

/**
 * `stratagraph delete`: removes a thread, and all that is known of it.
 * @throws UsageError, UnknownThreadError
 */
export async function deleteCommand(
  given: { readonly thread: string; readonly yes?: boolean; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const { thread: threadId } = given;
  const removed = await withKnownThread(threadId, io, async (threads) => {
    await threads.history(threadId, { limit: 1 });
    const question = plainLine(`Remove thread ${threadId} and all of its checkpoints?`);
    if (!(await confirmed(question, given, io))) return false;
    await threads.delete(threadId);
    return true;
  });
  if (given.json) printJson({ thread_id: threadId, removed }, io);
  else
    printLines([removed ? plainLine(`Removed thread ${threadId}.`) : "Nothing was removed."], io);
  return exitCodes.done;
}

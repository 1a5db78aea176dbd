import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { pageOptions, type PageOptions } from "./page-options.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { commandLine } from "./program-name.ts";
import { snakeKeys } from "./snake-case.ts";
import { historyLines } from "./view/history-lines.ts";
import { viewOf } from "./view/view-of.ts";

export interface HistoryOptions extends PageOptions {
  readonly namespace?: string;
}

/**
 * `stratagraph history`: the checkpoints of a thread, newest first.
 * @throws UnknownThreadError
 */
export async function historyCommand(
  given: HistoryOptions & { readonly thread: string },
  io: CliIo,
): Promise<number> {
  const { thread, namespace } = given;
  const inside = namespace === undefined ? {} : { namespace };
  const { items, next } = await withKnownThread(thread, io, (threads) =>
    threads.history(thread, { ...pageOptions(given), ...inside }),
  );
  if (given.json) {
    printJson({ thread_id: thread, checkpoints: items.map(snakeKeys), next }, io);
    return exitCodes.done;
  }
  const view = viewOf(io);
  if (items.length === 0) {
    printLines(["No checkpoints here."], io);
    return exitCodes.done;
  }
  printLines(historyLines({ items, next }, view), io);
  if (next !== null) {
    const limit = given.limit === undefined ? [] : ["--limit", String(given.limit)];
    const place = namespace === undefined ? [] : ["--namespace", namespace];
    const words = ["history", thread, ...place, ...limit, "--cursor", next];
    printLines(["", view.style.dim(`Older: ${commandLine(words, io)}`)], io);
  }
  return exitCodes.done;
}

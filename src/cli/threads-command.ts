import { systemClock } from "../clock.ts";
import type { CliIo } from "./io.ts";
import { hasDatabase, withThreads } from "./open-threads.ts";
import { pageOptions, type PageOptions } from "./page-options.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { commandLine, programName } from "./program-name.ts";
import { snakeKeys } from "./snake-case.ts";
import { threadTable } from "./view/thread-table.ts";
import { viewOf } from "./view/view-of.ts";

export interface ThreadsOptions extends PageOptions {
  readonly status?: string;
  readonly agent?: string;
}

const none = { items: [], next: null };

/** `stratagraph threads`: the threads that are kept here, most recently updated first. */
export async function threadsCommand(given: ThreadsOptions, io: CliIo): Promise<number> {
  const { status, agent } = given;
  const filter = { ...(status !== undefined && { status }), ...(agent !== undefined && { agent }) };
  const page = hasDatabase(io)
    ? await withThreads(io, (threads) => threads.list({ ...pageOptions(given), ...filter }))
    : none;
  const { items, next } = page;
  if (given.json) {
    printJson({ threads: items.map(snakeKeys), next }, io);
    return exitCodes.done;
  }
  const view = viewOf(io);
  if (items.length === 0) {
    if (given.cursor !== undefined) printLines(["No more threads."], io);
    else if (Object.keys(filter).length > 0) printLines(["No such threads."], io);
    else {
      const begin = `  ${programName(io.env)} run AGENT "…" --thread NAME`;
      printLines(["No threads yet. To begin one:", begin], io);
    }
    return exitCodes.done;
  }
  const same = Object.entries({
    ...filter,
    ...(given.limit !== undefined && { limit: given.limit }),
  });
  const options = same.flatMap(([name, value]) => [`--${name}`, String(value)]);
  const older = commandLine(["threads", ...options, "--cursor", next ?? ""], io);
  const more = next === null ? [] : ["", `Older: ${older}`];
  printLines(
    [...threadTable(items, { ...view, now: systemClock.now() }), ...more.map(view.style.dim)],
    io,
  );
  return exitCodes.done;
}

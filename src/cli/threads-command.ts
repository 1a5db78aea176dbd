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

const none = { items: [], next: null };

/** `stratagraph threads`: the threads that are kept here, most recently updated first. */
export async function threadsCommand(given: PageOptions, io: CliIo): Promise<number> {
  const page = hasDatabase(io)
    ? await withThreads(io, (threads) => threads.list(pageOptions(given)))
    : none;
  const { items, next } = page;
  if (given.json) {
    printJson({ threads: items.map(snakeKeys), next }, io);
    return exitCodes.done;
  }
  const view = viewOf(io);
  if (items.length === 0) {
    const what = given.cursor === undefined ? "No threads yet. To begin one:" : "No more threads.";
    const how =
      given.cursor === undefined ? [`  ${programName(io.env)} run AGENT "…" --thread NAME`] : [];
    printLines([what, ...how], io);
    return exitCodes.done;
  }
  const limit = given.limit === undefined ? [] : ["--limit", String(given.limit)];
  const more =
    next === null ? [] : ["", `Older: ${commandLine(["threads", ...limit, "--cursor", next], io)}`];
  printLines(
    [...threadTable(items, { ...view, now: systemClock.now() }), ...more.map(view.style.dim)],
    io,
  );
  return exitCodes.done;
}

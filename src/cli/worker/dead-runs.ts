import type { CliIo } from "../io.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { audit, withPlatform } from "../platform/open.ts";
import { exitCodes } from "../report-error.ts";
import { minuteOf } from "../view/figures.ts";
import { tableLines } from "../view/table.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";

/** `stratagraph worker dead`: the dead runs of all tenants, newest first. */
export async function deadRunsCommand(given: PageOptions, io: CliIo): Promise<number> {
  const { items, next } = await withPlatform(io, ({ runs }) => runs.listDead(pageOf(given)));
  if (given.json) {
    printJson({ runs: items.map((run) => snakeKeys(run)), next }, io);
    return exitCodes.done;
  }
  if (items.length === 0) {
    printLines(["No dead runs."], io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  const columns = [
    { title: "run" },
    { title: "tenant", optional: 1 },
    { title: "thread", least: 8 },
    { title: "kind" },
    { title: "ended" },
  ];
  const rows = items.map((run) => [
    { text: run.id },
    { text: run.tenantId },
    { text: plainLine(run.threadId) },
    { text: run.kind },
    { text: run.endedAt === null ? "" : minuteOf(run.endedAt) },
  ]);
  const more = next === null ? [] : ["", view.style.dim(`Continue with --cursor ${next}`)];
  printLines([...tableLines(columns, rows, view), ...more], io);
  return exitCodes.done;
}

/**
 * `stratagraph worker retry`: puts a dead run back into the queue. A worker takes it within a second.
 *
 * @throws NotFoundError; ConflictError for a run that is not dead
 */
export async function retryRunCommand(
  given: { readonly run: string; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const { run, isRetried } = await withPlatform(io, async (platform) => {
    const tenantId = await platform.runs.tenantOf(given.run);
    const retried = await platform.runs.retry(tenantId, given.run);
    if (retried.isRetried)
      await audit(platform, tenantId, { action: "run.retry", subject: given.run });
    return retried;
  });
  if (given.json) printJson({ run_id: run.id, status: run.state, retried: isRetried }, io);
  else
    printLines([isRetried ? `Queued run ${run.id} again.` : `Run ${run.id} is ${run.state}.`], io);
  return exitCodes.done;
}

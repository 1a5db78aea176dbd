import { systemClock } from "../../clock.ts";
import { queueBodyOf, workerBodyOf } from "../../server/workers/routes.ts";
import type { CliIo } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { withPlatform } from "../platform/open.ts";
import { exitCodes } from "../report-error.ts";
import { tableLines } from "../view/table.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";

/** `stratagraph worker status`: the processes that take runs, and the queue of all tenants. */
export async function workerStatusCommand(
  given: { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const [listed, state] = await withPlatform(io, ({ workers }) =>
    Promise.all([workers.list(), workers.state()]),
  );
  const workers = listed.map(workerBodyOf);
  const queue = queueBodyOf(state, systemClock.now());
  if (given.json) {
    printJson({ workers, queue }, io);
    return exitCodes.done;
  }
  const columns = [
    { title: "worker", least: 12 },
    { title: "kinds", optional: 1 },
    { title: "labels" },
    { title: "runs", align: "right" },
    { title: "of", align: "right" },
    { title: "seen" },
    { title: "end seen by" },
  ] as const;
  const rows = workers.map((worker) => [
    { text: plainLine(worker.name) },
    { text: worker.kinds?.join(" ") ?? "all" },
    { text: worker.labels.join(" ") },
    { text: String(worker.running) },
    { text: String(worker.concurrency) },
    { text: `${Math.round(worker.silent_ms / 1_000)} s ago` },
    { text: worker.watched ? "lock" : "lease" },
  ]);
  const oldest =
    queue.oldest_seconds === null ? "" : `, the oldest due for ${queue.oldest_seconds} s`;
  const table = rows.length === 0 ? ["No workers."] : tableLines(columns, rows, outputLayout(io));
  printLines(
    [
      ...table,
      "",
      `Queued: ${queue.queued}${oldest}; delayed: ${queue.delayed}; running: ${queue.running}; dead: ${queue.dead}`,
      `Waiting for people: ${queue.awaiting_human}; for clients: ${queue.awaiting_tool}; for times and events: ${queue.awaiting_event}`,
      `Runs put back: ${queue.takeovers} of workers that died, ${queue.ended_leases} whose lease had ended`,
    ],
    io,
  );
  return exitCodes.done;
}

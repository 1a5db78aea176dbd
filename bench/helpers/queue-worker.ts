/**
 * A worker process of `run-queue.ts`, by its first argument: `ours`, on the table of runs, or `graphile`, a plain
 * graphile-worker. Sends each start of a job, as milliseconds since 1970, and ends with SIGTERM.
 */
import { Logger, run as runGraphile } from "graphile-worker";
import { systemClock } from "../../src/clock.ts";
import { createRunTableQueue } from "../../src/engine/run-table-queue.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";

const [kind, url] = process.argv.slice(2) as [string, string];
const concurrency = 16;

let starts: [id: string, at: number][] = [];
const started = (id: string) => starts.push([id, performance.timeOrigin + performance.now()]);
const timer = setInterval(() => {
  if (starts.length > 0) process.send?.(starts);
  starts = [];
}, 20);

/** Returns a function that stops taking jobs. */
async function startOurs(): Promise<() => Promise<unknown>> {
  const database = await openDatabase({ url });
  const { claims } = await openPlatform(database);
  const worker = `bench-${process.pid}`;
  const onError = console.error;
  const queue = createRunTableQueue({ claims, clock: systemClock, worker, concurrency, onError });
  const notices = database.openNotices?.("bench_queue", {
    clock: systemClock,
    onNotice: () => queue.wake(),
    onChange: () => {},
    onError,
  });
  queue.start(async (run) => {
    started(run.id);
    await claims.finish(run, { state: "complete", result: null });
  });
  return async () => {
    await queue.stop({ graceMs: 0 });
    await notices?.close();
    await database.close();
  };
}

async function startGraphile(): Promise<() => Promise<unknown>> {
  const runner = await runGraphile({
    connectionString: url,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    taskList: { job: async (payload) => void started((payload as { readonly id: string }).id) },
  });
  return () => runner.stop();
}

const stop = await (kind === "ours" ? startOurs() : startGraphile());
process.once("SIGTERM", () => {
  clearInterval(timer);
  void stop().then(() => process.exit(0));
});
process.send?.("ready");

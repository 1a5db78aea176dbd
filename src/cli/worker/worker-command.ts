import { createWorker } from "../../create-worker.ts";
import { type CliIo, type StopReason, UsageError } from "../io.ts";
import { printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { createLogger, engineOptions, usualShutdownSeconds } from "../serve/engine-options.ts";
import { readServeConfig, type ServeFlags } from "../serve/serve-config.ts";

/**
 * `stratagraph worker`: takes runs until a signal comes, then hands over those under way. A second signal ends the process
 * at once.
 *
 * @throws InvalidServeConfigError; UsageError without a Postgres database and for a concurrency of 0; the errors of opening
 * the database
 */
export async function workerCommand(flags: ServeFlags, io: CliIo): Promise<number> {
  const config = await readServeConfig(flags, io);
  if (config.database_url === undefined) {
    throw new UsageError(
      "Expected a Postgres database: give --database-url, or set DATABASE_URL. An embedded database belongs to one process: its server takes the runs.",
      "no_database_url",
    );
  }
  if (config.concurrency === 0)
    throw new UsageError(
      "Expected a concurrency of at least 1, got 0: the worker would take no run.",
    );
  const logger = createLogger(config, io);
  const worker = await createWorker(engineOptions(config, { io, logger }));
  let release = () => {};
  const stopped = new Promise<StopReason>((stop) => {
    release = io.onStop(stop);
  });
  try {
    const { kinds, labels = [], concurrency = 16 } = config;
    printLines(
      [
        `Worker ${worker.name} takes ${concurrency} ${concurrency === 1 ? "run" : "runs"} at a time.`,
        `Kinds: ${kinds?.join(", ") ?? "all"}`,
        `Labels: ${labels.join(", ") || "none"}`,
      ],
      io,
    );
    const reason = await stopped;
    logger.info({ reason }, "shutting down");
    return exitCodes.done;
  } finally {
    await worker.close(1000 * (config.shutdown_seconds ?? usualShutdownSeconds));
    // Until here a second signal ends the process.
    release();
  }
}

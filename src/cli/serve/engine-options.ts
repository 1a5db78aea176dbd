import { resolve } from "node:path";
import pino from "pino";
import type { WorkerOptions } from "../../create-worker.ts";
import type { CliIo } from "../io.ts";
import type { ServeConfig } from "./serve-config.ts";

/** Seconds for requests and runs under way when a process is stopped. */
export const usualShutdownSeconds = 10;

/** The options that `serve` and `worker` share. */
export function engineOptions(
  config: ServeConfig,
  { io, logger }: { readonly io: CliIo; readonly logger: NonNullable<WorkerOptions["logger"]> },
): WorkerOptions {
  return {
    databaseUrl: config.database_url,
    listenUrl: config.listen_url,
    preparedStatements: config.prepared_statements,
    maxConnections: config.database_connections,
    concurrency: config.concurrency,
    kinds: config.kinds,
    labels: config.labels,
    runtime: {
      ...(config.model !== undefined && { defaultModel: config.model }),
      ...(config.http_allow !== undefined && { httpAllow: config.http_allow }),
    },
    folder: resolve(io.cwd, ".stratagraph"),
    development: config.dev ?? false,
    logger,
    env: io.env,
  };
}

/** Creates the logger of a process, which writes lines of JSON to stderr. */
export function createLogger({ log_level: level = "info" }: ServeConfig, io: CliIo): pino.Logger {
  return pino({ level, base: null }, { write: (line: string) => io.stderr.write(line) });
}

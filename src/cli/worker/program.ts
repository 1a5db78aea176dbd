import { type Command, Option } from "commander";
import type { CliIo } from "../io.ts";
import {
  addOptions,
  declareOption,
  httpAllowOption,
  jsonOption,
  type PageOptions,
  pageOptions,
  parseInteger,
} from "../options.ts";
import type { ServeFlags } from "../serve/serve-config.ts";

const labelOption = declareOption<readonly string[]>(
  "--label <name>",
  "label that agents may ask for in execution_config.worker_labels; repeatable",
  (text, previous = []) => [...previous, text],
);

/** Adds `worker` with what operators do about workers and dead runs. */
export function addWorkerCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const worker = program
    .command("worker")
    .description("Take runs of a Postgres database that servers queue, without answering requests.")
    .helpCommand(false);
  worker
    .command("run", { isDefault: true })
    .description(
      "Take runs until a signal comes, then hand them over. A second signal ends it at once.",
    )
    .addHelpText(
      "after",
      "\nEach option may also stand in the file of --config, or in the environment, as for serve: DATABASE_URL, STRATAGRAPH_DATABASE_CONNECTIONS, STRATAGRAPH_CONCURRENCY, STRATAGRAPH_KINDS, STRATAGRAPH_LABELS, STRATAGRAPH_MODEL, STRATAGRAPH_HTTP_ALLOW, STRATAGRAPH_SHUTDOWN_SECONDS, STRATAGRAPH_LOG_LEVEL. Options come before the environment, and that before the file.",
    )
    .option(
      "--config <file>",
      "settings: .yaml, .yml or .json (default: stratagraph.yaml, if it is there)",
    )
    .option("--database-url <url>", "Postgres database")
    .addOption(
      new Option(
        "--database-connections <number>",
        "maximum Postgres connections (default: 10)",
      ).argParser((text) => parseInteger(text, { from: 1, to: 1000 })),
    )
    .addOption(
      new Option("--concurrency <number>", "runs at the same time (default: 16)").argParser(
        (text) => parseInteger(text, { from: 1, to: 1000 }),
      ),
    )
    .addOption(
      new Option(
        "--kinds <kinds>",
        "kinds of runs to take: turn, resume, replay, graph, with commas (default: all)",
      ).argParser((text) => text.split(",").map((kind) => kind.trim())),
    )
    .addOption(labelOption())
    .option("--model <ref>", "model of definitions that name none, as provider:model")
    .addOption(httpAllowOption())
    .addOption(
      new Option(
        "--shutdown-seconds <number>",
        "time for steps under way after a signal (default: 10)",
      ).argParser((text) => parseInteger(text, { from: 0, to: 3600 })),
    )
    .addOption(
      new Option("--log-level <level>", "least level of logs on stderr (default: info)").choices([
        "debug",
        "info",
        "warn",
        "error",
        "silent",
      ]),
    )
    .action(async ({ label, ...flags }: ServeFlags & { label?: readonly string[] }) => {
      const { workerCommand } = await import("./worker-command.ts");
      exitWith(await workerCommand({ ...flags, ...(label && { labels: label }) }, io));
    });
  worker
    .command("status")
    .description("Show the processes that take runs, and how many runs wait.")
    .addOption(jsonOption())
    .action(async (options: { json?: boolean }) => {
      const { workerStatusCommand } = await import("./status.ts");
      exitWith(await workerStatusCommand(options, io));
    });
  addOptions(worker.command("dead"), pageOptions, {
    limit: "maximum number of rows, 1 to 200 (default: 50)",
  })
    .description(
      "List the dead runs of all tenants, newest first: their workers were lost one after the other.",
    )
    .addOption(jsonOption())
    .action(async (options: PageOptions) => {
      const { deadRunsCommand } = await import("./dead-runs.ts");
      exitWith(await deadRunsCommand(options, io));
    });
  worker
    .command("retry")
    .description("Put a dead run back into the queue. It continues from its last checkpoint.")
    .argument("<run>", "id of the run")
    .addOption(jsonOption())
    .action(async (run: string, options: { json?: boolean }) => {
      const { retryRunCommand } = await import("./dead-runs.ts");
      exitWith(await retryRunCommand({ run, ...options }, io));
    });
}

import { type Command, Option } from "commander";
import { type CliIo } from "../io.ts";
import type { DevFlags } from "../dev/dev-command.ts";
import {
  declareOption,
  httpAllowOption,
  modelOption,
  type OptionFactory,
  parseInteger,
  toolsOption,
} from "../options.ts";
import type { ServeFlags } from "./serve-config.ts";

const corsOption = declareOption<readonly string[]>(
  "--cors <origin>",
  "origin of web pages that may call the API; repeatable",
  (text, previous = []) => [...previous, text],
);

const experimentsOption = declareOption(
  "--experiments <folder>",
  "folder with logs of experiments to show (default: none)",
);

const databaseUrlOption = declareOption(
  "--database-url <url>",
  "Postgres database (default: the embedded one of this folder)",
);

const logLevelOption: OptionFactory<string> = (
  description = "least level of logs on stderr (default: info)",
) =>
  new Option("--log-level <level>", description).choices([
    "debug",
    "info",
    "warn",
    "error",
    "silent",
  ]);

/** Adds `serve`. */
export function addServeCommand(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  program
    .command("serve")
    .description("Serve the HTTP API: agents, runs and threads of many tenants.")
    .addHelpText(
      "after",
      "\nEach option may also stand in the file of --config, or in the environment: STRATAGRAPH_HOST, STRATAGRAPH_PORT (or PORT), STRATAGRAPH_DEV, STRATAGRAPH_AGENTS, STRATAGRAPH_TENANT, STRATAGRAPH_EXPERIMENTS, DATABASE_URL, STRATAGRAPH_DATABASE_CONNECTIONS, STRATAGRAPH_CONCURRENCY, STRATAGRAPH_KINDS, STRATAGRAPH_LABELS, STRATAGRAPH_MODEL, STRATAGRAPH_HTTP_ALLOW, STRATAGRAPH_SHUTDOWN_SECONDS, STRATAGRAPH_CORS, STRATAGRAPH_LOG_LEVEL. Options come before the environment, and that before the file.",
    )
    .option(
      "--config <file>",
      "settings: .yaml, .yml or .json (default: stratagraph.yaml, if it is there)",
    )
    .option("--host <address>", "address to listen on (default: 127.0.0.1)")
    .addOption(
      new Option(
        "--port <number>",
        "port to listen on, 0 for a free one (default: 8123)",
      ).argParser((text) => parseInteger(text, { from: 0, to: 65_535 })),
    )
    .option(
      "--dev",
      "development: no keys, on loopback only (stratagraph dev reloads definitions too)",
    )
    .option("--agents <folder>", "folder of definitions to serve (default: those in the database)")
    .option("--tenant <name>", "tenant that --agents are of (default: default)")
    .addOption(experimentsOption())
    .addOption(databaseUrlOption())
    .addOption(
      new Option(
        "--database-connections <number>",
        "maximum Postgres connections (default: 10)",
      ).argParser((text) => parseInteger(text, { from: 1, to: 1000 })),
    )
    .addOption(
      new Option(
        "--concurrency <number>",
        "runs at the same time, 0 to leave them to other processes (default: 16)",
      ).argParser((text) => parseInteger(text, { from: 0, to: 1000 })),
    )
    .option("--model <ref>", "model of definitions that name none, as provider:model")
    .addOption(httpAllowOption())
    .addOption(
      new Option(
        "--shutdown-seconds <number>",
        "time for requests and runs under way after a signal (default: 10)",
      ).argParser((text) => parseInteger(text, { from: 0, to: 3600 })),
    )
    .addOption(corsOption())
    .addOption(logLevelOption())
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import("./serve-command.ts");
      exitWith(await serveCommand(flags, io));
    });
}

/** Adds `dev`. */
export function addDevCommand(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("dev")
    .description(
      "Serve the agents of a folder on this machine, with the inspector, and reload them when files change. Needs no key and no network.",
    )
    .argument(
      "[folder]",
      "its definitions, agent.yaml of the folders in it, and tools.ts beside them (default: this folder)",
    )
    .addHelpText(
      "after",
      "\nSettings may also stand in stratagraph.yaml or in the environment, as for serve.",
    )
    .addOption(
      new Option(
        "--port <number>",
        "port to listen on, 0 for a free one (default: 2024, or the next free one)",
      ).argParser((text) => parseInteger(text, { from: 0, to: 65_535 })),
    )
    .option("--host <address>", "address of loopback to listen on (default: 127.0.0.1)")
    .addOption(modelOption("model of definitions that name none"))
    .addOption(toolsOption("module whose exported `tools` all definitions may name"))
    .addOption(experimentsOption("folder with logs of experiments to show (default: FOLDER)"))
    .option("--no-open", "do not open the inspector in a browser")
    .addOption(databaseUrlOption())
    .addOption(httpAllowOption())
    .addOption(logLevelOption("least level of logs on stderr (default: warn)"))
    .action(async (folder: string | undefined, flags: DevFlags) => {
      const { devCommand } = await import("../dev/dev-command.ts");
      exitWith(await devCommand(folder, flags, io));
    });
}

import type { Command } from "commander";
import type { ExperimentRunOptions } from "./run.ts";
import type { CliIo } from "../io.ts";
import { addOptions, experimentOptions, jsonOption, outOption } from "../options.ts";

/** Adds `experiment run`, `experiment check` and `experiment report`. */
export function addExperimentCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const experiment = program
    .command("experiment")
    .description("Run one agent for many cycles on its own memory, and compare the runs.")
    .helpCommand(false);

  const run = experiment
    .command("run")
    .description("Run an experiment, or resume an unfinished one.")
    .argument("<config>", "experiment: .yaml, .yml or .json")
    .option("--fresh", "delete its runs, with their memories and logs, and start over");
  addOptions(run, experimentOptions)
    .addOption(jsonOption())
    .action(async (config: string, options: ExperimentRunOptions) => {
      const { experimentRunCommand } = await import("./run.ts");
      exitWith(await experimentRunCommand({ config, ...options }, io));
    });

  experiment
    .command("check")
    .description("Check logs of experiments, or configs, without running anything.")
    .argument("<files...>", "logs (.jsonl), or configs (.yaml, .yml, .json)")
    .addOption(jsonOption())
    .action(async (files: string[], options: { readonly json?: boolean }) => {
      const { experimentCheckCommand } = await import("./inspect.ts");
      exitWith(await experimentCheckCommand({ logs: files, ...options }, io));
    });

  experiment
    .command("report")
    .description("Compare the runs whose logs are in a folder: a table, a web page and a CSV file.")
    .argument("<folder>", "folder of logs")
    .addOption(outOption("web page to create or replace (default: report.html in FOLDER)"))
    .option("--csv <file>", "CSV file to create or replace (default: report.csv in FOLDER)")
    .addOption(jsonOption())
    .action(async (folder: string, options: { out?: string; csv?: string; json?: boolean }) => {
      const { experimentReportCommand } = await import("./inspect.ts");
      exitWith(await experimentReportCommand({ folder, ...options }, io));
    });
}

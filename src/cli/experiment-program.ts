import type { Command } from "commander";
import type { ExperimentRunOptions } from "./experiment-run-command.ts";
import type { CliIo } from "./io.ts";
import { parallelOption } from "./option-values.ts";

/** Adds `experiment run`, `experiment check` and `experiment report`. */
export function addExperimentCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const experiment = program
    .command("experiment")
    .description("Run one agent for many cycles on its own memory, and compare what it did.")
    .helpCommand(false);

  experiment
    .command("run")
    .description("Run an experiment, or go on with what is left of it.")
    .argument("<config>", "experiment: .yaml, .yml or .json")
    .option(
      "--fresh",
      "forget what was done of its runs, their memories and logs too, and begin again",
    )
    .option("--extend", "go on to a greater cycle_count than the runs were begun with")
    .option("-p, --parallel <n>", "runs at once, instead of the config's", parallelOption)
    .option("--logs <folder>", "where logs are written", "logs")
    .option("--tools <file>", "module whose `tools` the config may name")
    .option("--root <folder>", "what the file tools may read (default: this folder)")
    .option("--json", "print one JSON document, and nothing else, on standard output")
    .action(async (config: string, options: ExperimentRunOptions) => {
      const { experimentRunCommand } = await import("./experiment-run-command.ts");
      exitWith(await experimentRunCommand({ config, ...options }, io));
    });

  experiment
    .command("check")
    .description("Check logs of experiments, or configs, without running anything.")
    .argument("<files...>", "logs (.jsonl), or configs (.yaml, .yml, .json)")
    .option("--json", "print one JSON document, and nothing else, on standard output")
    .action(async (files: string[], options: { readonly json?: boolean }) => {
      const { experimentCheckCommand } = await import("./experiment-check-command.ts");
      exitWith(await experimentCheckCommand({ logs: files, ...options }, io));
    });

  experiment
    .command("report")
    .description("Compare the runs whose logs are in a folder: a table, a web page and a CSV file.")
    .argument("<folder>", "folder of logs")
    .option("-o, --out <file>", "web page to write, or to replace (default: report.html in FOLDER)")
    .option("--csv <file>", "CSV file to write, or to replace (default: report.csv in FOLDER)")
    .option("--json", "print one JSON document, and nothing else, on standard output")
    .action(async (folder: string, options: { out?: string; csv?: string; json?: boolean }) => {
      const { experimentReportCommand } = await import("./experiment-report-command.ts");
      exitWith(await experimentReportCommand({ folder, ...options }, io));
    });
}

import { Command, Option } from "commander";
import type { CheckCommandOptions } from "./check-command.ts";
import type { DoctorCommandOptions } from "./doctor-command.ts";
import { addExperimentCommands } from "./experiment-program.ts";
import { planFormats } from "./draw/graph-format.ts";
import type { GraphCommandOptions } from "./graph-command.ts";
import type { CliIo } from "./io.ts";
import { temperatureOption } from "./option-values.ts";
import { packageVersion } from "./package-version.ts";
import type { RunOptions } from "./run-arguments.ts";
import { addThreadCommands } from "./thread-program.ts";
import { addToolCommands } from "./tools-program.ts";
import { UsageError } from "./usage-error.ts";

interface PlanOption {
  /** Id of a thread. */
  readonly plan?: string;
}

/** The commands and their options. A command's code is loaded when it runs, so that help comes at once. */
export function createProgram(io: CliIo, exitWith: (code: number) => void): Command {
  const program = new Command("stratagraph")
    .description("Runs agents: definitions compiled into LangGraph graphs.")
    .version(packageVersion(), "-v, --version")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
    })
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 the run failed, 2 wrong use, 3 it waits for a person.",
    );

  program
    .command("run")
    .description(
      "Run one turn of an agent. Without MESSAGE and --input, go on with the waiting, unfinished or cancelled turn of --thread.",
    )
    .argument("<agent>", "definition: .yaml, .yml or .json, or a module: .js, .mjs or .ts")
    .argument("[message]", "what to say to it; - reads standard input")
    .option(
      "-i, --input <json>",
      "the whole input as JSON, instead of MESSAGE; - reads standard input",
    )
    .option("-t, --thread <id>", "conversation to go on with (default: a new one)")
    .option(
      "-a, --answer <answer>",
      "what --thread waits for, as JSON or text; ID=ANSWER, repeated, where several requests wait",
      (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
    )
    .option("-m, --model <provider:model>", "model to use instead of the definition's")
    .option("--temperature <number>", "0 to 2, instead of the definition's", temperatureOption)
    .option("--tools <file>", "module whose `tools` the definition may name")
    .option("--root <folder>", "what the file tools may read (default: this folder)")
    .option("--accept-changes", "go on though the agent's definition has changed since")
    .option("--accept-agent", "go on though --thread belongs to another agent")
    .option("--no-save", "keep nothing: needs no database, and cannot be gone on with")
    .option("--json", "print one JSON document, and nothing else, on standard output")
    .action(async (agent: string, message: string | undefined, options: RunOptions) => {
      const { runCommand } = await import("./run-command.ts");
      exitWith(await runCommand({ agent, message, ...options }, io));
    });

  program
    .command("check")
    .description("Check agents without running them: definitions, tools, models.")
    .argument("<agents...>", "definitions or modules, as for run")
    .option("--tools <file>", "module whose `tools` the definitions may name")
    .option("--json", "print one JSON document, and nothing else, on standard output")
    .action(async (agents: string[], options: CheckCommandOptions) => {
      const { checkCommand } = await import("./check-command.ts");
      exitWith(await checkCommand({ agents, ...options }, io));
    });

  program
    .command("doctor")
    .description(
      "Check what agents need to run here: database, models, tool servers, secrets, permissions. Asks no model.",
    )
    .argument("[agents...]", "definitions or modules, as for run (default: what is around them)")
    .option("--tools <file>", "module whose `tools` the definitions may name")
    .option("--json", "print one JSON document, and nothing else, on standard output")
    .action(async (agents: string[], options: DoctorCommandOptions) => {
      const { doctorCommand } = await import("./doctor-command.ts");
      exitWith(await doctorCommand({ agents, ...options }, io));
    });

  program
    .command("graph")
    .description(
      "Draw an agent's graph, which needs no database, no key and no network, or with --plan the plans of a thread.",
    )
    .argument("[agent]", "definition or module, as for run")
    .option("-p, --plan <thread>", "the plans of the last turn of this thread, instead of AGENT")
    .addOption(
      new Option(
        "-f, --format <format>",
        "what to draw (default: by the extension of --out, else mermaid; of plans text)",
      ).choices(planFormats),
    )
    .option("-o, --out <file>", "file to write, or to replace, instead of standard output")
    .option("--xray", "draw what is inside of agent nodes too")
    .option("--tools <file>", "module whose `tools` the definition may name")
    .option("--browser <path>", "Chromium or Chrome for svg and png (default: CHROMIUM_PATH)")
    .action(async (agent: string | undefined, options: GraphCommandOptions & PlanOption) => {
      const { plan, ...given } = options;
      if ((agent === undefined) === (plan === undefined)) {
        throw new UsageError("Give AGENT to draw its graph, or --plan THREAD to draw its plans.");
      }
      if (plan !== undefined) {
        const { planCommand } = await import("./plan-command.ts");
        exitWith(await planCommand({ plan, ...given }, io));
      } else if (agent !== undefined) {
        const { graphCommand } = await import("./graph-command.ts");
        exitWith(await graphCommand({ agent, ...given }, io));
      }
    });

  addExperimentCommands(program, io, exitWith);
  addToolCommands(program, io, exitWith);
  addThreadCommands(program, io, exitWith);
  return program;
}

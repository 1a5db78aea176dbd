import { type CliIo, UsageError } from "./io.ts";
import { Command, Option } from "commander";
import type { CheckCommandOptions } from "./agents/check.ts";
import type { DoctorCommandOptions } from "./agents/doctor.ts";
import type { GraphCommandOptions } from "./agents/graph.ts";
import { planFormats } from "./draw/write-drawing.ts";
import { addEncryptionCommands } from "./encryption/program.ts";
import { addExperimentCommands } from "./experiments/program.ts";
import { addMemoryCommands } from "./memory/program.ts";
import {
  addOptions,
  agentOptions,
  answerOption,
  attachOption,
  type ChatArguments,
  inputOption,
  jsonOption,
  outOption,
  type RunOptions,
  showReasoningOption,
  threadOption,
  toolResultsOption,
  toolsOption,
} from "./options.ts";
import { packageVersion } from "../own-package.ts";
import { addDevCommand, addServeCommand } from "./serve/program.ts";
import { addPlatformCommands } from "./platform/program.ts";
import { addThreadCommands } from "./threads/program.ts";
import { addToolCommands } from "./tools/program.ts";
import { addWorkerCommands } from "./worker/program.ts";

interface PlanOption {
  /** Id of a thread. */
  readonly plan?: string;
}

/** The commands and their options. A command's code is loaded when it runs, so help prints immediately. */
export function createProgram(io: CliIo, exitWith: (code: number) => void): Command {
  const program = new Command("stratagraph")
    .description("Run agents: definitions compiled into LangGraph graphs.")
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
      "\nExit codes: 0 done, 1 the run failed, 2 wrong use, 3 waiting for a human.",
    );

  const run = program
    .command("run")
    .description(
      "Run one turn of an agent. Without MESSAGE and --input, resume the waiting, unfinished or cancelled turn of --thread.",
    )
    .argument("<agent>", "definition: .yaml, .yml or .json, or a module: .js, .mjs or .ts")
    .argument("[message]", "message to the agent; - reads stdin")
    .addOption(inputOption())
    .addOption(threadOption())
    .addOption(answerOption())
    .addOption(toolResultsOption())
    .addOption(attachOption());
  addOptions(run, agentOptions)
    .option("--no-save", "persist nothing: needs no database, and the run cannot be resumed")
    .addOption(showReasoningOption())
    .addOption(jsonOption())
    .action(async (agent: string, message: string | undefined, options: RunOptions) => {
      const { runCommand } = await import("./run/run-command.ts");
      exitWith(await runCommand({ agent, message, ...options }, io));
    });

  const chat = program
    .command("chat")
    .description(
      "Talk with an agent: each line is a message, and /help lists the commands. Without a terminal, answer the lines of stdin.",
    )
    .argument("<agent>", "definition or module, as for run")
    .addOption(threadOption());
  addOptions(chat, agentOptions)
    .option("--no-save", "persist nothing: needs no database, and the thread cannot be resumed")
    .addOption(showReasoningOption())
    .action(async (agent: string, options: Omit<ChatArguments, "agent">) => {
      const { chatCommand } = await import("./chat/chat-command.ts");
      exitWith(await chatCommand({ agent, ...options }, io));
    });

  program
    .command("check")
    .description("Check agents without running them: definitions, tools and models.")
    .argument("<agents...>", "definitions or modules, as for run")
    .addOption(toolsOption())
    .addOption(jsonOption())
    .action(async (agents: string[], options: CheckCommandOptions) => {
      const { checkCommand } = await import("./agents/check.ts");
      exitWith(await checkCommand({ agents, ...options }, io));
    });

  program
    .command("doctor")
    .description(
      "Check the requirements of agents on this machine: database, models, tool servers, secrets, permissions. Calls no model.",
    )
    .argument("[agents...]", "definitions or modules, as for run (default: only the environment)")
    .addOption(toolsOption())
    .addOption(jsonOption())
    .action(async (agents: string[], options: DoctorCommandOptions) => {
      const { doctorCommand } = await import("./agents/doctor.ts");
      exitWith(await doctorCommand({ agents, ...options }, io));
    });

  program
    .command("graph")
    .description(
      "Draw the graph of an agent, or with --plan the plans of a thread. A graph needs no database, key or network.",
    )
    .argument("[agent]", "definition or module, as for run")
    .option("-p, --plan <thread>", "the plans of the last turn of this thread, instead of AGENT")
    .addOption(
      new Option(
        "-f, --format <format>",
        "output format (default: by the extension of --out, else mermaid; for plans text)",
      ).choices(planFormats),
    )
    .addOption(outOption())
    .option("--xray", "draw the inside of agent nodes too")
    .addOption(toolsOption())
    .option(
      "--browser <path>",
      "Chromium or Chrome executable for svg and png (default: CHROMIUM_PATH)",
    )
    .action(async (agent: string | undefined, options: GraphCommandOptions & PlanOption) => {
      const { plan, ...given } = options;
      if ((agent === undefined) === (plan === undefined)) {
        throw new UsageError("Give AGENT to draw its graph, or --plan THREAD to draw its plans.");
      }
      if (plan !== undefined) {
        const { planCommand } = await import("./agents/graph.ts");
        exitWith(await planCommand({ plan, ...given }, io));
      } else if (agent !== undefined) {
        const { graphCommand } = await import("./agents/graph.ts");
        exitWith(await graphCommand({ agent, ...given }, io));
      }
    });

  addExperimentCommands(program, io, exitWith);
  addToolCommands(program, io, exitWith);
  addThreadCommands(program, io, exitWith);
  addMemoryCommands(program, io, exitWith);
  addEncryptionCommands(program, io, exitWith);
  addDevCommand(program, io, exitWith);
  addServeCommand(program, io, exitWith);
  addWorkerCommands(program, io, exitWith);
  addPlatformCommands(program, io, exitWith);
  return program;
}

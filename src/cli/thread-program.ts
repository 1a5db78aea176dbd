import { Option, type Command } from "commander";
import type { ContextCommandOptions } from "./context-command.ts";
import type { ForkOptions } from "./fork-command.ts";
import type { HistoryOptions } from "./history-command.ts";
import type { CliIo } from "./io.ts";
import {
  ageOption,
  budgetOption,
  indexOption,
  limitOption,
  temperatureOption,
} from "./option-values.ts";
import type { PruneCommandOptions } from "./prune-command.ts";
import type { AgentOptions } from "./run-arguments.ts";
import type { ShowOptions } from "./show-command.ts";
import type { ThreadsOptions } from "./threads-command.ts";

const asJson = "print one JSON document, and nothing else, on standard output";
const checkpointForms = "id or its beginning, latest, or latest~3 for the third before it";

/** Adds the commands on threads that are kept: their past, and other ways on from it. */
export function addThreadCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  addReadingCommands(program, io, exitWith);
  addContextCommand(program, io, exitWith);
  addRunningCommands(program, io, exitWith);
  addKeepingCommands(program, io, exitWith);
}

function addReadingCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("threads")
    .description("List the threads that are kept, most recently updated first.")
    .option("--status <status>", "only threads that stand there, as AWAITING_HUMAN")
    .option("--agent <name>", "only threads of this agent")
    .option("--limit <number>", "how many, 1 to 1000 (default: 50)", limitOption)
    .option("--cursor <cursor>", "where to go on, as the page before said")
    .option("--json", asJson)
    .action(async (options: ThreadsOptions) => {
      const { threadsCommand } = await import("./threads-command.ts");
      exitWith(await threadsCommand(options, io));
    });

  program
    .command("history")
    .description("List a thread's checkpoints, newest first, with the tree of its branches.")
    .argument("<thread>", "id of the thread")
    .option("--limit <number>", "how many, 1 to 1000 (default: 50)", limitOption)
    .option("--cursor <cursor>", "where to go on, as the page before said")
    .option("--namespace <namespace>", "checkpoints of an agent inside of a node instead")
    .option("--json", asJson)
    .action(async (thread: string, options: HistoryOptions) => {
      const { historyCommand } = await import("./history-command.ts");
      exitWith(await historyCommand({ thread, ...options }, io));
    });

  program
    .command("show")
    .description("Show the state of a thread at a checkpoint.")
    .argument("<thread>", "id of the thread")
    .argument("[checkpoint]", `${checkpointForms} (default: latest)`)
    .option("--channel <name>", "one channel, whole")
    .option("--full", "cut nothing")
    .option("--json", asJson)
    .action(async (thread: string, checkpoint: string | undefined, options: ShowOptions) => {
      const { showCommand } = await import("./show-command.ts");
      exitWith(await showCommand({ thread, checkpoint, ...options }, io));
    });

  program
    .command("diff")
    .description("Show how a checkpoint differs from another, channel by channel.")
    .argument("<thread>", "id of the thread")
    .argument("<a>", `${checkpointForms}; THREAD/ID for one of another thread`)
    .argument("<b>", "the same")
    .option("--channel <name>", "one channel alone")
    .option("--json", asJson)
    .action(
      async (
        thread: string,
        a: string,
        b: string,
        options: { channel?: string; json?: boolean },
      ) => {
        const { diffCommand } = await import("./diff-command.ts");
        exitWith(await diffCommand({ thread, a, b, ...options }, io));
      },
    );
}

function addContextCommand(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("context")
    .description(
      "Show what the model read when a step was made, or would read for the next one. Asks no model.",
    )
    .argument("<thread>", "id of the thread")
    .argument("[message]", "what the next turn would be asked; - reads standard input")
    .option("--agent <file>", "the agent, as for run (default: what is kept with the thread)")
    .option("--turn <number>", "a turn, from 0 (default: the last)", indexOption)
    .option("--step <number>", "a step of the turn, from 0 (default: the next)", indexOption)
    .addOption(
      new Option("--goal <goal>", "make it for this goal (default: the step's own)").choices([
        "planning",
        "synthesis",
      ]),
    )
    .option("-m, --model <provider:model>", "make it for this model")
    .option("--budget <tokens>", "make it fit into so many tokens", budgetOption)
    .option("-i, --input <json>", "what the next turn would be given, instead of MESSAGE")
    .option("--namespace <namespace>", "an agent inside of a node instead, as for history")
    .option("--tools <file>", "module whose `tools` the definition may name")
    .option("--root <folder>", "what the file tools may read (default: this folder)")
    .option("--accept-changes", "the agent's definition may differ from that of the step")
    .option("--json", asJson)
    .action(async (thread: string, message: string | undefined, options: ContextCommandOptions) => {
      const { contextCommand } = await import("./context-command.ts");
      exitWith(await contextCommand({ thread, message, ...options }, io));
    });
}

function addRunningCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("fork")
    .description("Begin a new thread at a checkpoint of another. Runs nothing.")
    .argument("<thread>", "id of the thread")
    .argument("<checkpoint>", checkpointForms)
    .option("--new <id>", "id of the new thread (default: a new one)")
    .option("--set <json>", 'updates by channel, as {"execution": {…}}; needs --agent')
    .option("--agent <file>", "the agent that the thread is of, which checks --set")
    .option("--tools <file>", "module whose `tools` the definition may name")
    .option("--accept-changes", "the agent's definition may differ from that of the checkpoint")
    .option("--accept-agent", "the thread may belong to another agent")
    .option("--json", asJson)
    .action(async (thread: string, checkpoint: string, options: ForkOptions) => {
      const { forkCommand } = await import("./fork-command.ts");
      exitWith(await forkCommand({ thread, checkpoint, ...options }, io));
    });

  withAgentOptions(
    program
      .command("replay")
      .description("Run on from a checkpoint, as a new branch of its thread.")
      .argument("<agent>", "definition or module, as for run")
      .argument("<thread>", "id of the thread")
      .argument("<checkpoint>", checkpointForms),
  ).action(async (agent: string, thread: string, checkpoint: string, options: AgentOptions) => {
    const { replayCommand } = await import("./replay-command.ts");
    exitWith(await replayCommand({ agent, thread, checkpoint, ...options }, io));
  });

  withAgentOptions(
    program
      .command("recover")
      .description(
        "Go on with a turn that was cut off, from its last sound checkpoint. Calls that ended are not made again.",
      )
      .argument("<agent>", "definition or module, as for run")
      .argument("<thread>", "id of the thread")
      .argument("[checkpoint]", `${checkpointForms} (default: latest)`),
  ).action(
    async (agent: string, thread: string, checkpoint: string | undefined, given: AgentOptions) => {
      const { recoverCommand } = await import("./recover-command.ts");
      exitWith(await recoverCommand({ agent, thread, checkpoint, ...given }, io));
    },
  );
}

function withAgentOptions(command: Command): Command {
  return command
    .option("-m, --model <provider:model>", "model to use instead of the definition's")
    .option("--temperature <number>", "0 to 2, instead of the definition's", temperatureOption)
    .option("--tools <file>", "module whose `tools` the definition may name")
    .option("--root <folder>", "what the file tools may read (default: this folder)")
    .option("--accept-changes", "go on though the agent's definition has changed since")
    .option("--accept-agent", "go on though the thread belongs to another agent")
    .option("--json", asJson);
}

function addKeepingCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("verify")
    .description("Read every checkpoint of a thread, and list those that are damaged.")
    .argument("<thread>", "id of the thread")
    .option("--json", asJson)
    .action(async (thread: string, options: { json?: boolean }) => {
      const { verifyCommand } = await import("./verify-command.ts");
      exitWith(await verifyCommand({ thread, ...options }, io));
    });

  program
    .command("prune")
    .description("Remove old checkpoints of a thread, and what only they needed.")
    .argument("[thread]", "id of the thread; with --reclaim it may be left out")
    .addOption(
      new Option(
        "--keep <which>",
        "what stays: the last checkpoint, the last of every turn, or all",
      ).choices(["latest", "turn_ends", "all"]),
    )
    .option("--older-than <age>", "remove only what is older: 30m, 12h, 7d, 2w", ageOption)
    .option("--reclaim", "give the space back to the file system")
    .option("-y, --yes", "do not ask")
    .option("--json", asJson)
    .action(async (thread: string | undefined, options: PruneCommandOptions) => {
      const { pruneCommand } = await import("./prune-command.ts");
      exitWith(await pruneCommand({ ...(thread !== undefined && { thread }), ...options }, io));
    });

  program
    .command("delete")
    .description("Remove a thread, and all that is known of it.")
    .argument("<thread>", "id of the thread")
    .option("-y, --yes", "do not ask")
    .option("--json", asJson)
    .action(async (thread: string, options: { yes?: boolean; json?: boolean }) => {
      const { deleteCommand } = await import("./delete-command.ts");
      exitWith(await deleteCommand({ thread, ...options }, io));
    });

  program
    .command("export")
    .description("Print a whole thread as lines of JSON.")
    .argument("<thread>", "id of the thread")
    .option("-o, --out <file>", "file to write, or to replace, instead of standard output")
    .action(async (thread: string, options: { out?: string }) => {
      const { exportCommand } = await import("./export-command.ts");
      exitWith(await exportCommand({ thread, ...options }, io));
    });

  program
    .command("import")
    .description("Make a thread of what export gave.")
    .argument("<file>", "lines of JSON; - reads standard input")
    .option("-t, --thread <id>", "id of the new thread (default: the one it had)")
    .option("--json", asJson)
    .action(async (file: string, options: { thread?: string; json?: boolean }) => {
      const { importCommand } = await import("./import-command.ts");
      exitWith(await importCommand({ file, ...options }, io));
    });
}

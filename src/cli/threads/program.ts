import { Option, type Command } from "commander";
import type { CancelCommandOptions } from "./cancel.ts";
import type { CallsOptions } from "./calls.ts";
import type { ContextCommandOptions } from "./context.ts";
import type { ForkOptions, ReplayOptions } from "./travel.ts";
import type { HistoryOptions, ShowOptions, ThreadsOptions } from "./look.ts";
import type { CliIo } from "../io.ts";
import {
  acceptAgentOption,
  acceptChangesOption,
  addOptions,
  agentOption,
  type AgentOptions,
  agentOptions,
  budgetOption,
  channelOption,
  inputOption,
  jsonOption,
  modelOption,
  userOption,
  namespaceOption,
  olderThanOption,
  outOption,
  pageOptions,
  parseInteger,
  rootOption,
  stepOption,
  threadOption,
  toolsOption,
  turnOption,
  yesOption,
} from "../options.ts";
import type { DeleteCommandOptions, PruneCommandOptions } from "./retention.ts";

const checkpointForms = "id or prefix of an id, latest, or latest~3 for the third before it";

/** Adds the commands on stored threads: inspection, branching and retention. */
export function addThreadCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  addReadingCommands(program, io, exitWith);
  addCallsCommand(program, io, exitWith);
  addContextCommand(program, io, exitWith);
  addRunningCommands(program, io, exitWith);
  addCancelCommand(program, io, exitWith);
  addKeepingCommands(program, io, exitWith);
}

function addReadingCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  const threads = program
    .command("threads")
    .description("List the stored threads, most recently updated first.")
    .option("--status <status>", "only threads with this status, such as AWAITING_HUMAN")
    .option("--agent <name>", "only threads of this agent");
  addOptions(threads, pageOptions)
    .addOption(jsonOption())
    .action(async (options: ThreadsOptions) => {
      const { threadsCommand } = await import("./look.ts");
      exitWith(await threadsCommand(options, io));
    });

  const history = program
    .command("history")
    .description("List a thread's checkpoints, newest first, with the tree of its branches.")
    .argument("<thread>", "id of the thread");
  addOptions(history, { ...pageOptions, namespace: namespaceOption })
    .addOption(jsonOption())
    .action(async (thread: string, options: HistoryOptions) => {
      const { historyCommand } = await import("./look.ts");
      exitWith(await historyCommand({ thread, ...options }, io));
    });

  program
    .command("show")
    .description("Show the state of a thread at a checkpoint.")
    .argument("<thread>", "id of the thread")
    .argument("[checkpoint]", `${checkpointForms} (default: latest)`)
    .addOption(channelOption("show one channel, untruncated"))
    .option("--actions", "show the steps as action records instead, with their calls and notes")
    .option("--attempts", "show the calls as the lines of compressActions instead")
    .addOption(turnOption("with --actions or --attempts: one turn, from 0"))
    .addOption(stepOption("with --actions or --attempts: one step of the turn, from 0"))
    .option("--full", "truncate nothing")
    .addOption(jsonOption())
    .action(async (thread: string, checkpoint: string | undefined, options: ShowOptions) => {
      const { showCommand } = await import("./look.ts");
      exitWith(await showCommand({ thread, checkpoint, ...options }, io));
    });

  program
    .command("diff")
    .description("Show how a checkpoint differs from another, channel by channel.")
    .argument("<thread>", "id of the thread")
    .argument("<a>", `${checkpointForms}; THREAD/ID for one of another thread`)
    .argument("<b>", "the same")
    .addOption(channelOption())
    .addOption(jsonOption())
    .action(
      async (
        thread: string,
        a: string,
        b: string,
        options: { channel?: string; json?: boolean },
      ) => {
        const { diffCommand } = await import("./look.ts");
        exitWith(await diffCommand({ thread, a, b, ...options }, io));
      },
    );
}

function addCallsCommand(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  const calls = program
    .command("calls")
    .description("List the requests to models that a thread's turns made, oldest first.")
    .argument("<thread>", "id of the thread")
    .addOption(turnOption("one turn, from 0"))
    .option("--full", "with --json: include messages and responses");
  addOptions(calls, pageOptions)
    .addOption(jsonOption())
    .action(async (thread: string, options: CallsOptions) => {
      const { callsCommand } = await import("./calls.ts");
      exitWith(await callsCommand({ thread, ...options }, io));
    });
}

function addContextCommand(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("context")
    .description(
      "Show the context that the model read for a step, or would read for the next one. Calls no model.",
    )
    .argument("<thread>", "id of the thread")
    .argument("[message]", "message of a hypothetical next turn; - reads stdin")
    .addOption(agentOption("agent, as for run (default: the definition stored with the thread)"))
    .addOption(turnOption())
    .addOption(stepOption())
    .addOption(
      new Option("--goal <goal>", "goal of the step (default: its own)").choices([
        "planning",
        "synthesis",
      ]),
    )
    .addOption(modelOption("model to render the context for"))
    .addOption(userOption("whose memories a hypothetical next turn reads"))
    .addOption(budgetOption())
    .addOption(inputOption("input of a hypothetical next turn as JSON, instead of MESSAGE"))
    .addOption(namespaceOption("agent inside a node instead, as for history"))
    .addOption(toolsOption())
    .addOption(rootOption())
    .addOption(acceptChangesOption("allow a definition that differs from that of the step"))
    .addOption(jsonOption())
    .action(async (thread: string, message: string | undefined, options: ContextCommandOptions) => {
      const { contextCommand } = await import("./context.ts");
      exitWith(await contextCommand({ thread, message, ...options }, io));
    });
}

function addRunningCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("fork")
    .description("Create a thread from a checkpoint of another. Runs nothing.")
    .argument("<thread>", "id of the thread")
    .argument("<checkpoint>", checkpointForms)
    .option("--new <id>", "id of the new thread (default: generated)")
    .option("--set <json>", 'updates by channel, such as {"execution": {…}}; needs --agent')
    .addOption(agentOption("agent of the thread, which validates --set"))
    .addOption(toolsOption())
    .addOption(acceptChangesOption("allow a definition that differs from that of the checkpoint"))
    .addOption(acceptAgentOption("allow a thread of another agent"))
    .addOption(jsonOption())
    .action(async (thread: string, checkpoint: string, options: ForkOptions) => {
      const { forkCommand } = await import("./travel.ts");
      exitWith(await forkCommand({ thread, checkpoint, ...options }, io));
    });

  addReplayCommand(program, io, exitWith);

  const recover = program
    .command("recover")
    .description(
      "Resume an interrupted turn from its last intact checkpoint. Completed calls are not repeated.",
    )
    .argument("<agent>", "definition or module, as for run")
    .argument("<thread>", "id of the thread")
    .argument("[checkpoint]", `${checkpointForms} (default: latest)`);
  addOptions(recover, { ...agentOptions, json: jsonOption }).action(
    async (agent: string, thread: string, checkpoint: string | undefined, given: AgentOptions) => {
      const { recoverCommand } = await import("./travel.ts");
      exitWith(await recoverCommand({ agent, thread, checkpoint, ...given }, io));
    },
  );
}

function addReplayCommand(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  const replay = program
    .command("replay")
    .description("Resume from a checkpoint, on a new branch of its thread, or in a new thread.")
    .argument("<agent>", "definition or module, as for run")
    .argument("<thread>", "id of the thread")
    .argument("<checkpoint>", checkpointForms)
    .option("--new-thread [id]", "run in a new thread instead (default id: generated)")
    .option(
      "--state <json>",
      'updates by channel, such as {"execution": {…}}; runs in a new thread',
    );
  addOptions(replay, { ...agentOptions, json: jsonOption }).action(
    async (agent: string, thread: string, checkpoint: string, options: ReplayOptions) => {
      const { replayCommand } = await import("./travel.ts");
      exitWith(await replayCommand({ agent, thread, checkpoint, ...options }, io));
    },
  );
}

function addCancelCommand(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("cancel")
    .description("Cancel the turn of a thread that runs in any process, or waits.")
    .argument("<thread>", "id of the thread")
    .option("--reason <text>", "why, stored with the turn; up to 500 characters")
    .addOption(
      new Option(
        "--wait <seconds>",
        "how long to wait for a run to end, 0 to 600 (default: 10)",
      ).argParser((text) => parseInteger(text, { from: 0, to: 600 })),
    )
    .addOption(jsonOption())
    .action(async (thread: string, options: CancelCommandOptions) => {
      const { cancelCommand } = await import("./cancel.ts");
      exitWith(await cancelCommand({ thread, ...options }, io));
    });
}

function addKeepingCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  program
    .command("verify")
    .description("Read every checkpoint of a thread, and list the damaged ones.")
    .argument("<thread>", "id of the thread")
    .addOption(jsonOption())
    .action(async (thread: string, options: { json?: boolean }) => {
      const { verifyCommand } = await import("./look.ts");
      exitWith(await verifyCommand({ thread, ...options }, io));
    });

  program
    .command("prune")
    .description("Remove old checkpoints of a thread, and data that only they use.")
    .argument("[thread]", "id of the thread; optional with --reclaim")
    .addOption(
      new Option(
        "--keep <which>",
        "checkpoints to keep: the latest, the last of every turn, or all",
      ).choices(["latest", "turn_ends", "all"]),
    )
    .addOption(olderThanOption())
    .option("--reclaim", "return freed space to the file system")
    .addOption(yesOption())
    .addOption(jsonOption())
    .action(async (thread: string | undefined, options: PruneCommandOptions) => {
      const { pruneCommand } = await import("./retention.ts");
      exitWith(await pruneCommand({ ...(thread !== undefined && { thread }), ...options }, io));
    });

  program
    .command("delete")
    .description("Delete a thread, all its data and its short-term memories.")
    .argument("<thread>", "id of the thread")
    .option("--memory", "forget everything that agents remember from it, too")
    .addOption(yesOption())
    .addOption(jsonOption())
    .action(async (thread: string, options: DeleteCommandOptions) => {
      const { deleteCommand } = await import("./retention.ts");
      exitWith(await deleteCommand({ thread, ...options }, io));
    });

  program
    .command("export")
    .description("Print a whole thread as JSON Lines.")
    .argument("<thread>", "id of the thread")
    .addOption(outOption())
    .action(async (thread: string, options: { out?: string }) => {
      const { exportCommand } = await import("./retention.ts");
      exitWith(await exportCommand({ thread, ...options }, io));
    });

  program
    .command("import")
    .description("Create a thread from the output of export.")
    .argument("<file>", "JSON Lines file; - reads stdin")
    .addOption(threadOption("id of the new thread (default: the exported id)"))
    .addOption(jsonOption())
    .action(async (file: string, options: { thread?: string; json?: boolean }) => {
      const { importCommand } = await import("./retention.ts");
      exitWith(await importCommand({ file, ...options }, io));
    });
}

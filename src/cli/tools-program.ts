import type { Command } from "commander";
import type { CliIo } from "./io.ts";
import { permissionOption } from "./option-values.ts";
import type { ToolsCallOptions } from "./tools-call-command.ts";
import type { ToolsListOptions } from "./tools-list-command.ts";

/** Adds `tools list` and `tools call`. */
export function addToolCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const tools = program
    .command("tools")
    .description("List the tools of an agent or of the runtime, or call one. Asks no model.")
    .helpCommand(false);

  withToolOptions(
    tools
      .command("list", { isDefault: true })
      .description("List tools, where they come from, and what they need.")
      .argument("[agent]", "definition or module, as for run (default: the runtime's own tools)")
      .option("--task <text>", "rank them by how well they suit a task"),
  ).action(async (agent: string | undefined, options: ToolsListOptions) => {
    const { toolsListCommand } = await import("./tools-list-command.ts");
    exitWith(await toolsListCommand({ agent, ...options }, io));
  });

  withToolOptions(
    tools
      .command("call")
      .description("Make one call, within the rules of the agent. Keeps nothing.")
      .argument("<name>", "name of the tool")
      .argument("[agent]", "definition or module, as for run (default: the runtime's own tools)")
      .option("-i, --input <json>", "its arguments (default: {}); - reads standard input")
      .option(
        "--grant <permission>",
        "what the call may do, such as file:read or network:*; repeatable; without AGENT",
        permissionOption,
      )
      .option("-y, --yes", "approve the call where it needs that"),
  ).action(async (name: string, agent: string | undefined, options: ToolsCallOptions) => {
    const { toolsCallCommand } = await import("./tools-call-command.ts");
    exitWith(await toolsCallCommand({ name, agent, ...options }, io));
  });
}

function withToolOptions(command: Command): Command {
  return command
    .option("--tools <file>", "module whose `tools` the definition may name")
    .option("--root <folder>", "what the file tools may read (default: this folder)")
    .option("--json", "print one JSON document, and nothing else, on standard output");
}

import type { Command } from "commander";
import type { CliIo } from "../io.ts";
import {
  addOptions,
  grantOption,
  inputOption,
  jsonOption,
  rootOption,
  toolsOption,
  yesOption,
} from "../options.ts";
import type { ToolsCallOptions } from "./call.ts";
import type { ToolsListOptions } from "./list.ts";

/** Adds `tools list` and `tools call`. */
export function addToolCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const tools = program
    .command("tools")
    .description("List the tools of an agent or of the runtime, or call one. Calls no model.")
    .helpCommand(false);

  withToolOptions(
    tools
      .command("list", { isDefault: true })
      .description("List tools with their sources and requirements.")
      .argument("[agent]", "definition or module, as for run (default: the runtime's own tools)")
      .option("--task <text>", "rank tools by relevance to a task"),
  ).action(async (agent: string | undefined, options: ToolsListOptions) => {
    const { toolsListCommand } = await import("./list.ts");
    exitWith(await toolsListCommand({ agent, ...options }, io));
  });

  withToolOptions(
    tools
      .command("call")
      .description("Call one tool under the rules of the agent. Persists nothing.")
      .argument("<name>", "name of the tool")
      .argument("[agent]", "definition or module, as for run (default: the runtime's own tools)")
      .addOption(inputOption("arguments as JSON (default: {}); - reads stdin"))
      .addOption(grantOption())
      .addOption(yesOption("approve the call if it needs approval")),
  ).action(async (name: string, agent: string | undefined, options: ToolsCallOptions) => {
    const { toolsCallCommand } = await import("./call.ts");
    exitWith(await toolsCallCommand({ name, agent, ...options }, io));
  });
}

function withToolOptions(command: Command): Command {
  return addOptions(command, { tools: toolsOption, root: rootOption, json: jsonOption });
}

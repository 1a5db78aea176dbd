import type { Command } from "commander";
import type { CliIo } from "../io.ts";
import { jsonOption } from "../options.ts";
import type { EncryptionCommandOptions } from "./encryption.ts";

/** Adds `stratagraph encryption`; its commands are loaded when they run. */
export function addEncryptionCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const encryption = program
    .command("encryption")
    .description("Show how stored values are encrypted, and rotate the key.")
    .helpCommand(false);
  encryption
    .command("status", { isDefault: true })
    .description("Count the stored values of all tenants by the key that encrypted them.")
    .addOption(jsonOption())
    .action(async (options: EncryptionCommandOptions) => {
      const { statusCommand } = await import("./encryption.ts");
      exitWith(await statusCommand(options, io));
    });
  encryption
    .command("rotate")
    .description(
      "Encrypt every stored value of all tenants with the first key of STRATAGRAPH_ENCRYPTION_KEYS. Agents may run meanwhile; after an interruption, run it again.",
    )
    .addOption(jsonOption())
    .action(async (options: EncryptionCommandOptions) => {
      const { rotateCommand } = await import("./encryption.ts");
      exitWith(await rotateCommand(options, io));
    });
}

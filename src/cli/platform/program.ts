import type { Command } from "commander";
import type { CliIo } from "../io.ts";
import {
  addOptions,
  declareOption,
  jsonOption,
  outOption,
  type PageOptions,
  pageOptions,
  parseAge,
  parseInteger,
  yesOption,
} from "../options.ts";
import type { archiveListCommand, archiveRunCommand, RestoreCommandOptions } from "./archive.ts";
import type { KeyCreateOptions } from "./keys.ts";
import type { MigrateOptions } from "./migrate.ts";

const tenantOption = declareOption("--tenant <tenant>", "tenant: its name or id");
const scopeOption = declareOption<readonly string[]>(
  "--scope <scope>",
  "what the key allows, such as runs:write, or * for everything; repeatable",
  (text, previous = []) => [...previous, text],
);
const expiresOption = declareOption(
  "--expires <age>",
  "time until the key expires: 12h, 90d, 52w (default: never)",
  parseAge,
);

const archivedThreadOption = declareOption("--thread <id>", "archived thread");
const tableOption = declareOption(
  "--table <table>",
  "archived table: turn, tool_call, llm_call, run_event or audit_log",
);
const dayOption = declareOption("--day <date>", "archived day in UTC: YYYY-MM-DD");
const holdOption = declareOption(
  "--hold <days>",
  "days for which what is restored is not archived again (default: 30)",
  (text) => parseInteger(text, { from: 1, to: 3_650 }),
);

/** Adds `migrate`, `tenants`, `keys` and `archive`. */
export function addPlatformCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  program
    .command("migrate")
    .description("Make the tables of the database, or bring them up to date.")
    .option("--from <schema>", "move tables of earlier versions from this schema first")
    .option("--stock", "with --from: those of LangGraph's own saver too")
    .option("--dry-run", "with --from: only print the tables that would be moved")
    .option("--grant <role>", "let a server use the tables as this role, which does not own them")
    .addOption(jsonOption())
    .action(async (options: MigrateOptions) => {
      const { migrateCommand } = await import("./migrate.ts");
      exitWith(await migrateCommand(options, io));
    });
  addTenantCommands(program, io, exitWith);
  addKeyCommands(program, io, exitWith);
  addArchiveCommands(program, io, exitWith);
}

function addTenantCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  const tenants = program
    .command("tenants")
    .description("Create, list, change, suspend, export and delete tenants.")
    .helpCommand(false);
  tenants
    .command("create")
    .description("Create a tenant.")
    .argument("<name>", "unique name")
    .option("--plan <plan>", "name of its plan (default: default)")
    .addOption(jsonOption())
    .action(async (tenant: string, options: { plan?: string; json?: boolean }) => {
      const { tenantCreateCommand } = await import("./tenants.ts");
      exitWith(await tenantCreateCommand({ tenant, ...options }, io));
    });
  addOptions(tenants.command("list", { isDefault: true }), pageOptions, {
    limit: "maximum number of rows, 1 to 200 (default: 50)",
  })
    .description("List tenants, newest first.")
    .addOption(jsonOption())
    .action(async (options: PageOptions) => {
      const { tenantListCommand } = await import("./tenants.ts");
      exitWith(await tenantListCommand(options, io));
    });
  tenants
    .command("show")
    .description("Show a tenant, its settings and the number of its rows.")
    .argument("<tenant>", "name or id")
    .addOption(jsonOption())
    .action(async (tenant: string, options: { json?: boolean }) => {
      const { tenantShowCommand } = await import("./tenants.ts");
      exitWith(await tenantShowCommand({ tenant, ...options }, io));
    });
  tenants
    .command("set")
    .description("Change settings of a tenant: quotas, rates, retention.")
    .argument("<tenant>", "name or id")
    .argument(
      "<settings>",
      "JSON object; its keys replace those of the tenant, and null removes one",
    )
    .addOption(jsonOption())
    .action(async (tenant: string, settings: string, options: { json?: boolean }) => {
      const { tenantSetCommand } = await import("./tenants.ts");
      exitWith(await tenantSetCommand({ tenant, settings, ...options }, io));
    });
  tenants
    .command("suspend")
    .description("Refuse the keys of a tenant from now on.")
    .argument("<tenant>", "name or id")
    .option("--end", "end the suspension instead")
    .addOption(jsonOption())
    .action(async (tenant: string, options: { end?: boolean; json?: boolean }) => {
      const { tenantSuspendCommand } = await import("./tenants.ts");
      exitWith(await tenantSuspendCommand({ tenant, ...options }, io));
    });
  tenants
    .command("delete")
    .description("Delete a tenant with everything it stored, in every table.")
    .argument("<tenant>", "name or id")
    .addOption(yesOption())
    .addOption(jsonOption())
    .action(async (tenant: string, options: { yes?: boolean; json?: boolean }) => {
      const { tenantDeleteCommand } = await import("./tenants.ts");
      exitWith(await tenantDeleteCommand({ tenant, ...options }, io));
    });
  tenants
    .command("export")
    .description("Write all rows of a tenant as lines of JSON.")
    .argument("<tenant>", "name or id")
    .addOption(outOption())
    .addOption(jsonOption())
    .action(async (tenant: string, options: { out?: string; json?: boolean }) => {
      const { tenantExportCommand } = await import("./tenants.ts");
      exitWith(await tenantExportCommand({ tenant, ...options }, io));
    });
}

function addKeyCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  const keys = program
    .command("keys")
    .description("Create, list and revoke the keys of tenants.")
    .helpCommand(false);
  keys
    .command("create")
    .description("Create a key, and print it once.")
    .addOption(tenantOption().makeOptionMandatory())
    .addOption(scopeOption().makeOptionMandatory())
    .option("--name <name>", "what the key is for (default: command line)")
    .addOption(expiresOption())
    .addOption(jsonOption())
    .action(async (options: KeyCreateOptions) => {
      const { keyCreateCommand } = await import("./keys.ts");
      exitWith(await keyCreateCommand(options, io));
    });
  addOptions(keys.command("list", { isDefault: true }), pageOptions, {
    limit: "maximum number of rows, 1 to 200 (default: 50)",
  })
    .description("List the keys of a tenant, newest first.")
    .addOption(tenantOption().makeOptionMandatory())
    .addOption(jsonOption())
    .action(async (options: PageOptions & { tenant: string }) => {
      const { keyListCommand } = await import("./keys.ts");
      exitWith(await keyListCommand(options, io));
    });
  keys
    .command("revoke")
    .description("Refuse a key from now on.")
    .argument("<id>", "id of the key, as list prints it")
    .addOption(jsonOption())
    .action(async (id: string, options: { json?: boolean }) => {
      const { keyRevokeCommand } = await import("./keys.ts");
      exitWith(await keyRevokeCommand({ id, ...options }, io));
    });
}

function addArchiveCommands(program: Command, io: CliIo, exitWith: (code: number) => void): void {
  const archive = program
    .command("archive")
    .description("List and restore archives, and run retention now.")
    .helpCommand(false);
  addOptions(archive.command("list", { isDefault: true }), pageOptions, {
    limit: "maximum number of rows, 1 to 200 (default: 50)",
  })
    .description("List the archives of a tenant, newest first.")
    .addOption(tenantOption().makeOptionMandatory())
    .addOption(archivedThreadOption())
    .addOption(tableOption())
    .addOption(dayOption())
    .addOption(jsonOption())
    .action(async (options: Parameters<typeof archiveListCommand>[0]) => {
      const commands = await import("./archive.ts");
      exitWith(await commands.archiveListCommand(options, io));
    });
  archive
    .command("run")
    .description("Thin, archive and delete what has reached its age.")
    .addOption(tenantOption("only this tenant: its name or id"))
    .option("--dry-run", "only count what it would begin with")
    .addOption(jsonOption())
    .action(async (options: Parameters<typeof archiveRunCommand>[0]) => {
      const commands = await import("./archive.ts");
      exitWith(await commands.archiveRunCommand(options, io));
    });
  archive
    .command("restore")
    .description("Bring a thread, or a day of a table, back into the database.")
    .addOption(tenantOption().makeOptionMandatory())
    .addOption(archivedThreadOption())
    .addOption(tableOption())
    .addOption(dayOption())
    .addOption(holdOption())
    .addOption(jsonOption())
    .action(async (options: RestoreCommandOptions) => {
      const { archiveRestoreCommand } = await import("./archive.ts");
      exitWith(await archiveRestoreCommand(options, io));
    });
}

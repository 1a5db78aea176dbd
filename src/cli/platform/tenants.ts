import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Tenant } from "../../storage/platform/tenants.ts";
import type { RowCounts } from "../../storage/platform/tenant-rows.ts";
import { isRecord } from "../../values/json.ts";
import { confirmed } from "../ask/approve-call.ts";
import { type CliIo, UsageError } from "../io.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { hasDatabase } from "../threads/open.ts";
import { count, minuteOf } from "../view/figures.ts";
import { tableLines } from "../view/table.ts";
import { labelledLines, plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import { audit, withPlatform } from "./open.ts";

interface NamedOptions {
  /** A name or an id. */
  readonly tenant: string;
  readonly json?: boolean;
}

/** `stratagraph tenants create` */
export async function tenantCreateCommand(
  given: NamedOptions & { readonly plan?: string },
  io: CliIo,
): Promise<number> {
  const tenant = await withPlatform(io, async (platform) => {
    const { tenant: name, plan } = given;
    const made = await platform.tenants.create({
      name,
      ...(plan !== undefined && { planTier: plan }),
    });
    const subject = `tenant:${made.id}`;
    await audit(platform, made.id, { action: "tenant.create", subject, after: made });
    return made;
  });
  if (given.json) printJson(snakeKeys(tenant), io);
  else printLines([plainLine(`Created tenant ${tenant.name}: ${tenant.id}.`)], io);
  return exitCodes.done;
}

/** `stratagraph tenants list`: newest first. */
export async function tenantListCommand(given: PageOptions, io: CliIo): Promise<number> {
  const page = hasDatabase(io)
    ? await withPlatform(io, ({ tenants }) => tenants.list(pageOf(given)))
    : { items: [], next: null };
  if (given.json) {
    printJson({ tenants: page.items.map((tenant) => snakeKeys(tenant)), next: page.next }, io);
    return exitCodes.done;
  }
  if (page.items.length === 0) {
    printLines(["No tenants."], io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  const columns = [
    { title: "name", least: 12 },
    { title: "id" },
    { title: "plan", optional: 1 },
    { title: "created", optional: 2 },
    { title: "state" },
  ];
  const rows = page.items.map((tenant) => [
    { text: plainLine(tenant.name) },
    { text: tenant.id },
    { text: plainLine(tenant.planTier) },
    { text: minuteOf(tenant.createdAt) },
    { text: stateOf(tenant) },
  ]);
  const more =
    page.next === null ? [] : ["", view.style.dim(`Continue with --cursor ${page.next}`)];
  printLines([...tableLines(columns, rows, view), ...more], io);
  return exitCodes.done;
}

/** `stratagraph tenants show`: a tenant with the number of its rows. */
export async function tenantShowCommand(given: NamedOptions, io: CliIo): Promise<number> {
  const { tenant, rows } = await withPlatform(io, async ({ tenants, tenantRows }) => {
    const found = await tenants.find(given.tenant);
    return { tenant: found, rows: await tenantRows.count(found.id) };
  });
  if (given.json) {
    printJson({ ...snakeKeys(tenant), rows }, io);
    return exitCodes.done;
  }
  const { width } = outputLayout(io);
  const fields = [
    ["name", tenant.name],
    ["id", tenant.id],
    ["plan", tenant.planTier],
    ["state", stateOf(tenant)],
    ["created", minuteOf(tenant.createdAt)],
    ["settings", JSON.stringify(tenant.settings)],
    ["rows", rowsText(rows)],
  ] as const;
  printLines(
    fields.flatMap(([label, text]) =>
      labelledLines(label.padEnd(8), plainLine(text), { width, colour: (same) => same }),
    ),
    io,
  );
  return exitCodes.done;
}

/** `stratagraph tenants set`: replaces the settings that are given, and keeps the others. */
export async function tenantSetCommand(
  given: NamedOptions & { /** JSON. */ readonly settings: string },
  io: CliIo,
): Promise<number> {
  const changes = parseSettings(given.settings);
  const tenant = await withPlatform(io, async (platform) => {
    const before = await platform.tenants.find(given.tenant);
    const settings = Object.fromEntries(
      Object.entries({ ...before.settings, ...changes }).filter(([, value]) => value !== null),
    );
    const after = await platform.tenants.updateSettings(before.id, settings);
    const subject = `tenant:${after.id}`;
    await audit(platform, after.id, { action: "tenant.set", subject, before, after });
    return after;
  });
  if (given.json) printJson(snakeKeys(tenant), io);
  else
    printLines(
      [plainLine(`Settings of tenant ${tenant.name}: ${JSON.stringify(tenant.settings)}`)],
      io,
    );
  return exitCodes.done;
}

/** @throws UsageError */
function parseSettings(text: string): Record<string, unknown> {
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    // Answered below.
  }
  if (isRecord(settings)) return settings;
  throw new UsageError(
    'Expected the settings as a JSON object, such as {"retention":{"llm_calls":{"archive_after_days":30}}}.',
  );
}

/** `stratagraph tenants suspend`, and with `--end` the end of a suspension. */
export async function tenantSuspendCommand(
  given: NamedOptions & { readonly end?: boolean },
  io: CliIo,
): Promise<number> {
  const tenant = await withPlatform(io, async (platform) => {
    const { tenants } = platform;
    const before = await tenants.find(given.tenant);
    const after = given.end ? await tenants.resume(before.id) : await tenants.suspend(before.id);
    const action = given.end ? "tenant.resume" : "tenant.suspend";
    await audit(platform, after.id, { action, subject: `tenant:${after.id}`, before, after });
    return after;
  });
  const said = given.end
    ? `Tenant ${tenant.name} may call again.`
    : `Suspended tenant ${tenant.name}: its keys are refused.`;
  if (given.json) printJson(snakeKeys(tenant), io);
  else printLines([plainLine(said)], io);
  return exitCodes.done;
}

/** `stratagraph tenants delete`: everything of a tenant, in every table. */
export async function tenantDeleteCommand(
  given: NamedOptions & { readonly yes?: boolean },
  io: CliIo,
): Promise<number> {
  return withPlatform(io, async ({ tenants, tenantRows }) => {
    const tenant = await tenants.find(given.tenant);
    const had = await tenantRows.count(tenant.id);
    const question = plainLine(`Delete tenant ${tenant.name} with ${rowsText(had)}?`);
    if (!(await confirmed(question, given, io))) {
      printLines(["Nothing was deleted."], io);
      return exitCodes.done;
    }
    const deleted = await tenantRows.delete(tenant.id);
    const tables = Object.keys(deleted).length;
    if (given.json) printJson({ id: tenant.id, deleted }, io);
    else {
      const said = `Deleted tenant ${tenant.name}: ${rowsText(deleted)}. No row of it is left in ${tables} tables.`;
      printLines([plainLine(said)], io);
    }
    return exitCodes.done;
  });
}

/** `stratagraph tenants export`: all rows of a tenant as lines of JSON. */
export async function tenantExportCommand(
  given: NamedOptions & { readonly out?: string },
  io: CliIo,
): Promise<number> {
  const { out, json } = given;
  if (json && out === undefined) throw new UsageError("--json needs --out: stdout has the rows.");
  await withPlatform(io, async ({ tenants, tenantRows }) => {
    const tenant = await tenants.find(given.tenant);
    if (out === undefined) {
      await tenantRows.export(tenant.id, async (line) => io.stdout.write(line));
      return;
    }
    // Only for its owner: it has all that the tenant stored.
    const file = await open(resolve(io.cwd, out), "w", 0o600);
    try {
      const rows = await tenantRows.export(tenant.id, async (line) => {
        await file.write(line);
      });
      if (json) printJson({ id: tenant.id, out, rows }, io);
      else printLines([plainLine(`Exported ${rowsText(rows)} to ${out}.`)], io);
    } finally {
      await file.close();
    }
  });
  return exitCodes.done;
}

function stateOf({ suspendedAt }: Tenant): string {
  return suspendedAt === null ? "active" : `suspended ${minuteOf(suspendedAt)}`;
}

function rowsText(rows: RowCounts): string {
  return count(
    Object.values(rows).reduce((sum, one) => sum + one, 0),
    "row",
  );
}

import { systemClock } from "../../clock.ts";
import type { ApiKey } from "../../storage/platform/api-keys.ts";
import type { CliIo } from "../io.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { minuteOf } from "../view/figures.ts";
import { tableLines } from "../view/table.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import { audit, withPlatform } from "./open.ts";

export interface KeyCreateOptions {
  /** A name or an id. */
  readonly tenant: string;
  readonly scope: readonly string[];
  readonly name?: string;
  /** Milliseconds. */
  readonly expires?: number;
  readonly json?: boolean;
}

/** `stratagraph keys create`: prints the key, which cannot be read again. */
export async function keyCreateCommand(given: KeyCreateOptions, io: CliIo): Promise<number> {
  const { name = "command line", scope, expires } = given;
  const { key, secret } = await withPlatform(io, async (platform) => {
    const tenant = await platform.tenants.find(given.tenant);
    const expiresAt =
      expires === undefined ? null : new Date(systemClock.now().getTime() + expires).toISOString();
    const of = { tenantId: tenant.id, name, scopes: scope, expiresAt };
    const made = await platform.apiKeys.create(of);
    const subject = `key:${made.key.id}`;
    await audit(platform, tenant.id, { action: "key.create", subject, after: made.key });
    return made;
  });
  if (given.json) {
    printJson({ key: snakeKeys(key), secret }, io);
    return exitCodes.done;
  }
  const until = key.expiresAt === null ? "does not expire" : `expires ${minuteOf(key.expiresAt)}`;
  const lines = [
    plainLine(
      `Created key ${key.id} of tenant ${given.tenant} (${key.scopes.join(", ")}); it ${until}.`,
    ),
    "",
    secret,
    "",
    "This is shown once: store it as a secret now.",
  ];
  printLines(lines, io);
  return exitCodes.done;
}

/** `stratagraph keys list`: the keys of a tenant, newest first. */
export async function keyListCommand(
  given: PageOptions & { readonly tenant: string },
  io: CliIo,
): Promise<number> {
  const { items, next } = await withPlatform(io, async ({ tenants, apiKeys }) => {
    const tenant = await tenants.find(given.tenant);
    return apiKeys.list(tenant.id, pageOf(given));
  });
  if (given.json) {
    printJson({ keys: items.map((key) => snakeKeys(key)), next }, io);
    return exitCodes.done;
  }
  if (items.length === 0) {
    printLines(["No keys."], io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  const columns = [
    { title: "id" },
    { title: "name", least: 8 },
    { title: "scopes", least: 10 },
    { title: "last used", optional: 1 },
    { title: "state" },
  ];
  const rows = items.map((key) => [
    { text: key.id },
    { text: plainLine(key.name) },
    { text: key.scopes.join(" ") },
    { text: key.lastUsedAt === null ? "never" : minuteOf(key.lastUsedAt) },
    { text: stateOf(key) },
  ]);
  const more = next === null ? [] : ["", view.style.dim(`Continue with --cursor ${next}`)];
  printLines([...tableLines(columns, rows, view), ...more], io);
  return exitCodes.done;
}

/** `stratagraph keys revoke`: the key is refused from now on. */
export async function keyRevokeCommand(
  given: { readonly id: string; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const key = await withPlatform(io, async (platform) => {
    const before = await platform.apiKeys.find(given.id);
    const after = await platform.apiKeys.revoke(before.tenantId, before.id);
    const subject = `key:${after.id}`;
    await audit(platform, after.tenantId, { action: "key.revoke", subject, before, after });
    return after;
  });
  if (given.json) printJson(snakeKeys(key), io);
  else printLines([plainLine(`Revoked key ${key.id} (${key.name}).`)], io);
  return exitCodes.done;
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return `revoked ${minuteOf(revokedAt)}`;
  if (expiresAt === null) return "active";
  const isOver = new Date(expiresAt) <= systemClock.now();
  return `${isOver ? "expired" : "expires"} ${minuteOf(expiresAt)}`;
}

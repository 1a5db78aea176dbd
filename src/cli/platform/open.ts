import type { Database } from "../../storage/database.ts";
import type { Platform } from "../../storage/platform/open-platform.ts";
import type { CliIo } from "../io.ts";
import { databaseFolder } from "../threads/open.ts";

/** Opens the database of the command line, made if need be, and closes it after `use`. */
export async function withDatabase<Result>(
  io: CliIo,
  use: (database: Database) => Promise<Result>,
): Promise<Result> {
  const { openDatabase, poolerOptions } = await import("../../storage/database.ts");
  const url = io.env["DATABASE_URL"];
  const database = await openDatabase({
    ...(url && { url }),
    ...poolerOptions(io.env),
    folder: databaseFolder(io),
    statementTimeoutMs: 0,
  });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

/** The same with the tables of the platform, made if need be. */
export async function withPlatform<Result>(
  io: CliIo,
  use: (platform: Platform, database: Database) => Promise<Result>,
): Promise<Result> {
  const [{ openPlatform }, { openArchiveTarget }, { createEncryption }] = await Promise.all([
    import("../../storage/platform/open-platform.ts"),
    import("../../storage/retention/archive-target.ts"),
    import("../../storage/encryption/stored-encryption.ts"),
  ]);
  const archive = await openArchiveTarget(io.env, io.cwd);
  const { sealing } = await createEncryption({ env: io.env });
  return withDatabase(io, async (database) => {
    const platform = await openPlatform(database, { archive, ...sealing });
    return use(platform, database);
  });
}

/** Writes what an operator changed into the audit log of a tenant. */
export async function audit(
  { audit: log }: Platform,
  tenantId: string,
  entry: {
    readonly action: string;
    readonly subject: string;
    readonly before?: unknown;
    readonly after?: unknown;
  },
): Promise<void> {
  await log.append(tenantId, { actor: "operator", ...entry });
}

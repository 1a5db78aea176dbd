import type { ResealCounts } from "../../storage/encryption/reseal.ts";
import { type CliIo, UsageError } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { hasDatabase, openDatabase } from "../threads/open.ts";
import { count } from "../view/figures.ts";

export interface EncryptionCommandOptions {
  readonly json?: boolean;
}

/** `stratagraph encryption status`, of all tenants. @throws UsageError without a database */
export async function statusCommand(given: EncryptionCommandOptions, io: CliIo): Promise<number> {
  return withEncryption(io, async ({ keyIds, count: countValues }) => {
    const counts = await countValues({ allTenants: true });
    if (given.json) {
      const values = counts.map(({ table, keyId, values: n }) => ({
        table,
        key: keyId,
        values: n,
      }));
      printJson({ keys: keyIds, values }, io);
      return exitCodes.done;
    }
    const first = keyIds[0];
    const lines = counts.map(({ table, keyId, values }) => {
      const by = keyId === null ? "not encrypted" : `encrypted with key "${keyId}"`;
      return `${table}: ${count(values, "value")} ${by}`;
    });
    const state = first === undefined ? "Encryption is off." : `New values get key "${first}".`;
    printLines([state, ...lines], io);
    return exitCodes.done;
  });
}

/**
 * `stratagraph encryption rotate`, of all tenants.
 * @throws UsageError without a database; NoEncryptionKeyError, MissingEncryptionKeyError
 */
export async function rotateCommand(given: EncryptionCommandOptions, io: CliIo): Promise<number> {
  return withEncryption(io, async ({ keyIds, rotate }) => {
    const abort = new AbortController();
    const release = io.onStop(() => abort.abort());
    const counts = await rotate({ signal: abort.signal, allTenants: true }).finally(release);
    const hasDamage = counts.some(({ damaged }) => damaged > 0);
    if (given.json) printJson({ key: keyIds[0], tables: counts }, io);
    else printLines(counts.map(rotatedLine), io);
    return hasDamage ? exitCodes.runFailed : exitCodes.done;
  });
}

function rotatedLine({ table, resealed, passed, damaged }: ResealCounts): string {
  const notes = [
    ...(passed > 0 ? [`${count(passed, "value")} changed by runs meanwhile`] : []),
    ...(damaged > 0 ? [`${count(damaged, "value")} damaged and left as stored`] : []),
  ];
  return [`${table}: ${count(resealed, "value")} encrypted`, ...notes].join(", ");
}

async function withEncryption(
  io: CliIo,
  use: (
    encryption: NonNullable<Awaited<ReturnType<typeof openDatabase>>["encryption"]>,
  ) => Promise<number>,
): Promise<number> {
  if (!hasDatabase(io))
    throw new UsageError("There is no database here: set DATABASE_URL, or run an agent first.");
  const runtime = await openDatabase(io);
  try {
    if (runtime.encryption === null) throw new UsageError("The runtime stores nothing.");
    return await use(runtime.encryption);
  } finally {
    await runtime.close();
  }
}

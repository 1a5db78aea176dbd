import { access, constants, readFile, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { redactUrl } from "../../storage/connection-url.ts";
import { openDatabase } from "../../storage/database.ts";
import { DATABASE } from "../../storage/folder-lock.ts";
import { isRunning } from "../../storage/process-identity.ts";
import type { CliIo } from "../io.ts";
import { ok, problem, problemOf, type Finding } from "./finding.ts";

const about = { check: "database", subject: "" };
const answerWithinMs = 10_000;

/** Whether the database that runs would use can be opened. Makes nothing that is not there. */
export async function checkDatabase({
  env,
  cwd,
}: Pick<CliIo, "env" | "cwd">): Promise<readonly Finding[]> {
  const url = env["DATABASE_URL"];
  return [url ? await checkPostgres(url) : await checkFolder(join(cwd, ".stratagraph"), cwd)];
}

async function checkPostgres(url: string): Promise<Finding> {
  try {
    const database = await openDatabase({
      url,
      maxConnections: 1,
      connectTimeoutMs: answerWithinMs,
      statementTimeoutMs: answerWithinMs,
    });
    try {
      const { rows } = await database.pool.query<{ server_version: string }>("show server_version");
      const version = rows[0]?.server_version ?? "of unknown version";
      return ok(about, `Postgres ${version} answers at ${redactUrl(url)}.`);
    } finally {
      await database.close();
    }
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return problemOf(about, thrown);
    throw thrown;
  }
}

async function checkFolder(folder: string, parent: string): Promise<Finding> {
  const found = await stat(folder).catch(() => null);
  if (found === null) {
    if (await mayWrite(parent)) {
      return ok(about, `Embedded; the first run makes ${folder}. No DATABASE_URL is set.`);
    }
    return problem(about, `${folder} cannot be made.`, `Make ${parent} writable, ${orPostgres}`);
  }
  if (!found.isDirectory()) {
    return problem(
      about,
      `${folder} is not a folder, so that the embedded database cannot be kept in it.`,
      `Move it away, ${orPostgres}`,
    );
  }
  for (const inside of [folder, join(folder, DATABASE)]) {
    const isThere = (await stat(inside).catch(() => null)) !== null;
    if (isThere && !(await mayWrite(inside))) {
      return problem(about, `${inside} cannot be written to.`, `Make it writable, ${orPostgres}`);
    }
  }
  const holder = await lockHolder(join(folder, "lock"));
  if (holder === null) return ok(about, `Embedded, in ${folder}. No DATABASE_URL is set.`);
  return problem(
    about,
    `${folder} is in use by ${holder}.`,
    "End it, or set DATABASE_URL to share one Postgres database.",
  );
}

const orPostgres = "or set DATABASE_URL.";

async function mayWrite(folder: string): Promise<boolean> {
  const { R_OK, W_OK, X_OK } = constants;
  return access(folder, R_OK | W_OK | X_OK).then(
    () => true,
    () => false,
  );
}

const lock = z.object({
  pid: z.number().int(),
  processStart: z.string().optional(),
  host: z.string(),
  since: z.string(),
});

/** Who has the folder, read without taking it; null where nobody does, as where who had it no longer runs. */
async function lockHolder(file: string): Promise<string | null> {
  const text = await readFile(file, "utf8").catch(() => "");
  const read = lock.safeParse(jsonOf(text));
  if (!read.success) return null;
  const { pid, processStart, host, since } = read.data;
  if (host !== hostname()) return `process ${pid} on ${host} since ${since}`;
  return isRunning(pid, processStart) ? `process ${pid} since ${since}` : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    return errorMessage(thrown);
  }
}

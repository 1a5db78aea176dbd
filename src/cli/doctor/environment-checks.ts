import { access, constants, readdir, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { logExtension } from "../../experiment/log/log-checker.ts";
import { systemClock } from "../../clock.ts";
import { type Database, openDatabase, poolerOptions } from "../../storage/database.ts";
import type { Notices } from "../../storage/postgres-notices.ts";
import { NoticesKeptBackError } from "../../storage/errors.ts";
import { isSessionShared } from "../../storage/pooled-session.ts";
import { parseEncryptionKeys } from "../../storage/encryption/encryption-keys.ts";
import { DATABASE, isRunning } from "../../storage/folder-lock.ts";
import { redactUrl } from "../../storage/pool.ts";
import { folderAccess, type FolderAccess } from "../../storage/private-folder.ts";
import { BrowserNotFoundError, findBrowser } from "../draw/find-browser.ts";
import type { CliIo } from "../io.ts";
import { shellCommand } from "../command-line.ts";
import { count } from "../view/figures.ts";
import { type Finding, ok, problem, problemOf, warning } from "./finding.ts";

const aboutDatabase = { check: "database", subject: "" };
const answerWithinMs = 10_000;

/** Whether the database that runs would use can be opened. Makes nothing that is not there. */
export async function checkDatabase({
  env,
  cwd,
}: Pick<CliIo, "env" | "cwd">): Promise<readonly Finding[]> {
  const url = env["DATABASE_URL"];
  if (!url) return [await checkFolder(join(cwd, ".stratagraph"), cwd)];
  return checkPostgres(url, env);
}

async function checkPostgres(url: string, env: CliIo["env"]): Promise<readonly Finding[]> {
  const pooler = poolerOptions(env);
  try {
    const database = await openDatabase({
      url,
      ...pooler,
      maxConnections: 2,
      connectTimeoutMs: answerWithinMs,
      statementTimeoutMs: answerWithinMs,
    });
    try {
      const { rows } = await database.pool.query<{ server_version: string }>("show server_version");
      const version = rows[0]?.server_version ?? "of unknown version";
      return [
        ok(aboutDatabase, `Postgres ${version} answers at ${redactUrl(url)}.`),
        await checkNotices(database),
        ...(await checkPooler(database, pooler)),
      ];
    } finally {
      await database.close();
    }
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return [problemOf(aboutDatabase, thrown)];
    throw thrown;
  }
}

/** Whether processes on the database hear of each other's runs at once. */
async function checkNotices({ openNotices }: Database): Promise<Finding> {
  const about = { check: "database", subject: "notices" };
  let notices: Notices | undefined;
  const error = await new Promise<unknown>((resolve) => {
    notices = openNotices?.("stratagraph_doctor", {
      clock: systemClock,
      onNotice: () => {},
      onChange: () => resolve(null),
      onError: (thrown) => resolve(thrown ?? "unknown"),
    });
    if (notices === undefined) resolve(null);
  });
  await notices?.close();
  if (error === null)
    return ok(
      about,
      "They arrive: streams follow runs of other processes at once, and a worker that dies is seen.",
    );
  if (error instanceof NoticesKeptBackError) {
    return warning(
      about,
      "A pooler by transaction keeps them back: servers look for events of other processes every 250 ms, and runs of a worker that dies wait for the end of their lease (15 s).",
      listenFix,
    );
  }
  return warning(
    about,
    "They do not arrive: servers look for events of other processes every 250 ms, and runs of a worker that dies wait for the end of their lease (15 s).",
    listenFix,
  );
}

const listenFix =
  "Set STRATAGRAPH_LISTEN_URL to a URL that reaches Postgres directly, not through a pooler by transaction.";

/** What does not work through a pooler that shares sessions. */
async function checkPooler(
  { pool }: Database,
  of: ReturnType<typeof poolerOptions>,
): Promise<readonly Finding[]> {
  const about = { check: "database", subject: "pooler" };
  const client = await pool.connect();
  const isShared = await isSessionShared(pool, client).finally(() => client.release());
  if (!isShared) return [];
  const findings: Finding[] = [];
  if (of.listenUrl === undefined) {
    const what = "DATABASE_URL is that of a pooler by transaction, so no agent can run:";
    findings.push(problem(about, `${what} locks of threads need a session.`, listenFix));
  }
  if (of.preparedStatements !== false) {
    findings.push(
      warning(
        about,
        "Statements are prepared, which a pooler by transaction may not follow.",
        "Set STRATAGRAPH_PREPARED_STATEMENTS=false, or use PgBouncer 1.21 with max_prepared_statements.",
      ),
    );
  }
  return findings.length > 0 ? findings : [ok(about, "Locks and notices go around the pooler.")];
}

async function checkFolder(folder: string, parent: string): Promise<Finding> {
  const found = await stat(folder).catch(() => null);
  if (found === null) {
    if (await mayWrite(parent)) {
      return ok(
        aboutDatabase,
        `Embedded; the first run creates ${folder}. DATABASE_URL is not set.`,
      );
    }
    return problem(
      aboutDatabase,
      `${folder} cannot be created.`,
      `Make ${parent} writable, ${orPostgres}`,
    );
  }
  if (!found.isDirectory()) {
    return problem(
      aboutDatabase,
      `${folder} is not a folder, so it cannot hold the embedded database.`,
      `Move it, ${orPostgres}`,
    );
  }
  for (const inside of [folder, join(folder, DATABASE)]) {
    const isThere = (await stat(inside).catch(() => null)) !== null;
    if (isThere && !(await mayWrite(inside))) {
      return problem(
        aboutDatabase,
        `${inside} cannot be written to.`,
        `Make it writable, ${orPostgres}`,
      );
    }
  }
  const holder = await lockHolder(join(folder, "lock"));
  if (holder === null) return ok(aboutDatabase, `Embedded, in ${folder}. DATABASE_URL is not set.`);
  return problem(
    aboutDatabase,
    `${folder} is in use by ${holder}.`,
    "Stop that process, or set DATABASE_URL to share one Postgres database.",
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

/** Returns the process that holds the folder's lock, without taking it; null if none does, or if it no longer runs. */
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

const least = 20;

/** @param version as `process.version` has it */
export function checkNode(version: string): readonly Finding[] {
  const about = { check: "node", subject: "" };
  const [major = ""] = version.replace(/^v/, "").split(".");
  if (Number(major) >= least) return [ok(about, version)];
  return [problem(about, `${version} is too old.`, `Install Node ${least} or later.`)];
}

const aboutPictures = { check: "pictures", subject: "" };
const packages = {
  "playwright-core": "playwright-core",
  "@mermaid-js/tiny": "@mermaid-js/tiny/dist/mermaid.tiny.js",
};

/** What `graph` needs to draw SVG and PNG, and nothing else does. */
export async function checkPictures({
  env,
  cwd,
}: Pick<CliIo, "env" | "cwd">): Promise<readonly Finding[]> {
  const require = createRequire(import.meta.url);
  const missing = Object.entries(packages)
    .filter(([, file]) => !resolves(require, file))
    .map(([name]) => name);
  if (missing.length > 0) {
    const names = missing.join(", ");
    const fix = `npm install --save-dev ${missing.join(" ")}`;
    return [warning(aboutPictures, `graph cannot draw SVG or PNG without ${names}.`, fix)];
  }
  try {
    const { platform } = process;
    const browser = await findBrowser({ given: undefined, env, platform, cwd });
    return [ok(aboutPictures, `graph draws SVG and PNG in ${browser}.`)];
  } catch (thrown) {
    if (!(thrown instanceof BrowserNotFoundError)) throw thrown;
    const message = "graph cannot draw SVG or PNG without Chromium or Chrome.";
    return [warning(aboutPictures, message, "Install one, or set CHROMIUM_PATH to its path.")];
  }
}

function resolves(require: NodeJS.Require, file: string): boolean {
  try {
    require.resolve(file);
    return true;
  } catch {
    return false;
  }
}

const aboutFiles = { check: "files", subject: "" };

/** Whether other users of this machine can read or replace what runs have stored. */
export async function checkFiles({ cwd }: Pick<CliIo, "cwd">): Promise<readonly Finding[]> {
  return [
    ...checkPrivateFolder(join(cwd, ".stratagraph")),
    ...(await checkLogs(join(cwd, "logs"))),
  ];
}

function checkPrivateFolder(folder: string): readonly Finding[] {
  const around = accessOf(folder);
  if (around === null) return [];
  const database = join(folder, DATABASE);
  const inside = accessOf(database);
  if (inside !== null && inside.foreignOwner !== null) {
    const message = `${database} belongs to user ${inside.foreignOwner}, so it is not opened.`;
    return [
      problem(aboutFiles, message, "Change its owner to your user, or choose another folder."),
    ];
  }
  const findings: Finding[] = [];
  if (around.isReplaceable) {
    const fix =
      around.foreignOwner === null
        ? shellCommand(["chmod", "go-w", folder])
        : `It belongs to user ${around.foreignOwner}: choose another folder.`;
    findings.push(warning(aboutFiles, `Other users can replace the database in ${folder}.`, fix));
  }
  if (around.isOpen && inside?.isOpen === true) {
    const message = `Other users can read ${database}. The next run removes their access.`;
    findings.push(warning(aboutFiles, message, shellCommand(["chmod", "700", database])));
  }
  return findings.length > 0 ? findings : [ok(aboutFiles, `Only you can read ${folder}.`)];
}

/** Null where there is no such folder, or none that can be looked into: the check of the database says so. */
function accessOf(folder: string): FolderAccess | null {
  try {
    return folderAccess(folder);
  } catch {
    return null;
  }
}

async function checkLogs(folder: string): Promise<readonly Finding[]> {
  if (accessOf(folder)?.isOpen !== true) return [];
  const names = await readdir(folder);
  const modes = await Promise.all(
    names
      .filter((name) => name.endsWith(logExtension))
      .map((name) => stat(join(folder, name)).catch(() => null)),
  );
  const open = modes.filter((found) => found !== null && (found.mode & 0o066) !== 0);
  if (open.length === 0) return [];
  const message = `Other users can read or change ${count(open.length, "log")} in ${folder}.`;
  return [
    warning(aboutFiles, message, `${shellCommand(["chmod", "go-rw", folder])}/*${logExtension}`),
  ];
}

/** Any of these being `true` turns LangChain's tracing on. */
const switches = [
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_TRACING_V2",
  "LANGSMITH_TRACING",
  "LANGCHAIN_TRACING",
];

/** Says whether stored values are encrypted, by which key, and whether the keys can be read. */
export function checkEncryption({ env }: Pick<CliIo, "env">): readonly Finding[] {
  const about = { check: "encryption", subject: "" };
  const text = env["STRATAGRAPH_ENCRYPTION_KEYS"] ?? "";
  try {
    const [first, ...others] = parseEncryptionKeys(text).map(({ id }) => `"${id}"`);
    if (first === undefined) return [];
    const opened = others.length === 0 ? "" : `, and values of ${others.join(", ")} are read`;
    const command = "stratagraph encryption counts them by key";
    return [ok(about, `On: new values are sealed by key ${first}${opened}; ${command}.`)];
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return [problemOf(about, thrown)];
    throw thrown;
  }
}

/** Says that runs are sent to LangSmith, and what of them. */
export function checkTracing({ env }: Pick<CliIo, "env">): readonly Finding[] {
  const about = { check: "tracing", subject: "" };
  const variable = switches.find((name) => env[name] === "true");
  if (variable === undefined) return [];
  const what = "Inputs, outputs and messages of runs are sent to LangSmith";
  const but = "agents that redact, and agents that contain them, send placeholders.";
  return [warning(about, `${what} because ${variable} is set; ${but}`, `unset ${variable}`)];
}

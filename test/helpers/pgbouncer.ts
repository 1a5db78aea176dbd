import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll } from "vitest";
import { freePort } from "./free-port.ts";
import { tempFolder } from "./temp-folder.ts";

/** A user without rights: PgBouncer refuses to run as root. */
const unprivilegedId = 65_534;

/** Whether the program `pgbouncer` is installed, as the Debian package of that name does. */
export const hasPgBouncer = (() => {
  try {
    execFileSync("pgbouncer", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

interface PgBouncerOptions {
  readonly mode?: "transaction" | "session";
  /** Parameters of connections that it takes and drops. */
  readonly ignored?: string;
}

/**
 * Returns a function that starts PgBouncer in front of a database, until the tests of the file or of the `describe` end,
 * and resolves to the URL through it. Call it where tests are declared: vitest takes no `afterAll` later.
 */
export function usePgBouncers(): (
  databaseUrl: string,
  options?: PgBouncerOptions,
) => Promise<string> {
  const children: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of children.splice(0)) {
      const ended = once(child, "exit");
      if (child.kill("SIGKILL")) await ended;
    }
  });
  return (databaseUrl, options = {}) =>
    startPgBouncer(databaseUrl, options, (child) => void children.push(child));
}

async function startPgBouncer(
  databaseUrl: string,
  { mode = "transaction", ignored = "statement_timeout,extra_float_digits" }: PgBouncerOptions,
  onStart: (child: ChildProcess) => void,
): Promise<string> {
  const url = new URL(databaseUrl);
  const name = url.pathname.slice(1);
  const user = url.username || "postgres";
  const password = url.password === "" ? "" : ` password=${decodeURIComponent(url.password)}`;
  const port = await freePort();
  const lines = [
    "[databases]",
    `${name} = host=${url.hostname} port=${url.port || 5432} dbname=${name} user=${user}${password}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    "default_pool_size = 8",
    `ignore_startup_parameters = ${ignored}`,
  ];
  const folder = tempFolder({ "pgbouncer.ini": `${lines.join("\n")}\n` });
  chmodSync(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  const child = spawn("pgbouncer", [`${folder}/pgbouncer.ini`], {
    stdio: ["ignore", "ignore", "pipe"],
    ...(isRoot && { uid: unprivilegedId, gid: unprivilegedId }),
  });
  onStart(child);
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes("process up")) break;
    if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${line}`);
  }
  child.stderr.resume();
  const through = new URL(databaseUrl);
  through.hostname = "127.0.0.1";
  through.port = String(port);
  return through.toString();
}

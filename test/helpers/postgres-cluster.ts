import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll } from "vitest";
import { freePort } from "./free-port.ts";
import { tempFolder } from "./temp-folder.ts";

/** Where the Debian packages have the programs of each version of the server. */
const versions = "/usr/lib/postgresql";
/** A user without rights: Postgres refuses to run as root. */
const unprivilegedId = 65_534;

/** The folder of `initdb` and `postgres` of the newest version; null where no server is installed. */
const programs = (() => {
  const found = existsSync(versions) ? readdirSync(versions) : [];
  const newest = found
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(versions, version, "bin"))
    .find((folder) => existsSync(join(folder, "initdb")));
  return newest ?? null;
})();

/** Whether a private server can be started. */
export const hasPostgresPrograms = programs !== null;

/** A Postgres server that belongs to one test, and may be ended at any time. */
export interface PostgresCluster {
  readonly url: string;
  /** Ends the server at once, without a checkpoint, and starts it again. Resolves when it answers. */
  restart(): Promise<void>;
}

/**
 * Returns a function that starts a server with a cluster of its own on a free port of loopback. Servers end after the
 * tests of the file, and their folders are removed. Commits reach the operating system and not the disk: they outlive the
 * server, though not the machine.
 */
export function usePostgresClusters(): () => Promise<PostgresCluster> {
  const started: Server[] = [];
  afterAll(async () => {
    await Promise.all(started.splice(0).map((server) => server.end()));
  });
  return async () => {
    const server = new Server(await freePort(), tempFolder());
    started.push(server);
    await server.begin();
    return { url: server.url, restart: () => server.restart() };
  };
}

class Server {
  #process: ChildProcess | undefined;
  readonly #data: string;

  constructor(
    private readonly port: number,
    private readonly folder: string,
  ) {
    this.#data = join(folder, "data");
    if (isRoot()) chownSync(folder, unprivilegedId, unprivilegedId);
    const options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"];
    execFileSync(program("initdb"), [...options, "--no-sync", this.#data], {
      ...this.#asOwner(),
      stdio: ["ignore", "ignore", "inherit"],
    });
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async begin(): Promise<void> {
    const settings = {
      port: this.port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      fsync: "off",
      // In the folder of the cluster, so that nothing of it is left.
      dynamic_shared_memory_type: "mmap",
      max_connections: 300,
      max_wal_size: "256MB",
      log_min_messages: "panic",
      // The first lines come before the setting counts.
      logging_collector: "off",
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.#process = spawn(program("postgres"), ["-D", this.#data, ...args], {
      ...this.#asOwner(),
      stdio: "ignore",
    });
    await this.#isAnswering();
  }

  async restart(): Promise<void> {
    await this.end();
    await this.begin();
  }

  /** SIGQUIT is what `pg_ctl stop -m immediate` sends. */
  async end(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined || process.exitCode !== null) return;
    const ended = once(process, "exit");
    if (process.kill("SIGQUIT")) await ended;
  }

  async #isAnswering(): Promise<void> {
    for (;;) {
      const { exitCode } = this.#process ?? { exitCode: 0 };
      if (exitCode !== null) throw new Error(`Postgres ended with ${exitCode} before it answered.`);
      const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 1_000 });
      try {
        await client.connect();
        return;
      } catch {
        // It starts, or recovers.
        await new Promise((resolve) => setTimeout(resolve, 20));
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  #asOwner() {
    const owner = isRoot() && { uid: unprivilegedId, gid: unprivilegedId };
    return { cwd: this.folder, ...owner };
  }
}

function program(name: string): string {
  if (programs === null) throw new Error("Expected the programs of a Postgres server.");
  return join(programs, name);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

import { resolve } from "node:path";
import { createServer, type PlatformServer, type ServerBase } from "../../create-server.ts";
import { systemIds } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { defaultModelRef } from "../../models/create-models.ts";
import { ListenError } from "../../server/errors.ts";
import type { CliIo } from "../io.ts";
import { displayPath, existingFolder, loadTools } from "../load.ts";
import { printLines } from "../output.ts";
import { buildPagesFromSources } from "../build-pages.ts";
import { createLogger, engineOptions } from "../serve/engine-options.ts";
import { readServeConfig, type ServeFlags } from "../serve/serve-config.ts";
import { serveUntilStopped } from "../serve/serve-command.ts";
import { plainText } from "../view/terminal.ts";
import { changeLines, startLines } from "./dev-lines.ts";
import { DevFolder, watchFolder } from "./dev-folder.ts";
import { ToolModules } from "./folder-tools.ts";
import { problemRoutes } from "./problem-routes.ts";

/** The options of `stratagraph dev`, as commander gives them. */
export interface DevFlags extends Pick<
  ServeFlags,
  "config" | "host" | "port" | "model" | "experiments" | "databaseUrl" | "httpAllow" | "logLevel"
> {
  /** Module with tools of all agents. */
  readonly tools?: string;
  /** False: open no browser. */
  readonly open: boolean;
}

/** Tried first: the port of `langgraph dev`, which clients of LangGraph expect. */
const usualPort = 2024;
/** Further ports that are tried where it is taken. */
const furtherPorts = 100;

/**
 * `stratagraph dev`: serves the agents of a folder to one developer, and reloads them when files change, until a signal
 * comes. A second signal ends the process at once.
 *
 * @throws InvalidServeConfigError, UsageError, UnprotectedServerError, ListenError, and the errors of opening the database
 */
export async function devCommand(
  given: string | undefined,
  { tools: sharedFile, open, ...flags }: DevFlags,
  io: CliIo,
): Promise<number> {
  const config = { log_level: "warn" as const, ...(await readServeConfig(flags, io)), dev: true };
  const shown = given ?? ".";
  const folder = await existingFolder(resolve(io.cwd, shown), shown);
  const experiments =
    config.experiments === undefined
      ? folder
      : await existingFolder(resolve(io.cwd, config.experiments), config.experiments);
  const shared = sharedFile === undefined ? [] : await loadTools(sharedFile, io);
  const modules = new ToolModules(folder, { file: sharedFile ?? "", tools: shared });
  const agents = new DevFolder(folder, modules);
  const logger = createLogger(config, io);
  await buildPagesFromSources();
  const options = engineOptions(config, { io, logger });
  let base: ServerBase | undefined;
  const server = await createServer({
    ...options,
    runtime: { ...options.runtime, root: (agent) => agents.folderOf(agent) },
    developmentTenant: config.tenant,
    experiments,
    // Read whenever a runtime is opened.
    get tools() {
      return agents.tools;
    },
    routes: (parts) => {
      base = parts;
      return problemRoutes({ folder, id: systemIds(), lastCheck: () => agents.lastCheck });
    },
  });
  const check = async () => {
    if (base === undefined) throw new TypeError("a server asks for its routes");
    return agents.check(base, server.developmentTenantId ?? "");
  };
  return serveUntilStopped(
    server,
    { io, logger, shutdownSeconds: config.shutdown_seconds },
    async () => {
      const { url, takenPort } = await listen(server, config);
      const first = await check();
      const stopWatching = await watchFolder(
        folder,
        async () => {
          const before = agents.lastCheck;
          const after = await check();
          printLines(changeLines(before, after, io), io);
        },
        (thrown) =>
          logger.error({ problem: plainText(errorMessage(thrown)) }, "folder not reloaded"),
      );
      const { databaseUrl = io.env["DATABASE_URL"] } = options;
      const facts = {
        url,
        takenPort,
        folder: displayPath(folder, io.cwd),
        model: defaultModelRef({
          env: io.env,
          ...(config.model !== undefined && { defaultModel: config.model }),
        }),
        data: databaseUrl
          ? "the Postgres database of DATABASE_URL or --database-url"
          : `${displayPath(resolve(io.cwd, ".stratagraph"), io.cwd)}/, as of stratagraph run`,
        elapsedMs: performance.now(),
      };
      printLines(startLines(facts, first, io), io);
      if (opensBrowser(open, io)) await openBrowser(`${url}/inspector/`);
      return stopWatching;
    },
  );
}

/** Listens on the port that is wanted. Without one, on the usual port or the next free one. */
async function listen(
  server: PlatformServer,
  { host, port }: { readonly host?: string | undefined; readonly port?: number | undefined },
): Promise<{ readonly url: string; readonly takenPort: number | null }> {
  const at = host === undefined ? {} : { host };
  if (port !== undefined) {
    const { url } = await server.listen({ ...at, port });
    return { url, takenPort: null };
  }
  for (let tried = usualPort; ; tried += 1) {
    try {
      const { url } = await server.listen({ ...at, port: tried });
      return { url, takenPort: tried === usualPort ? null : usualPort };
    } catch (thrown) {
      const isTaken =
        thrown instanceof ListenError &&
        (thrown.cause as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || tried === usualPort + furtherPorts) throw thrown;
    }
  }
}

/** Whether a person looks at a terminal of their own machine. */
export function opensBrowser(isWanted: boolean, { stdout, env }: Pick<CliIo, "stdout" | "env">) {
  return isWanted && stdout.isTerminal && !env["CI"];
}

/** Opens a page in the browser of the system, where there is one. */
async function openBrowser(url: string): Promise<void> {
  const { default: open } = await import("open");
  const opened = await open(url).catch(() => undefined);
  // Without a browser its program cannot be started. The address is printed.
  opened?.on("error", () => {});
}

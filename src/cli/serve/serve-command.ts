import { watch } from "node:fs";
import { resolve } from "node:path";
import { createServer, type PlatformServer, type ServerOptions } from "../../create-server.ts";
import { errorMessage } from "../../errors.ts";
import type { CliIo, StopReason } from "../io.ts";
import { existingFolder } from "../load.ts";
import { printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { plainText } from "../view/terminal.ts";
import { readAgentFolder, storeFolderAgents } from "./agent-folder.ts";
import { createLogger, engineOptions, usualShutdownSeconds } from "./engine-options.ts";
import { readServeConfig, type ServeConfig, type ServeFlags } from "./serve-config.ts";

/** Milliseconds without a further change after which a folder is read again. */
const quietMs = 200;

/**
 * `stratagraph serve`: serves the API until a signal comes, then finishes the requests under way. A second signal ends
 * the process at once.
 *
 * @throws InvalidServeConfigError, UsageError, InvalidDefinitionError, UnprotectedServerError, ListenError, and the errors
 * of opening the database
 */
export async function serveCommand(flags: ServeFlags, io: CliIo): Promise<number> {
  const config = await readServeConfig(flags, io);
  const folder =
    config.agents === undefined
      ? undefined
      : await existingFolder(resolve(io.cwd, config.agents), config.agents);
  const definitions = folder === undefined ? [] : await readAgentFolder(folder);
  const logger = createLogger(config, io);
  const server = await createServer(serverOptions(config, { io, logger }));
  let release = () => {};
  const stopped = new Promise<StopReason>((stop) => {
    release = io.onStop(stop);
  });
  let stopWatching = () => {};
  try {
    const { host, port } = config;
    const { url } = await server.listen({
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
    });
    const tenantId = await folderTenant(server, config);
    const stored = await storeFolderAgents(server.platform.agents, tenantId, definitions);
    const isOpen = server.developmentTenantId !== null;
    printLines(
      [
        `Listening on ${url}`,
        isOpen
          ? "Mode: development. NO KEYS ARE NEEDED: every program on this machine has all rights."
          : "Mode: keys are required.",
        folder === undefined
          ? "Agents: those in the database."
          : `Agents: ${stored.map(({ name, version }) => `${name} ${version}`).join(", ") || "none"}`,
        `Reference: ${url}/v1/docs`,
      ],
      io,
    );
    if (isOpen && folder !== undefined) {
      stopWatching = watchFolder(folder, async () => {
        try {
          const changed = await readAgentFolder(folder);
          for (const agent of await storeFolderAgents(server.platform.agents, tenantId, changed))
            if (agent.change !== "unchanged") logger.info(agent, "agent reloaded");
        } catch (thrown) {
          logger.error({ problem: plainText(errorMessage(thrown)) }, "agents not reloaded");
        }
      });
    }
    const reason = await stopped;
    logger.info({ reason }, "shutting down");
    return exitCodes.done;
  } finally {
    stopWatching();
    await server.close(1000 * (config.shutdown_seconds ?? usualShutdownSeconds));
    // Until here a second signal ends the process.
    release();
  }
}

/** The id of the tenant that the definitions of the folder are of. */
async function folderTenant(server: PlatformServer, config: ServeConfig): Promise<string> {
  const { developmentTenantId, platform } = server;
  if (developmentTenantId !== null) return developmentTenantId;
  if (config.agents === undefined) return "";
  return (await platform.tenants.find(config.tenant ?? "default")).id;
}

function serverOptions(
  config: ServeConfig,
  { io, logger }: { readonly io: CliIo; readonly logger: NonNullable<ServerOptions["logger"]> },
): ServerOptions {
  const { allow = {}, limits = {}, rates = {} } = config;
  const rateOf = (rate: NonNullable<ServeConfig["rates"]>["per_key"]) =>
    rate === null || rate === undefined
      ? rate
      : { perMinute: rate.per_minute, ...(rate.burst !== undefined && { burst: rate.burst }) };
  return {
    ...engineOptions(config, { io, logger }),
    developmentTenant: config.tenant,
    corsOrigins: config.cors,
    trustedProxies: config.trusted_proxies,
    metricsFor: config.metrics_for,
    allow: config.allow && {
      stdioServers: allow.stdio_servers,
      mcpHosts: allow.mcp_hosts,
      fileTools: allow.file_tools,
      communityTools: allow.community_tools,
      modelServers: allow.model_servers,
      plainSecrets: allow.plain_secrets,
    },
    limits: {
      maxBodyBytes: limits.max_body_bytes,
      maxConnections: limits.max_connections,
      headersTimeoutMs: limits.headers_timeout_ms,
      requestTimeoutMs: limits.request_timeout_ms,
      answerTimeoutMs: limits.answer_timeout_ms,
    },
    rates: { perKey: rateOf(rates.per_key), perTenant: rateOf(rates.per_tenant) },
  };
}

/** Calls `reload` when files of a folder have changed, one call at a time. Returns a function that stops watching. */
function watchFolder(folder: string, reload: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const watcher = watch(folder, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(reload);
    }, quietMs);
  });
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}

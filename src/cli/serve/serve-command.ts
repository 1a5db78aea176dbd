import { resolve } from "node:path";
import { createServer, type PlatformServer, type ServerOptions } from "../../create-server.ts";
import { InvalidDefinitionError } from "../../definition/check/problems.ts";
import type { CliIo, StopReason } from "../io.ts";
import { existingFolder } from "../load.ts";
import { printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { plainText } from "../view/terminal.ts";
import { type AgentFolder, readAgentFolder, storeFolderAgent } from "./agent-folder.ts";
import { createLogger, engineOptions, usualShutdownSeconds } from "./engine-options.ts";
import { readServeConfig, type ServeConfig, type ServeFlags } from "./serve-config.ts";

/**
 * `stratagraph serve`: serves the API until a signal comes, then finishes the requests under way. A second signal ends
 * the process at once.
 *
 * @throws InvalidServeConfigError, UsageError, InvalidDefinitionError, UnprotectedServerError, ListenError, and the errors
 * of opening the database
 */
export async function serveCommand(flags: ServeFlags, io: CliIo): Promise<number> {
  const config = await readServeConfig(flags, io);
  const { agents, leftOut } =
    config.agents === undefined ? nothing : await readValidFolder(config.agents, io);
  if (config.experiments !== undefined)
    await existingFolder(resolve(io.cwd, config.experiments), config.experiments);
  const logger = createLogger(config, io);
  const server = await createServer(serverOptions(config, { io, logger }));
  const shutdownSeconds = config.shutdown_seconds;
  return serveUntilStopped(server, { io, logger, shutdownSeconds }, async () => {
    const { host, port } = config;
    const { url } = await server.listen({
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
    });
    const tenantId = await folderTenant(server, config);
    const stored: string[] = [];
    for (const agent of agents) {
      const { name, version } = await storeFolderAgent(server.platform.agents, tenantId, agent);
      stored.push(`${name} ${version}`);
    }
    const isOpen = server.developmentTenantId !== null;
    printLines(
      [
        `Listening on ${url}`,
        isOpen
          ? "Mode: development. NO KEYS ARE NEEDED: every program on this machine has all rights."
          : "Mode: keys are required.",
        config.agents === undefined
          ? "Agents: those in the database."
          : `Agents: ${stored.join(", ") || "none"}`,
        ...leftOut.map(({ file, reason }) => `Left out: ${plainText(file)} (${reason})`),
        `Reference: ${url}/v1/docs`,
      ],
      io,
    );
    return () => {};
  });
}

const nothing: Pick<AgentFolder, "agents" | "leftOut"> = { agents: [], leftOut: [] };

/** @throws UsageError; InvalidDefinitionError with every problem of every file */
async function readValidFolder(given: string, io: CliIo): Promise<AgentFolder> {
  const read = await readAgentFolder(await existingFolder(resolve(io.cwd, given), given));
  if (read.problems.length > 0) throw new InvalidDefinitionError(read.problems);
  return read;
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
    experiments: config.experiments && resolve(io.cwd, config.experiments),
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

/**
 * Runs a server until a signal comes, then finishes the requests under way. A second signal ends the process at once.
 *
 * @param begin listens, and returns a function that is called before the server closes
 * @returns the exit code
 */
export async function serveUntilStopped(
  server: PlatformServer,
  given: {
    readonly io: Pick<CliIo, "onStop">;
    readonly logger: NonNullable<ServerOptions["logger"]>;
    readonly shutdownSeconds?: number | undefined;
  },
  begin: () => Promise<() => void | Promise<void>>,
): Promise<number> {
  let release = () => {};
  const stopped = new Promise<StopReason>((stop) => {
    release = given.io.onStop(stop);
  });
  let end: () => void | Promise<void> = () => {};
  try {
    end = await begin();
    const reason = await stopped;
    given.logger.info({ reason }, "shutting down");
    return exitCodes.done;
  } finally {
    await end();
    await server.close(1000 * (given.shutdownSeconds ?? usualShutdownSeconds));
    // Until here a second signal ends the process.
    release();
  }
}

import type { Clock } from "../../clock.ts";
import { isRecord } from "../../state/is-record.ts";
import { canonicalJson } from "../../state/canonical-json.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { adapterTools, type AdapterCall } from "./adapter-tools.ts";
import { callServer } from "./call-server.ts";
import { ServerStartError } from "./errors.ts";
import { listTools } from "./list-tools.ts";
import { resultValue } from "./result-value.ts";
import { serverTools } from "./server-tools.ts";
import { ToolServer, type ToolServerDeps } from "./tool-server.ts";
import type { ServerTools, ToolServers } from "./tool-servers.ts";

export interface ToolServersOptions {
  /** Fills in `{{secret:NAME}}` each time a server is started or asked. */
  readonly secrets: Secrets;
  readonly clock: Clock;
  /**
   * Milliseconds without a call after which a server is closed; the next call starts it again. For programs that never
   * close their servers, whose processes would keep them alive. Default: never.
   */
  readonly idleMs?: number | undefined;
  /** Of the program that connects; servers are told of it. Default 0.0.0. */
  readonly version?: string;
}

/**
 * MCP servers over stdio, streamable HTTP and SSE. What a server lists when it is first connected is what agents see for
 * as long as these servers are kept: definitions are stamped with their tools, so notes of a server that its list has
 * changed are passed over.
 */
export function createToolServers(options: ToolServersOptions): ToolServers {
  const deps: ToolServerDeps & { readonly secrets: Secrets } = {
    secrets: options.secrets,
    clock: options.clock,
    version: options.version ?? "0.0.0",
    idleMs: options.idleMs,
  };
  const servers = new Map<string, ToolServer>();
  const connecting = new Map<string, Promise<ServerTools>>();
  let isClosed = false;

  return {
    connect(spec) {
      if (isClosed) {
        const error = new ServerStartError(
          spec.name,
          "All tool servers of this process are closed.",
        );
        return Promise.reject(error);
      }
      const key = canonicalJson(spec);
      const known = connecting.get(key);
      if (known !== undefined) return known;
      const server = new ToolServer(spec, deps);
      const tools = connect(server, deps).catch(async (thrown: unknown) => {
        connecting.delete(key);
        servers.delete(key);
        await server.close();
        throw thrown;
      });
      servers.set(key, server);
      connecting.set(key, tools);
      return tools;
    },
    status: () => [...servers.values()].map((server) => server.status),
    async close() {
      isClosed = true;
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

/** Starts the server and makes its tools. */
async function connect(server: ToolServer, deps: ToolServerDeps): Promise<ServerTools> {
  const { spec } = server;
  const { clock, secrets } = deps;
  const startedAt = clock.monotonic();
  const forEver = new AbortController().signal;
  return server.use(forEver, async (connection) => {
    const left = spec.start_timeout_ms - (clock.monotonic() - startedAt);
    const timeoutMs = Math.max(1, Math.ceil(left));
    const listed = await listTools(spec.name, connection, { clock, secrets, timeoutMs });
    const names = listed.map((tool) => (isRecord(tool) ? tool["name"] : undefined));
    const calls = await adapterTools(connection.packages, {
      server: spec.name,
      names: [...new Set(names.filter((name) => typeof name === "string"))],
      send: (tool, args, signal) => callServer(server, { tool, args, signal }, secrets),
    });
    return serverTools(spec, listed, (own) => {
      const call = calls.get(own) as AdapterCall;
      return async (input, { signal }) => resultValue(await call(input, signal));
    });
  });
}

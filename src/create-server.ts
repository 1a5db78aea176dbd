import type { Runtime, RuntimeOptions } from "./app.ts";
import type { HttpOptions, StratagraphServer } from "./server/create-server.ts";
import type { AgentDrawing } from "./server/ports.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { TenantAllowance } from "./server/agents/tenant-rules.ts";
import type { Route } from "./server/route.ts";
import type { TenantRuntimes } from "./server/tenant-runtimes.ts";
import type { Database } from "./storage/database.ts";
import type { Platform } from "./storage/platform/open-platform.ts";

// Modules of the server are imported on first use, so that importing the package stays cheap.

export interface ServerOptions extends HttpOptions {
  /** URL of the Postgres database. Default: `DATABASE_URL` of `env`, else the embedded database. */
  readonly databaseUrl?: string;
  /** Folder of the embedded database. Default: `.stratagraph`. */
  readonly folder?: string;
  /** Maximum Postgres connections. Default 10. */
  readonly maxConnections?: number;
  /** A database to use instead. It stays the caller's: closing the server leaves it open. */
  readonly database?: Database;
  /**
   * Whether callers on this machine need no key, and act for one tenant with all scopes. Such a server listens on
   * loopback only. Default false.
   */
  readonly development?: boolean;
  /** Name of the tenant of a server without keys. Default `default`; it is made if need be. */
  readonly developmentTenant?: string;
  /** What definitions of tenants may use of this machine. Default nothing; all of it in development. */
  readonly allow?: TenantAllowance;
  /** Tools that definitions may name, in addition to the built-in ones. */
  readonly tools?: RuntimeOptions["tools"];
  /** Opens the runtime of a tenant, for routes that run agents. */
  readonly runtimeOf?: (tenantId: string) => Promise<Runtime>;
  /** Runtimes that stay open while they are not in use. Default 100. */
  readonly maxRuntimes?: number;
  /** Further routes. */
  readonly routes?: (parts: ServerBase) => readonly Route[];
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What routes stand on. */
export interface ServerBase {
  readonly database: Database;
  readonly platform: Platform;
  /** Null without `runtimeOf`. */
  readonly runtimes: TenantRuntimes<Runtime> | null;
}

/** A server with its stores. */
export interface PlatformServer extends StratagraphServer {
  readonly platform: Platform;
  /** Id of the tenant that callers without keys act for; null for a server with keys. */
  readonly developmentTenantId: string | null;
}

const allAllowed: TenantAllowance = {
  stdioServers: true,
  mcpHosts: ["*"],
  fileTools: true,
  communityTools: true,
  modelServers: true,
};

/**
 * Creates the HTTP server of the API on a database, whose tables are made if need be. `listen` opens a port;
 * its `app` is a Hono app, and its `fetch` answers requests without a socket.
 *
 * @throws DatabaseConnectionError, FolderLockedError, TenantIsolationError, InvalidProxyError
 * @example
 * const server = await createServer({ development: true });
 * const { url } = await server.listen({ port: 8123 });
 */
export async function createServer(options: ServerOptions = {}): Promise<PlatformServer> {
  const [
    { createServerWith },
    { TenantRuntimes: RuntimeCache },
    { openDatabase },
    { openPlatform },
    { packageVersion },
  ] = await Promise.all([
    import("./server/create-server.ts"),
    import("./server/tenant-runtimes.ts"),
    import("./storage/database.ts"),
    import("./storage/platform/open-platform.ts"),
    import("./package-version.ts"),
  ]);
  const { env = process.env, databaseUrl: url = env["DATABASE_URL"], folder } = options;
  const { clock, ids, maxConnections, development = false } = options;
  const own =
    options.database === undefined
      ? await openDatabase({
          ...(url && { url }),
          ...(folder !== undefined && { folder }),
          ...(maxConnections !== undefined && { maxConnections }),
        })
      : undefined;
  const database = options.database ?? own;
  if (database === undefined) throw new TypeError("a database was just opened");
  try {
    const times = { ...(clock && { clock }), ...(ids && { ids }) };
    const platform = await openPlatform(database, times);
    const tenantId = development
      ? await findOrCreateTenant(platform, options.developmentTenant ?? "default")
      : null;
    const { runtimeOf, maxRuntimes: max } = options;
    const runtimes =
      runtimeOf === undefined
        ? null
        : new RuntimeCache(runtimeOf, { ...(max !== undefined && { max }) });
    const server = createServerWith(
      {
        authentication:
          tenantId === null ? { keys: platform.apiKeys } : { development: { tenantId } },
        agents: {
          store: platform.agents,
          audit: platform.audit,
          draw: (definition) => drawAgent(definition, options),
          allow: options.allow ?? (development ? allAllowed : {}),
        },
        idempotency: platform.idempotency,
        tenantLimits: { tenants: platform.tenants, usage: platform.usage },
        readiness: [
          {
            name: "database",
            check: async () => {
              await database.pool.query("select 1");
            },
          },
        ],
        version: packageVersion(),
        routes: options.routes?.({ database, platform, runtimes }) ?? [],
        close: async () => {
          await runtimes?.close();
          await own?.close();
        },
      },
      options,
    );
    return Object.assign(server, { platform, developmentTenantId: tenantId });
  } catch (thrown) {
    await own?.close();
    throw thrown;
  }
}

async function findOrCreateTenant({ tenants }: Platform, name: string): Promise<string> {
  const { NotFoundError, ConflictError } = await import("./storage/platform/errors.ts");
  const find = () => tenants.find(name);
  const found = await find().catch((thrown: unknown) => {
    if (thrown instanceof NotFoundError) return undefined;
    throw thrown;
  });
  if (found !== undefined) return found.id;
  const made = await tenants.create({ name }).catch((thrown: unknown) => {
    // Another process was first.
    if (thrown instanceof ConflictError) return find();
    throw thrown;
  });
  return made.id;
}

/** Draws the graph of an agent without a database, keys or models. */
async function drawAgent(
  definition: AgentDefinition,
  { tools = [] }: Pick<ServerOptions, "tools">,
): Promise<AgentDrawing> {
  const [{ compileAgent, createRuntime }, { drawableDefinition, drawingModels }, { mermaidText }] =
    await Promise.all([
      import("./app.ts"),
      import("./compile/draw-graph.ts"),
      import("./compile/mermaid-text.ts"),
    ]);
  const runtime = await createRuntime({
    checkpointer: false,
    models: drawingModels,
    tools,
    env: {},
    secrets: { get: () => undefined },
  });
  try {
    const graph = await compileAgent(drawableDefinition(definition), runtime);
    const drawing = (await graph.getGraphAsync({ xray: false })).toJSON();
    const drawn = drawing as unknown as Parameters<typeof mermaidText>[0];
    return { mermaid: mermaidText(drawn), graph: drawing };
  } finally {
    await runtime.close();
  }
}

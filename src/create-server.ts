import type { Runtime, RuntimeOptions } from "./app.ts";
import { systemClock, systemIds } from "./clock.ts";
import type { HttpOptions, StratagraphServer } from "./server/create-server.ts";
import type { AgentDrawing, ApiBase, ServerLogger } from "./server/ports.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentRegistry } from "./compile/agent-registry.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { TenantAllowance } from "./server/agents/tenant-rules.ts";
import type { Route } from "./server/route.ts";
import type { UseThreadServices } from "./engine/retention/archive-threads.ts";
import type { Database } from "./storage/database.ts";
import type { Platform } from "./storage/platform/open-platform.ts";

// Modules of the server are imported on first use, so that importing the package stays cheap.

export interface ServerOptions extends HttpOptions {
  /** URL of the Postgres database. Default: `DATABASE_URL` of `env`, else the embedded database. */
  readonly databaseUrl?: string;
  /**
   * URL that reaches the same Postgres directly, where `databaseUrl` is that of a pooler by transaction: notices between
   * processes and locks of threads need a session. Default: `STRATAGRAPH_LISTEN_URL` of `env`, else `databaseUrl`.
   */
  readonly listenUrl?: string;
  /**
   * Whether statements are prepared under names, which poolers by transaction may not follow. Default: false if
   * `STRATAGRAPH_PREPARED_STATEMENTS` of `env` is `false`, else true.
   */
  readonly preparedStatements?: boolean;
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
  /**
   * Opens the runtime of a tenant, with at least the options given. Default: `createRuntime`, without the secrets and
   * hosts of this server's environment, which development has.
   */
  readonly runtimeOf?: (options: RuntimeOptions) => Promise<Runtime>;
  /** Runtimes that stay open while they are not in use. Default 100. */
  readonly maxRuntimes?: number;
  /** Models, secrets and limits of the runtimes. */
  readonly runtime?: Pick<
    RuntimeOptions,
    | "defaultModel"
    | "modelOptions"
    | "models"
    | "httpAllow"
    | "embeddings"
    | "memoryEmbeddings"
    | "sandbox"
  >;
  /** Runs that execute at the same time in this process. Default 16; 0: other processes execute them. */
  readonly concurrency?: number;
  /**
   * Whether the server also speaks LangGraph's HTTP protocol, at `/assistants`, `/threads`, `/runs` and `/store`. Default
   * true; false where the app is mounted into a server that speaks it itself, as `langgraph dev` does.
   */
  readonly langgraph?: boolean;
  /** Further routes. */
  readonly routes?: (parts: ServerBase) => readonly Route[];
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What further routes stand on. */
export interface ServerBase extends ApiBase {
  readonly database: Database;
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
  plainSecrets: true,
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
    { apiRoutes },
    { langgraphRoutes },
    { deleteEphemeralThread },
    { AgentLoader },
    { TenantRuntimes: RuntimeCache },
    { createRunWorker },
    { environmentSecrets },
    { openDatabase, poolerOptions },
    { createEncryption },
    { openPlatform },
    { ThreadFences },
    { openArchiveTarget },
    { runRetention },
    { addOldestRow, countMoves },
    { packageVersion },
  ] = await Promise.all([
    import("./server/create-server.ts"),
    import("./server/api-routes.ts"),
    import("./server/langgraph/routes.ts"),
    import("./server/checkpoints/thread-routes.ts"),
    import("./server/agents/load-agent.ts"),
    import("./server/tenant-runtimes.ts"),
    import("./engine/run-worker.ts"),
    import("./tools/secrets.ts"),
    import("./storage/database.ts"),
    import("./storage/encryption/stored-encryption.ts"),
    import("./storage/platform/open-platform.ts"),
    import("./storage/tenant-pool.ts"),
    import("./storage/retention/archive-target.ts"),
    import("./engine/retention/retention-round.ts"),
    import("./server/usage/retention.ts"),
    import("./package-version.ts"),
  ]);
  const { env = process.env, databaseUrl: url = env["DATABASE_URL"], folder } = options;
  const {
    listenUrl,
    preparedStatements,
    maxConnections,
    development = false,
    tools = [],
  } = options;
  const { clock = systemClock, ids = systemIds, logger = silent } = options;
  const own =
    options.database === undefined
      ? await openDatabase({
          ...(url && { url }),
          ...poolerOptions(env),
          ...(listenUrl && { listenUrl }),
          ...(preparedStatements !== undefined && { preparedStatements }),
          ...(folder !== undefined && { folder }),
          ...(maxConnections !== undefined && { maxConnections }),
        })
      : undefined;
  const database = options.database ?? own;
  if (database === undefined) throw new TypeError("a database was just opened");
  try {
    const { sealing } = await createEncryption({ env });
    const archive = await openArchiveTarget(env);
    const platform = await openPlatform(database, { clock, ids, archive, ...sealing });
    const tenantId = development
      ? await findOrCreateTenant(platform, options.developmentTenant ?? "default")
      : null;
    const { maxRuntimes: max, concurrency = 16 } = options;
    const onError = (err: unknown) => logger.error({ err }, "error outside of a request");
    const { createRuntime } = await import("./app.ts");
    const open = options.runtimeOf ?? createRuntime;
    const runtimes = new RuntimeCache(
      async (ofTenant: string) => {
        const fences = new ThreadFences();
        const runtime = await open({
          ...tenantOptions(options, env),
          secrets: {
            get: async (name) =>
              (await platform.secrets.read(ofTenant, name)) ??
              (development ? environmentSecrets(env).get(name) : undefined),
          },
          database,
          clock,
          ids,
          tools,
          tenantId: ofTenant,
          fences,
        });
        return { runtime, fences, close: () => runtime.close() };
      },
      { ...(max !== undefined && { max }), onError },
    );
    const loader = new AgentLoader(platform);
    const { load: loadAgent } = loader;
    const worker = createRunWorker({
      platform,
      database,
      clock,
      ids,
      logger,
      concurrency,
      // The folder of an embedded database belongs to one process: those before this one are gone.
      isAlone: own?.kind === "pglite",
      httpAllow: httpAllowOf(options, env),
      useServices: (ofTenant, work) =>
        runtimes.use(ofTenant, ({ runtime, fences }) => work({ services: runtime, fences })),
      loadAgent,
      deleteThread: (thread) => deleteEphemeralThread({ platform, runtimes }, thread),
      retention: async (signal) => {
        const useServices: UseThreadServices = (ofTenant, work) =>
          runtimes.use(ofTenant, ({ runtime }) => work(runtime));
        const round = await runRetention({ platform, useServices, clock, signal, onError });
        if (round !== null) countMoves(server.metrics, round);
      },
      onError,
    });
    const { queue, executor, signals } = worker;
    const allow = options.allow ?? (development ? allAllowed : {});
    const known: ApiBase["known"] = (ofTenant, names) =>
      runtimes.use(ofTenant, ({ runtime }) => loader.known(ofTenant, names, runtime.tools));
    const compileDrawing: ApiBase["compileDrawing"] = (definition, agents) =>
      compileForDrawing(definition, { tools, agents });
    const running = { platform, runtimes, loadAgent, queue, executor, signals };
    const parts = { ...running, allow, tools, known, compileDrawing };
    const base: ServerBase = { ...parts, database, clock, ids, logger };
    const server = createServerWith(
      {
        authentication:
          tenantId === null ? { keys: platform.apiKeys } : { development: { tenantId } },
        agents: {
          store: platform.agents,
          audit: platform.audit,
          draw: (definition) => drawAgent(definition, options),
          allow,
          known,
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
        routes: [
          ...apiRoutes(base),
          ...(options.langgraph === false ? [] : langgraphRoutes(base)),
          ...(options.routes?.(base) ?? []),
        ],
        drain: (graceMs) => worker.stop(graceMs),
        close: async () => {
          await runtimes.close();
          await own?.close();
        },
      },
      options,
    );
    addOldestRow(server.metrics, { retention: platform.retention, clock });
    worker.start();
    return Object.assign(server, { platform, developmentTenantId: tenantId });
  } catch (thrown) {
    await own?.close();
    throw thrown;
  }
}

const silent: ServerLogger = { info: () => {}, warn: () => {}, error: () => {} };

/** Bytes of stored values that the runtime of one tenant of many caches. */
const tenantCacheBytes = 8_388_608;

/** Tenants share the models of the server, and nothing else of its environment. */
function tenantOptions(
  { development = false, runtime = {} }: ServerOptions,
  env: NonNullable<RuntimeOptions["env"]>,
): RuntimeOptions {
  const httpAllow = httpAllowOf({ development, runtime }, env);
  if (development) return { env, ...runtime, httpAllow };
  return {
    env,
    cacheBytes: tenantCacheBytes,
    ...runtime,
    httpAllow,
  };
}

/** Private hosts that tools and webhooks may call. Those of the environment count in development alone. */
function httpAllowOf(
  { development = false, runtime = {} }: Pick<ServerOptions, "development" | "runtime">,
  env: NonNullable<RuntimeOptions["env"]>,
): NonNullable<RuntimeOptions["httpAllow"]> {
  if (runtime.httpAllow !== undefined) return runtime.httpAllow;
  const hosts = development ? (env["STRATAGRAPH_HTTP_ALLOW"] ?? "").split(",") : [];
  return hosts.map((host) => host.trim()).filter((host) => host !== "");
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
  options: Pick<ServerOptions, "tools">,
): Promise<AgentDrawing> {
  const [graph, { mermaidText }] = await Promise.all([
    compileForDrawing(definition, options),
    import("./compile/mermaid-text.ts"),
  ]);
  const drawing = (await graph.getGraphAsync({ xray: false })).toJSON();
  const drawn = drawing as unknown as Parameters<typeof mermaidText>[0];
  return { mermaid: mermaidText(drawn), graph: drawing };
}

/** Compiles a graph that is only drawn, without a database, keys or models. */
async function compileForDrawing(
  definition: AgentDefinition,
  of: { readonly tools?: RuntimeOptions["tools"]; readonly agents?: AgentRegistry },
): Promise<AgentGraph> {
  const [{ compileAgent, createRuntime }, { drawableDefinition, drawingModels, drawingServices }] =
    await Promise.all([import("./app.ts"), import("./compile/draw-graph.ts")]);
  const runtime = await createRuntime({
    checkpointer: false,
    models: drawingModels,
    tools: of.tools ?? [],
    env: {},
    secrets: { get: () => undefined },
  });
  try {
    const known = { tools: runtime.tools, ...(of.agents && { agents: of.agents }) };
    const services = { ...runtime, ...drawingServices(definition, known) };
    return await compileAgent(drawableDefinition(definition), services);
  } finally {
    await runtime.close();
  }
}

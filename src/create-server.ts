import type { RuntimeOptions } from "./app.ts";
import { type EngineOptions, openEngine } from "./create-worker.ts";
import type { HttpOptions, StratagraphServer } from "./server/create-server.ts";
import type { AgentDrawing, ApiBase } from "./server/ports.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentRegistry } from "./compile/agent-registry.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { TenantAllowance } from "./server/agents/tenant-rules.ts";
import type { Route } from "./server/route.ts";
import type { RetentionRound } from "./engine/retention/retention-round.ts";
import type { Database } from "./storage/database.ts";
import type { Platform } from "./storage/platform/open-platform.ts";

// Modules of the server are imported on first use, so that importing the package stays cheap.

export interface ServerOptions extends HttpOptions, EngineOptions {
  /** Name of the tenant of a server without keys. Default `default`; it is made if need be. */
  readonly developmentTenant?: string;
  /** What definitions of tenants may use of this machine. Default nothing; all of it in development. */
  readonly allow?: TenantAllowance;
  /** Runs that execute at the same time in this process. Default 16; 0: other processes execute them. */
  readonly concurrency?: number;
  /**
   * Whether the server also speaks LangGraph's HTTP protocol, at `/assistants`, `/threads`, `/runs` and `/store`. Default
   * true; false where the app is mounted into a server that speaks it itself, as `langgraph dev` does.
   */
  readonly langgraph?: boolean;
  /**
   * Folder with the logs of experiments, in it or below it, for keys with the scope `experiments:read`. Default none.
   */
  readonly experiments?: string | undefined;
  /** Further routes. */
  readonly routes?: (parts: ServerBase) => readonly Route[];
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
    { queueMetrics },
    { addOldestRow, countMoves },
    { packageVersion },
    { LogFolder },
  ] = await Promise.all([
    import("./server/create-server.ts"),
    import("./server/api-routes.ts"),
    import("./server/langgraph/routes.ts"),
    import("./server/workers/routes.ts"),
    import("./server/usage/retention.ts"),
    import("./own-package.ts"),
    import("./experiment/report/log-folder.ts"),
  ]);
  const { development = false } = options;
  let onRetention: (round: RetentionRound) => void = () => {};
  const engine = await openEngine(options, (round) => onRetention(round));
  try {
    const { database, platform, runtimes, loader, worker, clock, ids, logger } = engine;
    const tenantId = development
      ? await findOrCreateTenant(platform, options.developmentTenant ?? "default")
      : null;
    const { queue, executor, signals } = worker;
    const allow = options.allow ?? (development ? allAllowed : {});
    const known: ApiBase["known"] = (ofTenant, names) =>
      runtimes.use(ofTenant, ({ runtime }) => loader.known(ofTenant, names, runtime.tools));
    const compileDrawing: ApiBase["compileDrawing"] = (definition, agents) =>
      compileForDrawing(definition, { tools: options.tools, agents });
    const running = { platform, runtimes, loadAgent: loader.load, queue, executor, signals };
    const parts = { ...running, allow, known, compileDrawing };
    const experiments =
      options.experiments === undefined ? null : new LogFolder(options.experiments);
    const base: ServerBase = { ...parts, experiments, database, clock, ids, logger };
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
        close: engine.close,
      },
      options,
    );
    server.metrics.addSource(queueMetrics({ workers: platform.workers, now: () => clock.now() }));
    onRetention = (round) => countMoves(server.metrics, round);
    addOldestRow(server.metrics, { retention: platform.retention, clock });
    worker.start();
    return Object.assign(server, { platform, developmentTenantId: tenantId });
  } catch (thrown) {
    await engine.close();
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
  of: { readonly tools?: RuntimeOptions["tools"] | undefined; readonly agents?: AgentRegistry },
): Promise<AgentGraph> {
  const [{ compileAgent, createRuntime }, drawing] = await Promise.all([
    import("./app.ts"),
    import("./compile/draw-graph.ts"),
  ]);
  const { drawableDefinition, drawingModels, drawingServices, withoutServers } = drawing;
  const drawn = withoutServers(definition);
  const runtime = await createRuntime({
    checkpointer: false,
    models: drawingModels,
    tools: of.tools ?? [],
    env: {},
    secrets: { get: () => undefined },
  });
  try {
    const inside = [...(of.agents ?? [])].map(
      ([name, agent]) => [name, withoutServers(agent)] as const,
    );
    const known = { tools: runtime.tools, agents: new Map(inside) };
    const services = { ...runtime, ...drawingServices(drawn, known) };
    return await compileAgent(drawableDefinition(drawn), services);
  } finally {
    await runtime.close();
  }
}

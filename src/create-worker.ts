import type { Runtime, RuntimeOptions } from "./app.ts";
import { type Clock, type IdSource, systemClock, systemIds } from "./clock.ts";
import type { UseThreadServices } from "./engine/retention/archive-threads.ts";
import type { RetentionRound } from "./engine/retention/retention-round.ts";
import type { RunWorker } from "./engine/run-worker.ts";
import type { AgentLoader } from "./server/agents/load-agent.ts";
import type { ServerLogger, TenantRuntime } from "./server/ports.ts";
import type { TenantRuntimes } from "./server/tenant-runtimes.ts";
import type { Database } from "./storage/database.ts";
import type { Platform } from "./storage/platform/open-platform.ts";
import type { WorkerScope } from "./storage/platform/runs/create-run.ts";

// Modules of the server are imported on first use, so that importing the package stays cheap.

/** Options of every process that executes runs: workers, and servers with a worker inside. */
export interface EngineOptions extends WorkerScope {
  /** URL of the Postgres database. Default: `DATABASE_URL` of `env`, else the embedded database. */
  readonly databaseUrl?: string;
  /**
   * URL that reaches the same Postgres directly, where `databaseUrl` is that of a pooler by transaction: notices between
   * processes and locks need a session. Default: `STRATAGRAPH_LISTEN_URL` of `env`, else `databaseUrl`.
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
  /** A database to use instead. It stays the caller's: closing leaves it open. */
  readonly database?: Database;
  /**
   * Development: secrets and hosts come from the environment. A server needs no keys then: callers on this machine act
   * for one tenant with all scopes, and it listens on loopback only. Default false.
   */
  readonly development?: boolean;
  /** Tools that definitions may name, in addition to the built-in ones. Read when the runtime of a tenant is opened. */
  readonly tools?: RuntimeOptions["tools"];
  /**
   * Opens the runtime of a tenant, with at least the options given. Default: `createRuntime`, without the secrets and
   * hosts of this process's environment, which development has.
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
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: logs nothing. */
  readonly logger?: ServerLogger;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

export interface WorkerOptions extends EngineOptions {
  /** Runs that execute at the same time, 1 or more. Default 16. */
  readonly concurrency?: number;
}

/** A process that takes runs, and answers no requests. */
export interface PlatformWorker {
  /** Its name in the table of runs and in the list of workers. */
  readonly name: string;
  readonly platform: Platform;
  /** Runs that execute now. */
  readonly running: number;
  /**
   * Takes no more runs, hands over those that execute before their next step, and closes. Twice is once.
   *
   * @param graceMs milliseconds for steps under way; default 10,000
   */
  close(graceMs?: number): Promise<void>;
}

/** What executes the runs of a database, and what it stands on. */
export interface Engine {
  readonly database: Database;
  readonly platform: Platform;
  readonly runtimes: TenantRuntimes<TenantRuntime>;
  readonly loader: AgentLoader;
  readonly worker: RunWorker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: ServerLogger;
  /** Closes the runtimes and the database, once the worker has stopped. */
  readonly close: () => Promise<void>;
}

/**
 * Creates a worker: it takes runs of the database, whose tables are made if need be, until it is closed. The definitions,
 * models and tools of its runs must be there as on the servers that queue them.
 *
 * @throws DatabaseConnectionError, FolderLockedError, TenantIsolationError
 * @example
 * const worker = await createWorker({ databaseUrl: process.env.DATABASE_URL, labels: ["gpu"] });
 * process.once("SIGTERM", () => worker.close());
 */
export async function createWorker(options: WorkerOptions = {}): Promise<PlatformWorker> {
  const { platform, worker, close } = await openEngine(options);
  let closed: Promise<void> | undefined;
  const end = async (graceMs: number) => {
    try {
      await worker.stop(graceMs);
    } finally {
      await close();
    }
  };
  worker.start();
  return {
    name: worker.name,
    platform,
    get running() {
      return worker.queue.running;
    },
    close: (graceMs = 10_000) => (closed ??= end(graceMs)),
  };
}

/**
 * Opens the database, and makes what executes its runs. Nothing is taken before `worker.start`.
 *
 * @param onRetention called with what each round of retention in this process did
 */
export async function openEngine(
  options: WorkerOptions,
  onRetention?: (round: RetentionRound) => void,
): Promise<Engine> {
  const [
    { deleteEphemeralThread },
    { AgentLoader: Loader },
    { TenantRuntimes: RuntimeCache },
    { createRunWorker },
    { environmentSecrets },
    { openDatabase, poolerOptions },
    { createEncryption },
    { openPlatform },
    { ThreadFences },
    { openArchiveTarget },
    { runRetention },
  ] = await Promise.all([
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
  ]);
  const { env = process.env, databaseUrl: url = env["DATABASE_URL"], folder } = options;
  const { listenUrl, preparedStatements, maxConnections, kinds, labels } = options;
  const { development = false } = options;
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
          tools: options.tools ?? [],
          tenantId: ofTenant,
          fences,
        });
        return { runtime, fences, close: () => runtime.close() };
      },
      { ...(max !== undefined && { max }), onError },
    );
    const loader = new Loader(platform);
    const worker = createRunWorker({
      platform,
      database,
      clock,
      ids,
      logger,
      concurrency,
      kinds,
      labels,
      // The folder of an embedded database belongs to one process: those before this one are gone.
      isAlone: own?.kind === "pglite",
      httpAllow: httpAllowOf(options, env),
      useServices: (ofTenant, work) =>
        runtimes.use(ofTenant, ({ runtime, fences }) => work({ services: runtime, fences })),
      loadAgent: loader.load,
      deleteThread: (thread) => deleteEphemeralThread({ platform, runtimes }, thread),
      retention: async (signal) => {
        const useServices: UseThreadServices = (ofTenant, work) =>
          runtimes.use(ofTenant, ({ runtime }) => work(runtime));
        const round = await runRetention({ platform, useServices, clock, signal, onError });
        if (round !== null) onRetention?.(round);
      },
      onError,
    });
    const close = async () => {
      await runtimes.close();
      await own?.close();
    };
    return { database, platform, runtimes, loader, worker, clock, ids, logger, close };
  } catch (thrown) {
    await own?.close();
    throw thrown;
  }
}

const silent: ServerLogger = { info: () => {}, warn: () => {}, error: () => {} };

/** Bytes of stored values that the runtime of one tenant of many caches. */
const tenantCacheBytes = 8_388_608;

/** Tenants share the models of the process, and nothing else of its environment. */
function tenantOptions(
  { development = false, runtime = {} }: EngineOptions,
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
  { development = false, runtime = {} }: Pick<EngineOptions, "development" | "runtime">,
  env: NonNullable<RuntimeOptions["env"]>,
): NonNullable<RuntimeOptions["httpAllow"]> {
  if (runtime.httpAllow !== undefined) return runtime.httpAllow;
  const hosts = development ? (env["STRATAGRAPH_HTTP_ALLOW"] ?? "").split(",") : [];
  return hosts.map((host) => host.trim()).filter((host) => host !== "");
}

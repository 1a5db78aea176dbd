import type { CompileServices } from "./compile/compile-agent.ts";
import { resolve } from "node:path";
import type { BaseStore } from "@langchain/langgraph";
import { systemClock, systemIds } from "./clock.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { PlannerOptions } from "./definition/define-planner.ts";
import type { DurableSaver } from "./durable-saver.ts";
import type { Experiment } from "./experiment/config/load-experiment.ts";
import type { ExperimentGraph } from "./experiment/cycle/experiment-graph.ts";
import type { ExperimentMemory } from "./experiment/memory/run-memory.ts";
import type { ExperimentResult, RunExperimentOptions } from "./experiment/run-experiment.ts";
import type { ExecuteOptions, ExecuteResult } from "./runtime/execute-agent.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import { lazyThreads, type Threads } from "./runtime/threads/threads.ts";
import { type LazyMemories, lazyMemories } from "./memory/lazy-memories.ts";
import type { Memory } from "./memory/memory.ts";
import { type ThreadServices, watchJournal } from "./runtime/threads/services.ts";
import type { StoredEncryption } from "./storage/encryption/stored-encryption.ts";

export type { RuntimeOptions };

// Modules that run agents are imported on first use, so that importing the package stays cheap.

/** The models, tools and thread database that agents run on. Create one per process. */
export interface Runtime extends CompileServices {
  /** The stored threads: their history, and branches from it. */
  readonly threads: Threads;
  /** The memory that experiment agents keep between cycles: in the database, or else in this process. */
  readonly experimentMemory: ExperimentMemory;
  /**
   * Returns the memories of agents, in the database, or else in this process. Vectors are of an `embedding_model` as
   * definitions name it; default: that of definitions that name none.
   *
   * @throws UnknownModelError, MissingPackageError, MissingProviderError, MissingApiKeyError
   */
  readonly memory: (embeddingModel?: string) => Promise<Memory>;
  /** The encryption of stored values, and the rotation of its keys. Null if the runtime has no database of its own. */
  readonly encryption: StoredEncryption | null;
  /** The same memories as a LangGraph store, which tools and graphs in them get by `getStore()`. */
  readonly store: BaseStore;
  /** Closes the database, the tool servers, the sandbox and the local encoder. */
  close(): Promise<void>;
}

/**
 * Creates a runtime. The embedded database is opened, and its folder locked, on first use.
 *
 * @throws DatabaseConnectionError when the Postgres server does not respond; StorageOptionError, InvalidEncryptionKeyError;
 * ToolClashError and AgentClashError when two tools or two agents share a name
 */
export async function createRuntime(
  options: RuntimeOptions & { readonly prepared?: PreparedServices } = {},
): Promise<Runtime> {
  const { services, memoryIn, close } = options.prepared ?? (await createServices(options));
  const { MemoryBaseStore } = await import("./memory/base-store.ts");
  if (options.checkpointer !== undefined) {
    const checkpointer = options.checkpointer || undefined;
    const { blobs = services.blobs } = (checkpointer ?? {}) as Partial<DurableSaver>;
    const inMemory = await import("./experiment/memory/in-memory.ts");
    const experimentMemory = inMemory.createInMemoryExperimentMemory();
    const store = new MemoryBaseStore(() => services.memory(undefined));
    const run = { ...services, checkpointer, blobs, store, experimentMemory, encryption: null };
    return withThreads(run, {}, close);
  }
  const { env = process.env, databaseUrl: url = env["DATABASE_URL"] } = options;
  const { openDatabase, poolerOptions } = await import("./storage/database.ts");
  const { openCheckpointer, PostgresCheckpointer } = await import("../checkpointers/postgres.ts");
  const { CancelRequests } = await import("./storage/platform/cancel-requests.ts");
  const { DatabaseToolJournal } = await import("./storage/tool-journal.ts");
  const { createEncryption } = await import("./storage/encryption/stored-encryption.ts");
  const { sealingStores } = await import("./storage/encryption/sealing-stores.ts");
  const { defaultTenant } = await import("./storage/tenant.ts");
  const { DatabaseExperimentMemory } = await import("./experiment/memory/database-memory.ts");
  const database =
    options.database ??
    (await openDatabase({
      ...(url && { url }),
      ...poolerOptions(env),
      ...(options.folder !== undefined && { folder: options.folder }),
      ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
    }).catch(async (thrown: unknown) => {
      await close();
      throw thrown;
    }));
  const closeDatabase = async () => options.database ?? (await database.close());
  const closeAll = async () => void (await Promise.all([close(), closeDatabase()]));
  try {
    const { schema = "stratagraph", tenantId = defaultTenant, fences, cacheBytes } = options;
    const encryption = await createEncryption({ ...services, ...options.encryption, env });
    const place = {
      schema,
      tenantId,
      ...(fences && { fences }),
      ...encryption.sealing,
    };
    const cache = cacheBytes !== undefined && { cacheBytes };
    const checkpointer = await openCheckpointer(database, { ...place, ...cache });
    const stored = new DatabaseToolJournal(database.pool, {
      ...place,
      serde: checkpointer.serde,
      flush: (threadId) => checkpointer.flush(threadId),
    });
    const journal = watchJournal(stored);
    const { clock } = services;
    const memory = memoryIn(async () => {
      const { openDatabaseMemory } = await import("./storage/memory/database-memory.ts");
      return openDatabaseMemory(database, { schema, clock });
    });
    const store = new MemoryBaseStore(() => memory(undefined));
    const cancels = new CancelRequests(database, { fences, clock, schema, tenantId });
    const { openCallLog } = await import("./storage/platform/call-log.ts");
    const calls = openCallLog(database, { ...services, ...place });
    const run = {
      ...services,
      ...(options.recordCalls !== false && { calls }),
      checkpointer,
      blobs: checkpointer.blobs,
      journal,
      memory,
      store,
      experimentMemory: new DatabaseExperimentMemory(database.pool, place),
      encryption: encryption.of((allTenants) =>
        sealingStores({
          openPlatform: async () => {
            const { openPlatform } = await import("./storage/platform/open-platform.ts");
            return openPlatform(database, { schema, clock });
          },
          tenantId,
          allTenants,
          storesOf: (id) => {
            if (id === tenantId) return [checkpointer, stored];
            const of = { ...place, tenantId: id };
            const saver = new PostgresCheckpointer(database.pool, of);
            return [saver, new DatabaseToolJournal(database.pool, of)];
          },
        }),
      ),
      lockThread: cancels.lockThread,
    };
    const forget = async (threadId: string) => {
      await stored.forget(threadId);
      await calls.forget(threadId);
    };
    const beside = { journal, forget, cancelRequests: cancels.isShared ? cancels : undefined };
    return withThreads(run, beside, async () => {
      await calls.flush();
      await closeAll();
    });
  } catch (thrown) {
    await closeAll();
    throw thrown;
  }
}

function withThreads(
  run: CompileServices & Pick<Runtime, "encryption" | "experimentMemory" | "memory" | "store">,
  beside: Pick<ThreadServices, "journal" | "forget" | "cancelRequests">,
  close: () => Promise<void>,
): Runtime {
  const threads = lazyThreads(async () => {
    const { createThreads } = await import("./runtime/threads/create-threads.ts");
    const { NoCheckpointError } = await import("../checkpointers/errors.ts");
    return createThreads({
      run: runtime,
      noCheckpoint: (threadId, checkpointId) => new NoCheckpointError(threadId, checkpointId),
      ...beside,
    });
  });
  const runtime: Runtime = { ...run, threads, close };
  return runtime;
}

/**
 * Compiles an agent into a plain LangGraph graph. Without a runtime the graph has no checkpointer; an Agent Server or
 * `langgraph dev` adds its own.
 *
 * @throws InactiveAgentError, ToolClashError, UnknownToolError, UnknownModelError, MissingProviderError,
 * MissingApiKeyError, ModelOptionError; for agent nodes UnknownAgentError, InactiveSubagentError, AgentRecursionError,
 * AgentDepthError, InvalidDefinitionError
 */
export async function compileAgent<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  runtime?: Runtime,
): Promise<AgentGraph> {
  const { compileAgentWith } = await import("./compile/compile-agent.ts");
  return compileAgentWith(definition, runtime ?? (await servicesWithoutDatabase()));
}

/**
 * Compiles a planner into a plain LangGraph graph: it decomposes a task, runs workers on the subtasks, and joins and
 * judges their results. Equivalent to {@link compileAgent} with the result of `definePlanner`, which `executeAgent`
 * also accepts.
 *
 * @throws InvalidDefinitionError and the errors of {@link compileAgent}
 * @example
 * const graph = await compilePlanner({ workers: [counter, writer] }, runtime);
 */
export async function compilePlanner(
  options: PlannerOptions,
  runtime?: Runtime,
): Promise<AgentGraph> {
  const { definePlanner } = await import("./definition/define-planner.ts");
  return compileAgent(definePlanner(options), runtime);
}

/**
 * Runs one turn of an agent. With `input: null` it resumes the thread's turn if that was cancelled, is unfinished or
 * awaits human answers. Resuming without an answer lets an expired time limit take effect.
 *
 * A failed turn is returned as FAILED with its cause. Caller errors are thrown before anything is written. Without a
 * runtime nothing is stored.
 *
 * @throws InvalidInputError, InvalidThreadIdError, InvalidRunOptionError, UnfinishedTurnError, NothingToResumeError,
 * NoCheckpointerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, ApprovalMismatchError,
 * NothingToAnswerError, ForeignThreadError, DefinitionChangedError, RecoveryNeededError, ThreadBusyError,
 * ThreadLockedError, and the errors of {@link compileAgent}; HandlerMutationError, HandlerReturnError and
 * HandlerTierError for a stateful tool that breaks its contract; database errors such as DatabaseFullError when a
 * checkpoint cannot be written or the thread's lock is lost. The thread can then be resumed from its last written
 * checkpoint
 * @example
 * const { output } = await executeAgent(agent, { message: "What is 6 * 7?" });
 * @example
 * const asked = await executeAgent(agent, { message: "Send it" }, { runtime, threadId });
 * if (asked.status === "AWAITING_HUMAN") await executeAgent(agent, null, { runtime, threadId, answer: true });
 */
export async function executeAgent<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  input: NoInfer<Input> | null,
  options: ExecuteOptions & { readonly runtime?: Runtime } = {},
): Promise<ExecuteResult<Output, Exec, Attempt>> {
  const { runtime, ...rest } = options;
  const { executeAgentWith } = await import("./runtime/execute-agent.ts");
  const services = runtime ?? (await servicesWithoutDatabase());
  return executeAgentWith(definition, input, { ...rest, services });
}

/**
 * Runs all cycles of every run of an experiment, or the remaining ones. All checks precede the first write. A run that
 * fails later is returned as `failed`.
 *
 * @throws NoCheckpointerError if the runtime stores nothing; ExperimentOptionError, ExperimentChangedError,
 * LogExistsError, LogChangedError, ExperimentToolError, and the errors of resolving models, tools and secrets
 * @example
 * const { runs } = await runExperiment(await loadExperiment("experiment.yaml"), { runtime });
 */
export async function runExperiment(
  experiment: Experiment,
  options: RunExperimentOptions & { readonly runtime: Runtime },
): Promise<ExperimentResult> {
  const { runtime, ...rest } = options;
  const { runExperimentWith } = await import("./experiment/run-experiment.ts");
  return runExperimentWith(experiment, { ...rest, services: runtime });
}

/**
 * Compiles the graph that runs the cycles of an experiment, for an Agent Server or `langgraph dev`. Its input is
 * `{ config }`, the config of one run.
 *
 * @param options.logFolder default: `logs` in the working directory
 */
export async function compileExperiment(
  runtime: Runtime,
  options: { readonly logFolder?: string } = {},
): Promise<ExperimentGraph> {
  const { compileExperimentWith } = await import("./experiment/cycle/experiment-graph.ts");
  const logFolder = resolve(options.logFolder ?? "logs");
  return compileExperimentWith(runtime, { logFolder }).graph;
}

/** Milliseconds after which idle tool servers are stopped when there is no runtime to close. */
const serversIdleMs = 5_000;

let withoutDatabase: Promise<CompileServices> | undefined;

/** Shared by all calls without a runtime. */
function servicesWithoutDatabase(): Promise<CompileServices> {
  withoutDatabase ??= createServices({}, serversIdleMs).then(({ services }) => services);
  return withoutDatabase;
}

/** The services of a runtime apart from its database. Closing any runtime made from them closes them. */
export interface PreparedServices {
  /** With memories in this process. */
  readonly services: CompileServices & Pick<Runtime, "memory">;
  readonly memoryIn: LazyMemories["memoryIn"];
  readonly close: () => Promise<void>;
}

/**
 * Creates the services of a runtime apart from its database. A runtime that only checks an agent and the one that runs
 * it can share them, and so the tool servers started.
 */
export function prepareServices(options: RuntimeOptions = {}): Promise<PreparedServices> {
  return createServices(options);
}

async function createServices(options: RuntimeOptions, idleMs?: number): Promise<PreparedServices> {
  const [
    { createModels },
    { createBuiltinTools },
    { createToolRegistry },
    { createAgentRegistry },
    { createSecrets, environmentSecrets },
    { createToolServers },
    { createSandbox },
    { cachedEmbeddings },
    { createWordEmbeddings },
    { createMemoryBlobs },
  ] = await Promise.all([
    import("./models/create-models.ts"),
    import("./tools/builtins/create-builtin-tools.ts"),
    import("./tools/registry.ts"),
    import("./compile/agent-registry.ts"),
    import("./tools/secrets.ts"),
    import("./tools/mcp/create-tool-servers.ts"),
    import("./tools/sandbox/create-sandbox.ts"),
    import("./models/embeddings/embeddings.ts"),
    import("./models/embeddings/word-embeddings.ts"),
    import("./compile/attachments/memory-blobs.ts"),
  ]);
  const { defaultModel, clock = systemClock, env = process.env } = options;
  const allowed = (env["STRATAGRAPH_HTTP_ALLOW"] ?? "").split(",").map((host) => host.trim());
  const httpAllow = options.httpAllow ?? allowed.filter((host) => host !== "");
  const secrets = createSecrets(options.secrets ?? environmentSecrets(env));
  const sandbox = options.sandbox ?? createSandbox();
  const servers = createToolServers({ secrets, clock, ...(idleMs !== undefined && { idleMs }) });
  const { tenantId, memoryEmbeddings, modelOptions } = options;
  const memories = lazyMemories({ ...modelOptions, env, clock, tenantId, memoryEmbeddings });
  const services: PreparedServices["services"] = {
    clock,
    ids: options.ids ?? systemIds,
    models:
      options.models ??
      createModels({
        ...modelOptions,
        env,
        clock,
        ...(defaultModel !== undefined && { defaultModel }),
      }),
    tools: createToolRegistry([
      ...createBuiltinTools({
        root: options.root ?? process.cwd(),
        clock,
        secrets,
        sandbox,
        httpAllow,
      }),
      ...(options.tools ?? []),
    ]),
    agents: createAgentRegistry(options.agents ?? []),
    rails: options.rails ?? [],
    embeddings: cachedEmbeddings(options.embeddings ?? createWordEmbeddings()),
    secrets,
    sandbox,
    servers,
    blobs: createMemoryBlobs(),
    httpAllow,
    memory: memories.memory,
    communityTool: async (spec) => {
      const { loadCommunityTool } = await import("./tools/community.ts");
      return loadCommunityTool(spec, { secrets });
    },
  };
  return {
    services,
    memoryIn: memories.memoryIn,
    close: async () => {
      await Promise.all([
        servers.close(),
        memories.close(),
        ...(options.sandbox === undefined ? [sandbox.close()] : []),
      ]);
    },
  };
}

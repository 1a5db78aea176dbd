import type { CompileServices } from "./compile/compile-agent.ts";
import { resolve } from "node:path";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { systemClock, systemIds, type Clock, type IdSource } from "./clock.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { PlannerOptions } from "./definition/define-planner.ts";
import type { Rail } from "./definition/rail.ts";
import type { AgentTool } from "./definition/tool/tool.ts";
import type { ModelSource } from "./models/agent-model.ts";
import type { CreateModelsOptions } from "./models/create-models.ts";
import type { Embeddings } from "./models/embeddings/embeddings.ts";
import type { DurableSaver } from "./durable-saver.ts";
import type { Experiment } from "./experiment/config/load-experiment.ts";
import type { ExperimentGraph } from "./experiment/cycle/experiment-graph.ts";
import type { ExperimentMemory } from "./experiment/memory/run-memory.ts";
import type { ExperimentResult, RunExperimentOptions } from "./experiment/run-experiment.ts";
import type { ExecuteOptions, ExecuteResult } from "./runtime/execute-agent.ts";
import { lazyThreads, type Threads } from "./runtime/threads/threads.ts";
import { type LazyMemories, lazyMemories } from "./memory/lazy-memories.ts";
import type { Memory } from "./memory/memory.ts";
import { type ThreadServices, watchJournal } from "./runtime/threads/services.ts";
import type { HttpAllow } from "./tools/builtins/http/allow-list.ts";
import type { ThreadFences } from "./storage/tenant-pool.ts";
import type { Sandbox } from "./tools/sandbox/sandbox.ts";
import type { SecretSource } from "./tools/secrets.ts";

// Modules that run agents are imported on first use, so that importing the package stays cheap.

export interface RuntimeOptions {
  /** URL of the Postgres database that stores threads. Default: `DATABASE_URL` of `env`. */
  readonly databaseUrl?: string;
  /** Folder of the embedded database, used without a `databaseUrl`. Default: `.stratagraph`. */
  readonly folder?: string;
  /** Schema of the tables, made if need be. Default `stratagraph`, into which tables of earlier versions are moved. */
  readonly schema?: string;
  /** Maximum Postgres connections of this process. Default 10; the embedded database has one. */
  readonly maxConnections?: number;
  /** Approximate bytes of stored values that the checkpointer caches between steps and reads. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** A saver to use instead of a database; `false` stores nothing. */
  readonly checkpointer?: BaseCheckpointSaver | false;
  /** Tools that definitions may name, in addition to the built-in ones. */
  readonly tools?: readonly AgentTool[];
  /** Agents that agent nodes of definitions may name. */
  readonly agents?: readonly AgentDefinition[];
  /** Custom rails that definitions may name, in addition to their own. */
  readonly rails?: readonly Rail[];
  /** The folder that the built-in file tools are confined to. Default: the working directory. */
  readonly root?: string;
  /**
   * Hosts that the built-in `http_get` may call, and private ones from which files may be attached by URL. Default: the
   * comma-separated `STRATAGRAPH_HTTP_ALLOW`, else none.
   */
  readonly httpAllow?: readonly HttpAllow[];
  /** The source of `{{secret:NAME}}` references. Default: `env`. */
  readonly secrets?: SecretSource;
  /** The sandbox of sandboxed tools and `run_code`. Default: QuickJS in a worker thread. */
  readonly sandbox?: Sandbox;
  /** Embeddings for tool selection and for rails. Default: the word vectors bundled with the package. */
  readonly embeddings?: Embeddings;
  /**
   * Embeddings of memories for definitions that name none; null for search by words. Default: `STRATAGRAPH_EMBEDDINGS`
   * (of `env`, else of the process), else the local encoder if it is installed.
   */
  readonly memoryEmbeddings?: Embeddings | null;
  /** The tenant whose threads and memories these are: a UUID in lower case. Default: that of a single tenant. */
  readonly tenantId?: string;
  /** Claims under which threads are written. Default: none is checked. */
  readonly fences?: ThreadFences;
  /** The `provider:model` of definitions that name none. */
  readonly defaultModel?: string;
  /** Additional providers, chat model instances, prices and retries. */
  readonly modelOptions?: Omit<CreateModelsOptions, "env" | "clock" | "defaultModel">;
  /** The source of models; replaces `defaultModel` and `modelOptions`. */
  readonly models?: ModelSource;
  /**
   * Environment variables: keys and secrets, `DATABASE_URL`, `STRATAGRAPH_MODEL`, `STRATAGRAPH_EMBEDDINGS`,
   * `STRATAGRAPH_HTTP_ALLOW`. Default: `process.env`.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

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
  /** The same memories as a LangGraph store, which tools and graphs in them get by `getStore()`. */
  readonly store: BaseStore;
  /** Closes the database, the tool servers, the sandbox and the local encoder. */
  close(): Promise<void>;
}

/**
 * Creates a runtime. The embedded database is opened, and its folder locked, on first use.
 *
 * @throws DatabaseConnectionError when the Postgres server does not respond; StorageOptionError; ToolClashError and
 * AgentClashError when two tools or two agents share a name
 */
export async function createRuntime(
  options: RuntimeOptions & { readonly prepared?: PreparedServices } = {},
): Promise<Runtime> {
  const { services, memoryIn, close } = options.prepared ?? (await createServices(options));
  const { MemoryBaseStore } = await import("./memory/base-store.ts");
  if (options.checkpointer !== undefined) {
    const checkpointer = options.checkpointer === false ? undefined : options.checkpointer;
    const blobs = (checkpointer as Partial<DurableSaver> | undefined)?.blobs ?? services.blobs;
    const run: CompileServices = { ...services, checkpointer, blobs };
    const { createInMemoryExperimentMemory } = await import("./experiment/memory/in-memory.ts");
    const experimentMemory = createInMemoryExperimentMemory();
    const memory = services.memory;
    const store = new MemoryBaseStore(() => memory(undefined));
    return withThreads({ ...run, memory, store, experimentMemory }, {}, close);
  }
  const url = options.databaseUrl ?? (options.env ?? process.env)["DATABASE_URL"];
  const { openDatabase } = await import("./storage/database.ts");
  const { openCheckpointer } = await import("../checkpointers/postgres.ts");
  const { lockThread } = await import("./storage/thread-lock.ts");
  const { DatabaseToolJournal } = await import("./storage/tool-journal.ts");
  const { DatabaseExperimentMemory } = await import("./experiment/memory/database-memory.ts");
  const database = await openDatabase({
    ...(url && { url }),
    ...(options.folder !== undefined && { folder: options.folder }),
    ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
  }).catch(async (thrown: unknown) => {
    await close();
    throw thrown;
  });
  try {
    const { schema = "stratagraph", tenantId, fences, cacheBytes } = options;
    const place = {
      schema,
      ...(tenantId !== undefined && { tenantId }),
      ...(fences && { fences }),
    };
    const cache = cacheBytes !== undefined && { cacheBytes };
    const checkpointer = await openCheckpointer(database, { ...place, ...cache });
    const stored = new DatabaseToolJournal(database.pool, {
      ...place,
      serde: checkpointer.serde,
      flush: (threadId) => checkpointer.flush(threadId),
    });
    const journal = watchJournal(stored);
    const memory = memoryIn(async () => {
      const { openDatabaseMemory } = await import("./storage/memory/database-memory.ts");
      return openDatabaseMemory(database, { schema, clock: services.clock });
    });
    const store = new MemoryBaseStore(() => memory(undefined));
    const run = {
      ...services,
      checkpointer,
      blobs: checkpointer.blobs,
      journal,
      memory,
      store,
      lockThread: (threadId: string) => lockThread(database, threadId, place),
    };
    const beside = { journal, forget: (threadId: string) => stored.forget(threadId) };
    const experimentMemory = new DatabaseExperimentMemory(database.pool, place);
    return withThreads({ ...run, experimentMemory }, beside, async () => {
      await Promise.all([close(), database.close()]);
    });
  } catch (thrown) {
    await Promise.all([close(), database.close()]);
    throw thrown;
  }
}

function withThreads(
  run: CompileServices & Pick<Runtime, "experimentMemory" | "memory" | "store">,
  beside: Pick<ThreadServices, "journal" | "forget">,
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

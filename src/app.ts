import type { CompileServices } from "./compile/compile-agent.ts";
import { resolve } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { systemClock, systemIds, type Clock, type IdSource } from "./clock.ts";
import type { AgentGraph } from "./compile/agent-graph.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { PlannerOptions } from "./definition/define-planner.ts";
import type { Rail } from "./definition/rail.ts";
import type { AgentTool } from "./definition/tool/tool.ts";
import type { ModelSource } from "./models/agent-model.ts";
import type { CreateModelsOptions } from "./models/create-models.ts";
import type { Embeddings } from "./models/embeddings/embeddings.ts";
import type { Experiment } from "./experiment/config/load-experiment.ts";
import type { ExperimentGraph } from "./experiment/cycle/experiment-graph.ts";
import type { ExperimentMemory } from "./experiment/memory/run-memory.ts";
import type { ExperimentResult, RunExperimentOptions } from "./experiment/run-experiment.ts";
import type { ExecuteOptions, ExecuteResult } from "./runtime/execute-agent.ts";
import { lazyThreads, type Threads } from "./runtime/threads/threads.ts";
import { type ThreadServices, watchJournal } from "./runtime/threads/services.ts";
import type { HttpAllow } from "./tools/builtins/http/allow-list.ts";
import type { Sandbox } from "./tools/sandbox/sandbox.ts";
import type { SecretSource } from "./tools/secrets.ts";

// What runs agents is loaded when it is first used, so that importing the package costs little more than its types.

export interface RuntimeOptions {
  /** Postgres to keep threads in. Default: `DATABASE_URL` of `env`. */
  readonly databaseUrl?: string;
  /** Folder of the embedded database, used when there is no `databaseUrl`. Default: `.stratagraph`. */
  readonly folder?: string;
  /** Sessions on Postgres at most, in this process. Default 10; the embedded database has one. */
  readonly maxConnections?: number;
  /** Bytes of stored values, about, that the checkpointer remembers between steps and readings. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** A saver to use instead of a database; `false` keeps nothing. */
  readonly checkpointer?: BaseCheckpointSaver | false;
  /** Tools that definitions may name, in addition to the built-in ones. */
  readonly tools?: readonly AgentTool[];
  /** Agents that agent nodes of definitions may name. */
  readonly agents?: readonly AgentDefinition[];
  /** Custom rails that definitions may name, in addition to their own. */
  readonly rails?: readonly Rail[];
  /** The folder that the builtin file tools are confined to. Default: the working directory. */
  readonly root?: string;
  /** The hosts that the builtin `http_get` may ask. Default: those in `STRATAGRAPH_HTTP_ALLOW`, between commas; else none. */
  readonly httpAllow?: readonly HttpAllow[];
  /** Where references `{{secret:NAME}}` are looked up. Default: `env`. */
  readonly secrets?: SecretSource;
  /** Where sandboxed tools and `run_code` run. Default: QuickJS in a worker thread. */
  readonly sandbox?: Sandbox;
  /** What turns texts into vectors, to choose among many tools and for rails. Default: word vectors that come with the package. */
  readonly embeddings?: Embeddings;
  /** `provider:model` for definitions that name none. */
  readonly defaultModel?: string;
  /** Further providers, ready chat models, prices, retries. */
  readonly modelOptions?: Omit<CreateModelsOptions, "env" | "clock" | "defaultModel">;
  /** Where models come from instead of all that. */
  readonly models?: ModelSource;
  /**
   * Environment variables: keys and secrets, `DATABASE_URL`, `STRATAGRAPH_MODEL`, `STRATAGRAPH_HTTP_ALLOW`. Default:
   * `process.env`.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** What agents run on: models, tools, and the database that keeps their threads. Make one for each process. */
export interface Runtime extends CompileServices {
  /** The threads it keeps: their past, and other ways on from it. */
  readonly threads: Threads;
  /** What agents of experiments keep from cycle to cycle: in the database, or without one in this process. */
  readonly experimentMemory: ExperimentMemory;
  /** Lets go of the database, and ends the servers and the sandbox. */
  close(): Promise<void>;
}

/**
 * The embedded database is opened, and its folder locked, when it is first used.
 *
 * @throws DatabaseConnectionError when the Postgres server does not answer; StorageOptionError; ToolClashError and
 * AgentClashError when two tools or two agents have one name
 */
export async function createRuntime(
  options: RuntimeOptions & { readonly prepared?: PreparedServices } = {},
): Promise<Runtime> {
  const { services, close } = options.prepared ?? (await createServices(options));
  if (options.checkpointer !== undefined) {
    const checkpointer = options.checkpointer === false ? undefined : options.checkpointer;
    const run: CompileServices = { ...services, checkpointer };
    const { createInMemoryExperimentMemory } = await import("./experiment/memory/in-memory.ts");
    const experimentMemory = createInMemoryExperimentMemory();
    return withThreads({ ...run, experimentMemory }, {}, close);
  }
  const env = options.env ?? process.env;
  const url = options.databaseUrl ?? env["DATABASE_URL"];
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
    const checkpointer = await openCheckpointer(
      database,
      options.cacheBytes === undefined ? {} : { cacheBytes: options.cacheBytes },
    );
    const stored = new DatabaseToolJournal(database.pool, {
      serde: checkpointer.serde,
      flush: (threadId) => checkpointer.flush(threadId),
    });
    const journal = watchJournal(stored);
    const run: CompileServices = {
      ...services,
      checkpointer,
      journal,
      lockThread: (threadId) => lockThread(database, threadId),
    };
    const beside = { journal, forget: (threadId: string) => stored.forget(threadId) };
    const experimentMemory = new DatabaseExperimentMemory(database.pool);
    return withThreads({ ...run, experimentMemory }, beside, async () => {
      await Promise.all([close(), database.close()]);
    });
  } catch (thrown) {
    await Promise.all([close(), database.close()]);
    throw thrown;
  }
}

function withThreads(
  run: CompileServices & Pick<Runtime, "experimentMemory">,
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
 * Compiles an agent into a plain LangGraph graph. Without a runtime the graph has no checkpointer of its own, so that
 * an Agent Server or `langgraph dev` puts in theirs.
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
 * Compiles a planner into a plain LangGraph graph: a task is broken down, done by workers, joined and judged. The same
 * as {@link compileAgent} of what `definePlanner` gives, which `executeAgent` runs.
 *
 * @throws InvalidDefinitionError, and what {@link compileAgent} throws
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
 * Runs one turn of an agent, or with `input: null` resumes the thread's turn: one that waits for people (with
 * their answers, or without, so that a time that is over takes effect), an unfinished one, or a cancelled one. A turn
 * that goes wrong comes back as FAILED with its cause; what the caller did wrong is thrown, and nothing was written then.
 * Without a runtime nothing is kept.
 *
 * @throws InvalidInputError, InvalidThreadIdError, InvalidRunOptionError, UnfinishedTurnError, NothingToResumeError,
 * NoCheckpointerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, ApprovalMismatchError, NothingToAnswerError,
 * ForeignThreadError, DefinitionChangedError, RecoveryNeededError, ThreadBusyError, ThreadLockedError, and what
 * {@link compileAgent} throws; HandlerMutationError, HandlerReturnError and HandlerTierError for a stateful tool that
 * breaks its contract; errors of the database, such as DatabaseFullError,
 * when a checkpoint cannot be written or the thread's lock is lost: the thread then goes on from what was written before
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
 * Runs an experiment: every run of it for all its cycles, or what is left of them. Everything is checked before anything
 * is written; what goes wrong in a run later comes back with it as `failed`.
 *
 * @throws NoCheckpointerError where the runtime keeps nothing; ExperimentOptionError, ExperimentChangedError,
 * LogExistsError, LogChangedError, ExperimentToolError, and what resolving models, tools and secrets throws
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
 * Compiles the graph in which an experiment's cycles run, for an Agent Server or `langgraph dev`. It takes
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

/** Milliseconds after which idle servers are stopped if there is no runtime to close. */
const serversIdleMs = 5_000;

let withoutDatabase: Promise<CompileServices> | undefined;

/** Shared by all calls without a runtime. */
function servicesWithoutDatabase(): Promise<CompileServices> {
  withoutDatabase ??= createServices({}, serversIdleMs).then(({ services }) => services);
  return withoutDatabase;
}

/** The parts of a runtime apart from its database. Closing one of these runtimes closes it. */
export interface PreparedServices {
  readonly services: CompileServices;
  readonly close: () => Promise<void>;
}

/**
 * Creates the parts of a runtime apart from its database, for one runtime that only checks an agent and another that runs it:
 * servers that the one has started serve the other.
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
    { createSecrets },
    { environmentSecrets },
    { createToolServers },
    { createSandbox },
    { cachedEmbeddings },
    { createWordEmbeddings },
  ] = await Promise.all([
    import("./models/create-models.ts"),
    import("./tools/builtins/create-builtin-tools.ts"),
    import("./tools/registry.ts"),
    import("./compile/agent-registry.ts"),
    import("./tools/secrets.ts"),
    import("./tools/secrets.ts"),
    import("./tools/mcp/create-tool-servers.ts"),
    import("./tools/sandbox/create-sandbox.ts"),
    import("./models/embeddings/embeddings.ts"),
    import("./models/embeddings/word-embeddings.ts"),
  ]);
  const { defaultModel, clock = systemClock, env = process.env } = options;
  const httpAllow = options.httpAllow ?? hostsIn(env["STRATAGRAPH_HTTP_ALLOW"]);
  const secrets = createSecrets(options.secrets ?? environmentSecrets(env));
  const sandbox = options.sandbox ?? createSandbox();
  const servers = createToolServers({ secrets, clock, ...(idleMs !== undefined && { idleMs }) });
  const services: CompileServices = {
    clock,
    ids: options.ids ?? systemIds,
    models:
      options.models ??
      createModels({
        ...options.modelOptions,
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
    communityTool: async (spec) => {
      const { loadCommunityTool } = await import("./tools/community.ts");
      return loadCommunityTool(spec, { secrets });
    },
  };
  return {
    services,
    close: async () => {
      await Promise.all([
        servers.close(),
        ...(options.sandbox === undefined ? [sandbox.close()] : []),
      ]);
    },
  };
}

/** From a list between commas. */
function hostsIn(list = ""): readonly string[] {
  return list
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");
}

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { systemClock, systemIds, type Clock, type IdSource } from "./clock.ts";
import {
  compileAgentWith,
  type AgentGraph,
  type CompileServices,
} from "./compile/compile-agent.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { AgentTool } from "./definition/tool.ts";
import type { ModelSource } from "./models/agent-model.ts";
import { createModels } from "./models/create-models.ts";
import {
  executeAgentWith,
  type ExecuteOptions,
  type ExecuteResult,
} from "./runtime/execute-agent.ts";
import { createBuiltinTools } from "./tools/builtins/create-builtin-tools.ts";
import { createToolRegistry } from "./tools/registry.ts";

export interface RuntimeOptions {
  /** Postgres to keep threads in. Default: `DATABASE_URL` of `env`. */
  readonly databaseUrl?: string;
  /** Folder of the embedded database, used when there is no `databaseUrl`. Default: `.stratagraph`. */
  readonly folder?: string;
  /** A saver to use instead of a database; `false` keeps nothing. */
  readonly checkpointer?: BaseCheckpointSaver | false;
  /** Tools that definitions may name, beside the builtins. */
  readonly tools?: readonly AgentTool[];
  /** The folder that the builtin file tools are confined to. Default: the working directory. */
  readonly root?: string;
  /** `provider:model` for definitions that name none. */
  readonly defaultModel?: string;
  /** Where models come from instead of the providers. */
  readonly models?: ModelSource;
  /** Environment variables: keys, `DATABASE_URL`, `STRATAGRAPH_MODEL`. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** What agents run on: models, tools, and the database that keeps their threads. Make one for each process. */
export interface Runtime extends CompileServices {
  /** Lets go of the database. */
  close(): Promise<void>;
}

/**
 * @throws DatabaseConnectionError, FolderLockedError when the database cannot be used; ToolClashError when two tools
 * have one name
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const services = createServices(options);
  if (options.checkpointer !== undefined) {
    const checkpointer = options.checkpointer === false ? undefined : options.checkpointer;
    return { ...services, checkpointer, close: async () => {} };
  }
  const env = options.env ?? process.env;
  const url = options.databaseUrl ?? env["DATABASE_URL"];
  const { openDatabase } = await import("./storage/database.ts");
  const { openCheckpointer } = await import("../checkpointers/open.ts");
  const database = await openDatabase({
    ...(url && { url }),
    ...(options.folder !== undefined && { folder: options.folder }),
  });
  try {
    const checkpointer = await openCheckpointer(database);
    return { ...services, checkpointer, close: () => database.close() };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

/**
 * Compiles an agent into a plain LangGraph graph. Without a runtime the graph has no checkpointer of its own, so that
 * an Agent Server or `langgraph dev` puts in theirs.
 *
 * @throws what {@link compileAgentWith} throws
 */
export function compileAgent<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  runtime?: Runtime,
): Promise<AgentGraph> {
  return compileAgentWith(definition as AgentDefinition, runtime ?? ephemeralServices());
}

/**
 * Runs one turn of an agent. Without a runtime nothing is kept.
 *
 * @throws what {@link executeAgentWith} throws
 */
export function executeAgent<Input, Output, Exec, Attempt>(
  definition: AgentDefinition<Input, Output, Exec, Attempt>,
  input: NoInfer<Input> | null,
  options: ExecuteOptions & { readonly runtime?: Runtime } = {},
): Promise<ExecuteResult<Output, Exec, Attempt>> {
  const { runtime, ...rest } = options;
  return executeAgentWith(definition, input, {
    ...rest,
    services: runtime ?? ephemeralServices(),
  });
}

let ephemeral: CompileServices | undefined;

function ephemeralServices(): CompileServices {
  ephemeral ??= createServices({});
  return ephemeral;
}

function createServices(options: RuntimeOptions): CompileServices {
  const clock = options.clock ?? systemClock;
  const env = options.env ?? process.env;
  const { defaultModel } = options;
  return {
    clock,
    ids: options.ids ?? systemIds,
    models:
      options.models ??
      createModels({ env, clock, ...(defaultModel !== undefined && { defaultModel }) }),
    tools: createToolRegistry([
      ...createBuiltinTools({ root: options.root ?? process.cwd(), clock }),
      ...(options.tools ?? []),
    ]),
  };
}

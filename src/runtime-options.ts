import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { Clock, IdSource } from "./clock.ts";
import type { AgentDefinition } from "./definition/agent-definition.ts";
import type { Rail } from "./definition/rail.ts";
import type { AgentTool } from "./definition/tool/tool.ts";
import type { ModelSource } from "./models/agent-model.ts";
import type { CreateModelsOptions } from "./models/create-models.ts";
import type { Embeddings } from "./models/embeddings/embeddings.ts";
import type { Database } from "./storage/database.ts";
import type { ThreadFences } from "./storage/tenant-pool.ts";
import type { FileRoot } from "./tools/builtins/create-builtin-tools.ts";
import type { HttpAllow } from "./tools/builtins/http/allow-list.ts";
import type { Sandbox } from "./tools/sandbox/sandbox.ts";
import type { SecretSource } from "./tools/secrets.ts";

/** Options of `createRuntime`. */
export interface RuntimeOptions {
  /** URL of the Postgres database that stores threads. Default: `DATABASE_URL` of `env`. */
  readonly databaseUrl?: string;
  /** Folder of the embedded database, used without a `databaseUrl`. Default: `.stratagraph`. */
  readonly folder?: string;
  /** A database to use instead. It stays the caller's: closing the runtime leaves it open. */
  readonly database?: Database;
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
  /**
   * The folder that the built-in file tools are confined to, or a function that returns that of an agent by its name.
   * Default: the working directory.
   */
  readonly root?: FileRoot;
  /**
   * Hosts that the built-in `http_get` may call, and private ones from which files may be attached by URL. Default: the
   * comma-separated `STRATAGRAPH_HTTP_ALLOW`, else none.
   */
  readonly httpAllow?: readonly HttpAllow[];
  /** The source of `{{secret:NAME}}` references. Default: `env`. */
  readonly secrets?: SecretSource;
  /** The keys that stored values are encrypted with. Default: `STRATAGRAPH_ENCRYPTION_KEYS` of `env`, else none. */
  readonly encryption?: { readonly keys: string };
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
   * `STRATAGRAPH_HTTP_ALLOW`, `STRATAGRAPH_ENCRYPTION_KEYS`. Default: `process.env`.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether the database gets a row for every model call, tool call and turn. Default true. */
  readonly recordCalls?: boolean;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

import type {
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type {
  ChannelVersions,
  Checkpoint,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { Pool } from "pg";
import type { DatabaseClient, DatabasePool } from "../src/storage/pool.ts";
import { nextChannelVersion } from "./channel-version.ts";
import { toJsonb } from "./jsonb.ts";

export interface PostgresCheckpointerOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `public`. */
  schema?: string;
  /** How values become bytes. Default: LangGraph's. */
  serde?: SerializerProtocol;
}

/** Any number; the same in every process that sets up checkpoint tables, whatever the schema. */
const SETUP_LOCK = 7_221_934_105;

/**
 * A LangGraph checkpointer on Postgres or PGlite. It reads and continues threads that the stock saver wrote, and stores
 * the right state after time travel, where the stock saver keeps the value of the branch that was there first.
 *
 * The tables are made by the first call that needs them; `setup()` may be called to have it done at a time of one's
 * choosing, any number of times and by any number of processes at once. The pool stays the caller's: `end()` closes it
 * for all its users.
 */
export class PostgresCheckpointer extends PostgresSaver {
  readonly #pool: DatabasePool;
  readonly #schema: string;
  #setUp: Promise<void> | undefined;

  constructor(pool: DatabasePool, options: PostgresCheckpointerOptions = {}) {
    const schema = (options.schema ?? "public").replaceAll('"', '""'); // The stock saver writes the quotes around it.
    super(asPgPool(pool), options.serde, { schema });
    this.#pool = pool;
    this.#schema = schema;
  }

  // The base class is declared for numbers, and LangGraph takes either; its own Postgres saver for Python has text too.
  override getNextVersion(current: number | undefined): number {
    return nextChannelVersion(current) as unknown as number;
  }

  override setup(): Promise<void> {
    this.#setUp ??= this.#migrate().catch((error: unknown) => {
      this.#setUp = undefined;
      throw error;
    });
    return this.#setUp;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    await this.setup();
    return super.getTuple(config);
  }

  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    await this.setup();
    yield* super.list(config, options);
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    await this.setup();
    return super.put(config, checkpoint, metadata, newVersions);
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
  ): Promise<void> {
    await this.setup();
    return super.putWrites(config, writes, taskId);
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.setup();
    return super.deleteThread(threadId);
  }

  // oxlint-disable no-underscore-dangle -- the base class names its hook so.
  protected override async _dumpMetadata(metadata: CheckpointMetadata): Promise<unknown> {
    return toJsonb(await super._dumpMetadata(metadata));
  }
  // oxlint-enable no-underscore-dangle

  /** The stock migrations, one process at a time. They run on the session that holds the lock: PGlite has no other. */
  async #migrate(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await client.query("select pg_advisory_lock($1)", [SETUP_LOCK]);
      try {
        await new PostgresSaver(asPgPool(poolOf(client)), undefined, {
          schema: this.#schema,
        }).setup();
      } finally {
        await client.query("select pg_advisory_unlock($1)", [SETUP_LOCK]);
      }
    } finally {
      client.release();
    }
  }
}

/** The stock saver is typed for a whole `pg.Pool` and uses `connect`, `query` and `end` alone. */
function asPgPool(pool: DatabasePool): Pool {
  return pool as unknown as Pool;
}

/** A client that its user may release without losing it. */
function poolOf(client: DatabaseClient): DatabasePool {
  const query: DatabaseClient["query"] = (text, values) => client.query(text, values);
  return { query, connect: async () => ({ query, release: () => {} }), end: async () => {} };
}

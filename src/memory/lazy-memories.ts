import type { CreateEmbeddingsOptions } from "../models/embeddings/create-embeddings.ts";
import type { Embeddings } from "../models/embeddings/embeddings.ts";
import type { Memory } from "./memory.ts";
import type { MemoryDatabase } from "./store.ts";

/** The memories of a runtime, whose modules, database and embeddings are loaded by the first use. */
export interface LazyMemories {
  /** Returns memories in a database, which the first call opens. */
  readonly memoryIn: (open: () => Promise<MemoryDatabase>) => (model?: string) => Promise<Memory>;
  /** Memories in this process. */
  readonly memory: (model?: string) => Promise<Memory>;
  /** Ends the thread of the local encoder. */
  close(): Promise<void>;
}

/**
 * Prepares the memories of a runtime. Loads nothing.
 *
 * @param of.env STRATAGRAPH_EMBEDDINGS is read from the process if it is not there
 * @param of.tenantId default: the tenant of a process that serves only one
 */
export function lazyMemories(
  of: Omit<CreateEmbeddingsOptions, "default"> & {
    readonly tenantId?: string | undefined;
    readonly memoryEmbeddings?: Embeddings | null | undefined;
  },
): LazyMemories {
  const { clock, tenantId, memoryEmbeddings } = of;
  const loadSource = async () => {
    const { createEmbeddings } = await import("../models/embeddings/create-embeddings.ts");
    const { STRATAGRAPH_EMBEDDINGS } = process.env;
    const env = { STRATAGRAPH_EMBEDDINGS, ...of.env };
    return createEmbeddings({ ...of, env, default: memoryEmbeddings });
  };
  let source: ReturnType<typeof loadSource> | undefined;

  const memoryIn: LazyMemories["memoryIn"] = (open) => {
    // They share a store; those of one embedding model share an index.
    const make = async () => {
      const { createMemory } = await import("./create-memory.ts");
      const { defaultTenant } = await import("./store.ts");
      const embeddingSource = await (source ??= loadSource());
      const store = (await open()).forTenant(tenantId ?? defaultTenant);
      const known = new Map<string | null, Memory>();
      return async (model: string | undefined) => {
        const embeddings = await embeddingSource.resolve(model);
        const id = embeddings?.id ?? null;
        const memory = known.get(id) ?? createMemory({ store, embeddings, clock });
        known.set(id, memory);
        return memory;
      };
    };
    let made: ReturnType<typeof make> | undefined;
    return async (model) => (await (made ??= make()))(model);
  };

  return {
    memoryIn,
    memory: memoryIn(async () => {
      const { createInMemoryMemory } = await import("./in-memory-store.ts");
      const { systemIds: ids } = await import("../clock.ts");
      // Ids of entries are UUIDs, whatever those of messages are.
      return createInMemoryMemory({ clock, ids });
    }),
    close: async () => (await source)?.close(),
  };
}

import type { MemoryVector } from "../../memory/entry.ts";
import type { Queryable } from "../pool.ts";

/** A transaction of a tenant, and what its statements need. */
export interface TenantTransaction {
  readonly client: Queryable;
  /** Quoted name of the schema. */
  readonly schema: string;
  readonly tenantId: string;
  /** ISO 8601. */
  readonly now: string;
  /** Where vectors are searched; null where they are compared one by one. */
  readonly vectors: VectorTable | null;
}

/** The table of the vector extension, which is written with the entries. */
export interface VectorTable {
  /** Writes the vectors of entries that are there; null removes one. */
  write(at: TenantTransaction, vectors: ReadonlyMap<string, MemoryVector | null>): Promise<void>;
}

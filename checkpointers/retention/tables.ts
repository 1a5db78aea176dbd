import type { DatabasePool } from "../../src/storage/pool.ts";

/** Where checkpoints are stored. */
export interface CheckpointTables {
  readonly pool: DatabasePool;
  /** As it stands in SQL, with its quotes. */
  readonly schema: string;
}

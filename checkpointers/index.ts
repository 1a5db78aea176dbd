export {
  CheckpointConfigError,
  CorruptCheckpointError,
  CorruptDefinitionError,
  DeltaForkError,
  InvalidPageError,
  InvalidRetentionError,
  NoCheckpointError,
} from "./errors.ts";
export type { ForkedThread } from "./fork-thread.ts";
export { openCheckpointer } from "./open.ts";
export { pinCheckpointer } from "./pin.ts";
export { PostgresCheckpointer, type PostgresCheckpointerOptions } from "./postgres.ts";
export type { Pruned, PruneOptions } from "./retention/prune.ts";
export type {
  CheckpointSummary,
  Page,
  PageOptions,
  ThreadPageOptions,
  ThreadSummary,
} from "./summaries.ts";
export { InvalidExportError, ThreadExistsError } from "./transfer/errors.ts";
export type { DamagedCheckpoint, Verification } from "./verify-thread.ts";

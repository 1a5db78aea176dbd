export {
  CheckpointConfigError,
  CorruptBlobError,
  CorruptCheckpointError,
  CorruptDefinitionError,
  DeltaForkError,
  InvalidExportError,
  InvalidPageError,
  InvalidRetentionError,
  NoCheckpointError,
  ThreadExistsError,
} from "./errors.ts";
export type { ForkedThread } from "./threads/fork-thread.ts";
export {
  openCheckpointer,
  PostgresCheckpointer,
  type PostgresCheckpointerOptions,
} from "./postgres.ts";
export { pinCheckpointer } from "./pin.ts";
export type {
  BlobStore,
  CheckpointSummary,
  DamagedCheckpoint,
  DurableSaver,
  Page,
  PageOptions,
  PruneOptions,
  PruneResult,
  ThreadListOptions,
  ThreadSummary,
  ThreadVerification,
  VerifyOptions,
} from "../src/durable-saver.ts";
export {
  type EncryptionKey,
  InvalidEncryptionKeyError,
  parseEncryptionKeys,
} from "../src/storage/encryption/encryption-keys.ts";
export {
  createValueCipher,
  MissingEncryptionKeyError,
  SealedValueError,
  type ValueCipher,
} from "../src/storage/encryption/value-cipher.ts";

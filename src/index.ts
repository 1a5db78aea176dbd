export {
  CorruptBlobError,
  CorruptCheckpointError,
  CorruptDefinitionError,
  InvalidExportError,
  InvalidRetentionError,
  NoCheckpointError,
  ThreadExistsError,
} from "../checkpointers/errors.ts";
export { pinCheckpointer } from "../checkpointers/pin.ts";
export {
  compileAgent,
  compileExperiment,
  compilePlanner,
  createRuntime,
  executeAgent,
  runExperiment,
  type Runtime,
  type RuntimeOptions,
} from "./app.ts";
export { serveAgent, type ServeAgentOptions } from "./serve-agent.ts";
export {
  InvalidProxyError,
  ListenError,
  ServerClosedError,
  UnprotectedServerError,
} from "./server/errors.ts";
export { createServer, type PlatformServer, type ServerOptions } from "./create-server.ts";
export { createWorker, type PlatformWorker, type WorkerOptions } from "./create-worker.ts";
export type { Clock, IdSource } from "./clock.ts";
export { AttachmentError } from "./compile/attachments/check-attachment.ts";
export type { Attachment } from "./compile/attachments/read-attachments.ts";
export type { AgentGraph, Durability } from "./compile/agent-graph.ts";
export {
  AmbiguousAnswerError,
  ApprovalMismatchError,
  InactiveAgentError,
  InitialStateError,
  InvalidAnswerError,
  InvalidInputError,
  NothingToAnswerError,
  TurnCancelledError,
  TurnLimitError,
  TurnTimeoutError,
  UnfinishedTurnError,
  UnknownInterruptError,
} from "./compile/errors.ts";
export {
  AmbiguousToolResultError,
  InvalidToolResultError,
  UnknownToolCallError,
  WrongAnswerKindError,
} from "./compile/guards/tool-results.ts";
export { InvalidStateUpdateError, type UpdateProblem } from "./compile/guards/updates.ts";
export { ThreadBusyError } from "./compile/run/acquire-thread.ts";
export { ForeignThreadError } from "./compile/guards/threads.ts";
export {
  AgentClashError,
  AgentDepthError,
  AgentRecursionError,
  InactiveSubagentError,
  UnknownAgentError,
} from "./compile/subagent-errors.ts";
export {
  buildReasoningContext,
  type BuildReasoningContextOptions,
  type SummarizeOptions,
} from "./context/build-reasoning-context.ts";
export { compressActions, InvalidRelevanceError } from "./context/call-lines.ts";
export {
  type ContextMetadata,
  ContextOverflowError,
  type ContextSettings,
  type ContextTokens,
  type Goal,
  InvalidContextOptionError,
  type MessageFidelity,
  type ReasoningContext,
  type ResultSummaryMade,
  type ShortTermPolicy,
  type StepFidelity,
  type StepShown,
  type Utilization,
} from "./context/reasoning-context.ts";
export { preview, type PreviewOptions } from "./context/preview/preview.ts";
export {
  createResultSummaryCache,
  type ResultSummaryCache,
} from "./context/summarise/result-summary.ts";
export type { AgentBehaviour, AgentDefinition } from "./definition/agent-definition.ts";
export type { DefinitionChange, DefinitionDocument } from "./definition/definition-hash.ts";
export {
  defineAgent,
  type AgentOptions,
  type CommunityReference,
  type ClientToolReference,
  type ServerReference,
  type ToolReference,
} from "./definition/define-agent.ts";
export { definePlanner, type PlannerOptions } from "./definition/define-planner.ts";
export { defineRail, InvalidRailError, type RailOptions } from "./definition/define-rail.ts";
export { defineTool } from "./definition/tool/define-tool.ts";
export {
  type CodeWorker,
  defineWorker,
  InvalidWorkerError,
  type WorkerTask,
} from "./definition/worker.ts";
export type { JsonSchema } from "./definition/schema/json-schema.ts";
export { InvalidToolError } from "./definition/tool/tool-options.ts";
export { loadAgent } from "./definition/load/load-agent.ts";
export { DefinitionFileError } from "./definition/load/parse-definition.ts";
export { InvalidDefinitionError, type DefinitionProblem } from "./definition/check/problems.ts";
export {
  type Rail,
  type RailContext,
  type RailFinding,
  RailFindingError,
  type RailSpan,
  type RailSubject,
  type ShortFinding,
} from "./definition/rail.ts";
export type { AgentSpec, AgentSpecInput, LlmConfig } from "./definition/schema/agent.ts";
export type {
  AgentTool,
  ToolContext,
  ToolDefinition,
  ToolExecution,
  ToolPermission,
  ToolTransport,
} from "./definition/tool/tool.ts";
export { StratagraphError, type ErrorKind } from "./errors.ts";
export {
  defineExperiment,
  loadExperiment,
  type Experiment,
} from "./experiment/config/load-experiment.ts";
export type { ExperimentInput } from "./experiment/config/experiment-schema.ts";
export {
  CyclePromptError,
  ExperimentChangedError,
  ExperimentInputError,
  ExperimentOptionError,
  ExperimentToolError,
  InvalidExperimentError,
  LogAccessError,
  LogChangedError,
  LogExistsError,
  MemoryChangedError,
  MemoryExistsError,
} from "./experiment/errors.ts";
export type { ExperimentModelOptions, RunSpec, RunVariant } from "./experiment/config/run-spec.ts";
export type { ExperimentGraph } from "./experiment/cycle/experiment-graph.ts";
export type {
  CycleMetrics,
  LogEntry,
  LogEventType,
  LogMessage,
} from "./experiment/log/log-entry.ts";
export type { ExperimentMemory, RunMemory } from "./experiment/memory/run-memory.ts";
export type { ExperimentResult, RunExperimentOptions } from "./experiment/run-experiment.ts";
export type { ExperimentEvent, RunProgress } from "./experiment/run-progress.ts";
export { MemoryBaseStore } from "./memory/base-store.ts";
export { createMemory, type CreateMemoryOptions } from "./memory/create-memory.ts";
export type {
  MemoryEntry,
  MemoryMetadata,
  MemorySource,
  MemoryType,
  MemoryVector,
  NewMemoryEntry,
} from "./memory/entry.ts";
export { InvalidMemoryError, MemoryBusyError, MemoryDimensionError } from "./memory/errors.ts";
export type {
  ConsolidateOptions,
  ConsolidationResult,
  Memory,
  MemoryHit,
  MemoryQuery,
  MemoryReasons,
  MemoryWeights,
} from "./memory/memory.ts";
export { agentNamespace } from "./memory/namespace.ts";
export type {
  ForgetCounts,
  MemoryFilter,
  MemoryPage,
  MemoryStore,
  MemoryUse,
} from "./memory/store.ts";
export { RailSideError, UnknownRailError } from "./guardrails/create-rails.ts";
export type { AgentModel, ModelReply, ModelRequest, ModelSource } from "./models/agent-model.ts";
export { type ModelInput, UnsupportedAttachmentError } from "./models/model-inputs.ts";
export {
  cachedEmbeddings,
  EmbeddingError,
  type Embeddings,
} from "./models/embeddings/embeddings.ts";
export { fromLangChainEmbeddings } from "./models/embeddings/langchain-embeddings.ts";
export {
  createLocalEncoder,
  type LocalEncoder,
  localEncoderIsInstalled,
  type LocalEncoderOptions,
} from "./models/embeddings/local-encoder.ts";
export { createWordEmbeddings } from "./models/embeddings/word-embeddings.ts";
export type { CreateModelsOptions } from "./models/create-models.ts";
export type { Price, PriceTable } from "./models/usage/prices.ts";
export { InvalidPricesError } from "./models/usage/read-prices.ts";
export {
  MissingApiKeyError,
  MissingProviderError,
  ModelCallError,
  ModelOptionError,
  UnknownModelError,
} from "./models/errors.ts";
export { fromChatModel, type FromChatModelOptions } from "./models/calls/from-chat-model.ts";
export { modelProfile, type ModelProfile } from "./models/model-profile.ts";
export { ResultTooLargeError, SubtaskTimeoutError } from "./compile/planner/planner-config.ts";
export type { PlanProblem } from "./planning/check-plan.ts";
export {
  InvalidPlanError,
  InvalidScheduleOptionError,
  SubtaskFailedError,
} from "./planning/errors.ts";
export {
  schedulePlan,
  type PlanSchedule,
  type SchedulePlanOptions,
} from "./planning/schedule-plan.ts";
export { DefinitionChangedError } from "./runtime/definition-changed.ts";
export {
  InvalidRunOptionError,
  InvalidThreadIdError,
  NoCheckpointerError,
  NothingToResumeError,
  RecoveryNeededError,
} from "./runtime/errors.ts";
export { NothingToCancelError } from "./runtime/threads/cancel.ts";
export type {
  AttemptOutcome,
  ExecuteOptions,
  ExecuteResult,
  ToolCallResult,
} from "./runtime/execute-agent.ts";
export type { TurnOptions } from "./runtime/run-turn.ts";
export type {
  CheckpointSummary,
  DamagedCheckpoint,
  DurableSaver,
  ImportResult,
  Page,
  PageOptions,
  PruneOptions,
  PruneResult,
  ThreadListOptions,
  ThreadSummary,
  ThreadVerification,
  VerifyOptions,
} from "./durable-saver.ts";
export {
  ContextNotStoredError,
  DefinitionNotStoredError,
  NothingReadError,
  UnknownStepError,
  UnknownTurnError,
  type KnownStep,
} from "./runtime/threads/context-options.ts";
export { NoArchiveError } from "./runtime/threads/services.ts";
export { NoWayOnError } from "./runtime/threads/intact-checkpoint.ts";
export type {
  Cancellation,
  CancelOptions,
  ChannelDiff,
  CheckpointRef,
  CheckpointTrigger,
  CheckpointView,
  ContextOptions,
  ForgottenMemories,
  ForkOptions,
  MeasuredPath,
  NodeOutcome,
  RecoverOptions,
  Recovery,
  RecoveryReason,
  ReplayOptions,
  SettledCall,
  SkippedCheckpoint,
  StoredState,
  StoredTask,
  ThreadContext,
  ThreadPlan,
  Threads,
  ValueChange,
} from "./runtime/threads/threads.ts";
export { type ActionRecord, toActionRecord, toActionRecords } from "./state/action-record.ts";
export type { AgentState, ToolReducerHandler } from "./state/tiers.ts";
export { TierMergeError, type MergeKind } from "./state/tier-patch.ts";
export type { GraphState, GraphUpdate } from "./state/channels.ts";
export type { AgentEvent } from "./state/events.ts";
export type {
  ClientCall,
  HumanRequest,
  PendingRequest,
  ProposedCall,
} from "./state/human-request.ts";
export { InvalidTransitionError, type Status } from "./state/lifecycle.ts";
export {
  type Observation,
  type StepRecord,
  type ToolOutcome,
  type ToolPrediction,
  type ToolResult,
  type ToolSelectionRecord,
  withObservations,
} from "./state/step-record.ts";
export type { FoundSpan, RailRecord, RailSide, RailVerdict, Redactions } from "./state/rails.ts";
export type { FailedAttempt, TurnFailure, TurnState } from "./state/turn.ts";
export type { Subtask, SubtaskError, SubtaskState, SubtaskStatus, TaskPlan } from "./state/plan.ts";
export type { RunningSummary } from "./state/channels.ts";
export type { Usage } from "./state/usage.ts";
export { openDatabase, type Database, type DatabaseOptions } from "./storage/database.ts";
export {
  DatabaseBusyError,
  DatabaseClosedError,
  DatabaseConnectionError,
  DatabaseFullError,
  DatabasePermissionError,
  DatabaseReadOnlyError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from "./storage/errors.ts";
export { InvalidEncryptionKeyError } from "./storage/encryption/encryption-keys.ts";
export type { ResealCounts, ResealOptions, SealedCount } from "./storage/encryption/reseal.ts";
export {
  type EncryptionOptions,
  NoEncryptionKeyError,
  type StoredEncryption,
} from "./storage/encryption/stored-encryption.ts";
export { MissingEncryptionKeyError, SealedValueError } from "./storage/encryption/value-cipher.ts";
export { FolderLockedError } from "./storage/folder-lock.ts";
export { NewerDatabaseError } from "./storage/migrate.ts";
export { ForeignFolderError } from "./storage/private-folder.ts";
export { ThreadLockedError } from "./storage/thread-lock.ts";
export {
  HttpAllowError,
  type HttpAllow,
  type HttpAllowOptions,
} from "./tools/builtins/http/allow-list.ts";
export {
  CommunityPackageError,
  CommunityToolError,
  ToolClashError,
  UnknownToolError,
} from "./tools/registry.ts";
export {
  HandlerMutationError,
  HandlerReturnError,
  HandlerTierError,
} from "./tools/stateful-call.ts";
export { CorruptJournalError } from "./tools/journal.ts";
export {
  ServerDiedError,
  ServerStartError,
  type ServerStatus,
  type ServerTools,
  ServerToolsError,
  type ToolServers,
} from "./tools/mcp/tool-servers.ts";
export { createSandbox } from "./tools/sandbox/create-sandbox.ts";
export {
  type Sandbox,
  type SandboxedCode,
  SandboxError,
  SandboxOptionError,
} from "./tools/sandbox/sandbox.ts";
export { MissingSecretError } from "./tools/missing-secret-error.ts";
export type { SecretSource } from "./tools/secrets.ts";
export {
  InvalidSelectionOptionError,
  type SelectedTool,
  selectTools,
  type SelectToolsOptions,
  type ToolSelection,
  type ToolUse,
} from "./tools/selection/select-tools.ts";
export { ToolFailure } from "./tools/tool-result.ts";
export {
  openPlatform,
  type Platform,
  type PlatformOptions,
} from "./storage/platform/open-platform.ts";

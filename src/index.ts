export {
  CorruptCheckpointError,
  CorruptDefinitionError,
  InvalidRetentionError,
  NoCheckpointError,
} from "../checkpointers/errors.ts";
export { pinCheckpointer } from "../checkpointers/pin.ts";
export { InvalidExportError, ThreadExistsError } from "../checkpointers/transfer/errors.ts";
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
export type { Clock, IdSource } from "./clock.ts";
export type { AgentGraph } from "./compile/agent-graph.ts";
export {
  AmbiguousAnswerError,
  ApprovalMismatchError,
  InvalidAnswerError,
  NothingToAnswerError,
  UnknownInterruptError,
} from "./compile/answer-errors.ts";
export { InvalidStateUpdateError, type UpdateProblem } from "./compile/update-errors.ts";
export type { Durability } from "./compile/durability.ts";
export {
  InactiveAgentError,
  InitialStateError,
  InvalidInputError,
  TurnLimitError,
  TurnTimeoutError,
  UnfinishedTurnError,
} from "./compile/errors.ts";
export { ThreadBusyError } from "./compile/hold-thread.ts";
export { ForeignThreadError } from "./compile/thread-owner.ts";
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
export type {
  ContextMetadata,
  ContextTokens,
  Goal,
  MessageFidelity,
  ReasoningContext,
  ResultSummaryMade,
  StepFidelity,
  StepShown,
  Utilization,
} from "./context/context-metadata.ts";
export type { ContextSettings, ShortTermPolicy } from "./context/context-settings.ts";
export { ContextOverflowError, InvalidContextOptionError } from "./context/errors.ts";
export { preview, type PreviewOptions } from "./context/preview/preview.ts";
export {
  createResultSummaryCache,
  type ResultSummaryCache,
} from "./context/summarise/result-summary-cache.ts";
export type { AgentBehaviour, AgentDefinition } from "./definition/agent-definition.ts";
export type { DefinitionChange } from "./definition/definition-drift.ts";
export type { DefinitionDocument } from "./definition/definition-hash.ts";
export {
  defineAgent,
  type AgentOptions,
  type CommunityReference,
  type ServerReference,
  type ToolReference,
} from "./definition/define-agent.ts";
export { definePlanner, type PlannerOptions } from "./definition/define-planner.ts";
export { defineRail, InvalidRailError, type RailOptions } from "./definition/define-rail.ts";
export { defineTool } from "./definition/define-tool.ts";
export { defineWorker, InvalidWorkerError } from "./definition/define-worker.ts";
export type { JsonSchema } from "./definition/json-schema.ts";
export { InvalidToolError } from "./definition/invalid-tool-error.ts";
export { loadAgent } from "./definition/load-agent.ts";
export { DefinitionFileError } from "./definition/parse-definition.ts";
export { InvalidDefinitionError, type DefinitionProblem } from "./definition/problems.ts";
export { RailFindingError, type ShortFinding } from "./definition/rail-finding.ts";
export type { Rail, RailContext, RailFinding, RailSpan, RailSubject } from "./definition/rail.ts";
export type { AgentSpec, AgentSpecInput, LlmConfig } from "./definition/schema.ts";
export type {
  AgentTool,
  ToolContext,
  ToolDefinition,
  ToolExecution,
  ToolPermission,
  ToolTransport,
} from "./definition/tool.ts";
export type { CodeWorker, WorkerTask } from "./definition/worker.ts";
export { StratagraphError, type ErrorKind } from "./errors.ts";
export {
  defineExperiment,
  loadExperiment,
  type Experiment,
} from "./experiment/config/load-experiment.ts";
export type { ExperimentInput } from "./experiment/config/experiment-schema.ts";
export { InvalidExperimentError } from "./experiment/config/invalid-experiment-error.ts";
export type { ExperimentModelOptions, RunSpec, RunVariant } from "./experiment/config/run-spec.ts";
export type { ExperimentGraph } from "./experiment/cycle/experiment-graph.ts";
export {
  CyclePromptError,
  ExperimentChangedError,
  ExperimentInputError,
  ExperimentOptionError,
  ExperimentToolError,
  LogChangedError,
  LogExistsError,
  MemoryChangedError,
  MemoryExistsError,
  LogAccessError,
} from "./experiment/errors.ts";
export type {
  CycleMetrics,
  LogEntry,
  LogEventType,
  LogMessage,
} from "./experiment/log/log-entry.ts";
export type { ExperimentMemory, RunMemory } from "./experiment/memory/run-memory.ts";
export type { ExperimentResult, RunExperimentOptions } from "./experiment/run-experiment.ts";
export type { ExperimentEvent, RunProgress } from "./experiment/run-progress.ts";
export { RailSideError, UnknownRailError } from "./guardrails/create-rails.ts";
export type { AgentModel, ModelReply, ModelRequest, ModelSource } from "./models/agent-model.ts";
export { cachedEmbeddings } from "./models/embeddings/cached-embeddings.ts";
export { EmbeddingError } from "./models/embeddings/embedding-error.ts";
export type { Embeddings } from "./models/embeddings/embeddings.ts";
export { fromLangChainEmbeddings } from "./models/embeddings/from-langchain-embeddings.ts";
export { createWordEmbeddings } from "./models/embeddings/word-embeddings.ts";
export type { CreateModelsOptions } from "./models/create-models.ts";
export {
  MissingApiKeyError,
  MissingProviderError,
  ModelCallError,
  ModelOptionError,
  UnknownModelError,
} from "./models/errors.ts";
export { fromChatModel, type FromChatModelOptions } from "./models/from-chat-model.ts";
export { modelProfile, type ModelProfile } from "./models/model-profile.ts";
export { ResultTooLargeError, SubtaskTimeoutError } from "./compile/planner/errors.ts";
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
export type { AttemptOutcome, ExecuteOptions, ExecuteResult } from "./runtime/execute-agent.ts";
export type { TurnOptions } from "./runtime/run-turn.ts";
export type {
  CheckpointSummary,
  DamagedCheckpoint,
  ImportResult,
  Page,
  PruneOptions,
  PruneResult,
  ThreadListOptions,
  ThreadSummary,
  ThreadVerification,
  VerifyOptions,
} from "./runtime/threads/archive.ts";
export {
  ContextNotKeptError,
  DefinitionNotKeptError,
  NothingReadError,
  UnknownStepError,
  UnknownTurnError,
  type KnownStep,
} from "./runtime/threads/context-errors.ts";
export { NoArchiveError } from "./runtime/threads/errors.ts";
export { NoWayOnError } from "./runtime/threads/sound-checkpoint.ts";
export type {
  ChannelDiff,
  CheckpointRef,
  CheckpointTrigger,
  CheckpointView,
  ContextOptions,
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
export { toActionRecord, toActionRecords, type ActionRecord } from "./state/action-record.ts";
export type { AgentState, ToolReducerHandler } from "./state/agent-state.ts";
export { TierMergeError, type MergeKind } from "./state/tier-merge.ts";
export { compressActions, InvalidRelevanceError } from "./state/compress-actions.ts";
export type { GraphState, GraphUpdate } from "./state/channels.ts";
export type { AgentEvent } from "./state/event.ts";
export type { HumanRequest, PendingRequest, ProposedCall } from "./state/human-request.ts";
export { InvalidTransitionError, type Status } from "./state/lifecycle.ts";
export type {
  Observation,
  StepRecord,
  ToolOutcome,
  ToolPrediction,
  ToolResult,
  ToolSelectionRecord,
} from "./state/step-record.ts";
export type { FoundSpan, RailRecord, RailSide, RailVerdict } from "./state/rail-record.ts";
export type { Redactions } from "./state/redactions.ts";
export type { FailedAttempt, TurnFailure, TurnState } from "./state/turn.ts";
export type { SubtaskError, SubtaskState, SubtaskStatus } from "./state/subtask-state.ts";
export type { Subtask, TaskPlan } from "./state/task-plan.ts";
export type { RunningSummary } from "./state/running-summary.ts";
export type { Usage } from "./state/usage.ts";
export { withObservations } from "./state/with-observations.ts";
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
export { FolderLockedError } from "./storage/folder-lock.ts";
export { NewerDatabaseError } from "./storage/migrate.ts";
export { ForeignFolderError } from "./storage/private-folder.ts";
export { ThreadLockedError } from "./storage/thread-lock.ts";
export {
  HttpAllowError,
  type HttpAllow,
  type HttpAllowOptions,
} from "./tools/builtins/http/http-allow.ts";
export { CommunityPackageError, CommunityToolError } from "./tools/community/errors.ts";
export {
  HandlerMutationError,
  HandlerReturnError,
  HandlerTierError,
} from "./tools/handler-errors.ts";
export { CorruptJournalError } from "./tools/journal.ts";
export { ServerDiedError, ServerStartError, ServerToolsError } from "./tools/mcp/errors.ts";
export type { ServerStatus, ServerTools, ToolServers } from "./tools/mcp/tool-servers.ts";
export { ToolClashError, UnknownToolError } from "./tools/registry.ts";
export { createSandbox } from "./tools/sandbox/create-sandbox.ts";
export { SandboxError, SandboxOptionError } from "./tools/sandbox/errors.ts";
export type { Sandbox, SandboxedCode } from "./tools/sandbox/sandbox.ts";
export { MissingSecretError } from "./tools/secrets/errors.ts";
export type { SecretSource } from "./tools/secrets/secret-source.ts";
export { InvalidSelectionOptionError } from "./tools/selection/errors.ts";
export {
  selectTools,
  type SelectedTool,
  type SelectToolsOptions,
  type ToolSelection,
  type ToolUse,
} from "./tools/selection/select-tools.ts";
export { ToolFailure } from "./tools/tool-failure.ts";

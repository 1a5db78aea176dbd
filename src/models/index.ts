export type {
  AgentModel,
  ModelReply,
  ModelRequest,
  ModelSource,
  ModelTool,
} from "./agent-model.ts";
export { createModels, type CreateModelsOptions } from "./create-models.ts";
export {
  MissingApiKeyError,
  MissingProviderError,
  ModelCallError,
  ModelOptionError,
  UnknownModelError,
} from "./errors.ts";
export type { FailureReason } from "./failure.ts";
export { fromChatModel, type FromChatModelOptions } from "./from-chat-model.ts";
export type { ModelRef } from "./model-ref.ts";
export { listPrices, pricesAsOf, type Price, type PriceTable } from "./prices.ts";
export type {
  Env,
  ModelOptionName,
  ModelOptions,
  ModelProvider,
  ProviderRequest,
} from "./provider.ts";
export { countTokens, tokenCounter, type TokenCounter } from "./tokens.ts";

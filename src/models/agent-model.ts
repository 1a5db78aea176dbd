import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { JsonSchema } from "../definition/schema/json-schema.ts";
import type { LlmConfig } from "../definition/schema/agent.ts";
import type { Usage } from "../state/usage.ts";
import type { ModelProfile } from "./model-profile.ts";
import type { ModelOptions } from "./provider.ts";

/** A tool as described to a model. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

/** The single JSON value that a reply must be. */
export interface StructuredAnswer {
  /** Letters, digits, `_` and `-`, at most 64; providers know it as the name of a function. */
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface ModelRequest {
  readonly messages: readonly BaseMessage[];
  /** Bound natively; binding is cached by the identity of this array, so pass the same one every step. Ignored without `toolCalling`. */
  readonly tools?: readonly ModelTool[];
  /**
   * The reply must be one value of this schema; read it with `readStructured`. Providers that take tools must call
   * a function whose arguments the value is, where the schema is an object's; everywhere else only the prompt says what
   * is wanted, so it has to say so always. Instead of `tools`, and bound once for the same object.
   */
  readonly answer?: StructuredAnswer;
}

export interface ModelReply {
  /** Text in `message.text`, native tool calls in `message.tool_calls` (and `invalid_tool_calls`). */
  readonly message: AIMessage;
  /** Tokens and cost of every call made for this reply (`llm_calls` ≥ 1, `tool_calls` 0). */
  readonly usage: Usage;
  /** `provider:model` that answered. */
  readonly model: string;
  /** Set when the fallback model answered. */
  readonly fallback: { readonly from: string; readonly reason: string } | null;
}

/** A resolved chat model with its fallback: metered, abortable, ready for a reasoning step. */
export interface AgentModel {
  /** `provider:model` of the chosen model. */
  readonly ref: string;
  /** Whether it takes tools natively; otherwise the caller uses the text form. */
  readonly toolCalling: boolean;
  /** Whether it is known to make several tool calls in one reply. */
  readonly parallelCalls: boolean;
  /** Of the chosen model, also where it has a fallback. */
  readonly profile: ModelProfile;
  /**
   * `config` carries the signal and LangGraph's callbacks (token streaming).
   * @throws ModelCallError when neither the model nor its fallback answered; the signal's reason when aborted.
   */
  call(request: ModelRequest, config: RunnableConfig): Promise<ModelReply>;
}

/** Port of the models room: turns a definition's `llm_config` into a model. */
export interface ModelSource {
  /**
   * Cached by the options' content. An empty `default_model` means the runtime's default.
   * @throws UnknownModelError, MissingProviderError, MissingApiKeyError, ModelOptionError
   */
  resolve(options: LlmConfig & Pick<ModelOptions, "ollama_client_config">): Promise<AgentModel>;
}

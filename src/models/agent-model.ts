import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { JsonSchema } from "../definition/schema/json-schema.ts";
import type { LlmConfig } from "../definition/schema/agent.ts";
import type { Usage } from "../state/usage.ts";
import type { ModelProfile } from "./model-profile.ts";
import type { FailureReason, ModelCallRecord, Reasoning } from "../state/usage.ts";
import type { Price } from "./usage/prices.ts";

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
  /**
   * The form of the text, if the model answers instead of calling `tools`. Only some providers enforce it, so the prompt
   * has to request it too.
   */
  readonly format?: StructuredAnswer | undefined;
  /** What models thought before the calls in `messages`, which each gets back in its own form. */
  readonly reasoning?: SentReasoning | undefined;
  /** Milliseconds that are left for the reply; of a model with fallbacks, half of them for its first token. */
  readonly timeLeftMs?: number;
  /** Called while the call is under way; must not throw. */
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Called after each request that is made for the reply, failed and cancelled ones too; must not throw. */
  readonly onRequest?: (made: MadeRequest) => void;
}

/** One request that was made for a reply. */
export interface MadeRequest extends ModelCallRecord {
  /** From 1 in its call. */
  readonly attempt: number;
  /** What came; null if nothing did, or if the provider or the model withheld it. */
  readonly message: AIMessage | null;
  /** Of this request; no tokens and no cost where they are not known, as of a failed one. */
  readonly usage: Usage;
}

/** Reasoning by the id of a call that it led to, with the `provider:model` that it is of. */
export type SentReasoning = ReadonlyMap<
  string,
  { readonly model: string; readonly reasoning: Reasoning }
>;

/** What happens during a model call. */
export type ModelProgress =
  /** No token has come for a while. */
  | { readonly type: "slow"; readonly model: string }
  /** It is tried again after a wait. */
  | {
      readonly type: "wait";
      readonly model: string;
      readonly reason: FailureReason;
      /** ISO 8601. */
      readonly until: string;
    }
  | {
      readonly type: "fallback";
      readonly from: string;
      readonly to: string;
      readonly reason: FailureReason;
    }
  /** The reply broke off after its first tokens. `attempt` is that of the next request. */
  | { readonly type: "reset"; readonly attempt: number; readonly reason: FailureReason };

export interface ModelReply {
  /** Text in `message.text`, native tool calls in `message.tool_calls` (and `invalid_tool_calls`). */
  readonly message: AIMessage;
  /** Tokens and cost of every call made for this reply (`llm_calls` ≥ 1, `tool_calls` 0). */
  readonly usage: Usage;
  /** `provider:model` that answered. */
  readonly model: string;
  /** Set when a fallback model answered. */
  readonly fallback: { readonly from: string; readonly reason: string } | null;
  /** Whether the reply is whole; `content_filter` and `refusal` are thrown. */
  readonly finish: "stop" | "length";
  /** What the model thought; null if it shows nothing. It is not in the message's text. */
  readonly reasoning: Reasoning | null;
  /** Every request that was made, in order. */
  readonly calls: readonly ModelCallRecord[];
}

/** A resolved chat model with its fallback: metered, abortable, ready for a reasoning step. */
export interface AgentModel {
  /** `provider:model` of the chosen model. */
  readonly ref: string;
  /** Whether it takes tools natively; otherwise the caller uses the text form. */
  readonly toolCalling: boolean;
  /** Whether it is known to make several tool calls in one reply; may become true with a reply that has several. */
  readonly parallelCalls: boolean;
  /** Of the chosen model, also where it has a fallback. */
  readonly profile: ModelProfile;
  /**
   * `config` carries the signal and LangGraph's callbacks (token streaming).
   * @throws ModelCallError when neither the model nor its fallback answered; the signal's reason when aborted.
   */
  call(request: ModelRequest, config: RunnableConfig): Promise<ModelReply>;
}

/** How an Ollama server is reached. */
export interface OllamaClientConfig {
  /** URL, or `host:port` as in OLLAMA_HOST, instead of what the environment says. Credentials in it are sent as basic authorization. */
  readonly host?: string;
  /** Milliseconds of one request, its stream included, more than 0; retries have as many again. Left out, there is no limit. */
  readonly timeout_ms?: number;
  /** Sent with every request. Their values are secrets: no error says them, and the model does not hold them in what it shows of itself. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Port of the models room: turns a definition's `llm_config` into a model. */
export interface ModelSource {
  /**
   * Cached by the options' content. An empty `default_model` means the runtime's default.
   * @throws UnknownModelError, MissingProviderError, MissingApiKeyError, ModelOptionError
   */
  resolve(
    options: LlmConfig & { readonly ollama_client_config?: OllamaClientConfig },
  ): Promise<AgentModel>;
  /** Returns what a `provider:model` costs; null where that is not known. */
  priceOf?(ref: string): Price | null;
}

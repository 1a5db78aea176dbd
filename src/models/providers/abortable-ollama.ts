import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { ChatModelStreamEvent } from "@langchain/core/language_models/event";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { ChatOllama, type ChatOllamaCallOptions } from "@langchain/ollama";

/**
 * Ollama models that stop working when the call is aborted. ChatOllama looks at its signal between words only, so that a
 * model that is still loading or reading a long prompt would go on for nobody.
 */
export class AbortableOllama extends ChatOllama {
  /**
   * Ollama can make no model call a tool, but write JSON of a schema, also one that takes no tools: a function that has
   * to be called becomes the form of the text.
   */
  override bindTools(tools: BindToolsInput[], options: Partial<ChatOllamaCallOptions> = {}) {
    const [tool, ...others] = tools;
    const isForced = options.tool_choice === "any" && tool !== undefined && others.length === 0;
    if (!isForced) return super.bindTools(tools, options);
    const { tool_choice: _forced, ...rest } = options;
    const { parameters } = convertToOpenAITool(tool).function;
    return this.withConfig({ ...rest, format: parameters });
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    // oxlint-disable-next-line no-underscore-dangle -- LangChain's own name
    yield* super._streamResponseChunks.call(
      this.#for(options.signal),
      messages,
      options,
      runManager,
    );
  }

  override async *_streamChatModelEvents(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatModelStreamEvent> {
    // oxlint-disable-next-line no-underscore-dangle -- LangChain's own name
    yield* super._streamChatModelEvents.call(
      this.#for(options.signal),
      messages,
      options,
      runManager,
    );
  }

  /** This model with a client of its own, whose requests end with the signal. */
  #for(signal: AbortSignal | undefined): this {
    if (signal === undefined) return this;
    const Client = this.client.constructor as new (config: object) => ChatOllama["client"];
    const client = new Client({
      host: this.baseUrl,
      fetch: (url: string | URL, init: RequestInit = {}) => {
        const signals = init.signal ? [init.signal, signal] : [signal];
        return fetch(url, { ...init, signal: AbortSignal.any(signals) });
      },
    });
    return Object.assign(Object.create(this) as this, { client });
  }
}

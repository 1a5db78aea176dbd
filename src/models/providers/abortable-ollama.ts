import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel, type BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { ChatModelStreamEvent } from "@langchain/core/language_models/event";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { ChatOllama, type ChatOllamaCallOptions, type ChatOllamaInput } from "@langchain/ollama";
import type { ChatRequest, OllamaConnection } from "./ollama-connection.ts";

/**
 * Ollama models that stop working when the call is aborted, or no longer read. ChatOllama looks at its signal between
 * words only, so that a model that is still loading or reading a long prompt would go on for nobody.
 */
export class AbortableOllama extends ChatOllama {
  // Not among the fields, which LangChain shows to whoever traces a run.
  readonly #connection: OllamaConnection;

  constructor(fields: ChatOllamaInput, connection: OllamaConnection) {
    super(fields);
    this.#connection = connection;
  }

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
    const chunks = super._streamResponseChunks.call(
      this.#for(options.signal),
      messages,
      options,
      runManager,
    );
    let calls = 0;
    for await (const chunk of chunks) {
      // ChatOllama says 0 of each: what merges by it alone would make one call of several, or of a text, which has 0 there.
      if (AIMessageChunk.isInstance(chunk.message)) {
        for (const call of chunk.message.tool_call_chunks ?? []) call.index = ++calls;
      }
      yield chunk;
    }
  }

  /** From the chunks: ChatOllama's own events have one call where the server sends several one after the other, and no ids. */
  override async *_streamChatModelEvents(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatModelStreamEvent> {
    // oxlint-disable-next-line no-underscore-dangle -- LangChain's own name
    yield* BaseChatModel.prototype._streamChatModelEvents.call(this, messages, options, runManager);
  }

  /** This model with a client of its own, whose requests end with the signal. */
  #for(signal: AbortSignal | undefined): this {
    const client = {
      chat: async (request: ChatRequest) => this.#connection.chat(request, signal),
      // Asked for when the signal has aborted, and the request with it.
      abort: () => undefined,
    };
    return Object.assign(Object.create(this) as this, { client });
  }
}

import { ChatAnthropic, type ChatAnthropicInput } from "@langchain/anthropic";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessageChunk, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { untilFinished, withFinish } from "./finished-replies.ts";

/**
 * ChatAnthropic with finish reasons in the messages, exact usage in streams, and streams that have to end. The system
 * message is marked for the provider's cache, which then also holds the tools.
 */
export class FinishedAnthropic extends ChatAnthropic {
  // Not a field: LangChain shows fields in traces.
  readonly #caches: boolean;

  constructor(fields: ChatAnthropicInput, { caches }: { readonly caches: boolean }) {
    super(fields);
    this.#caches = caches;
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ) {
    return withFinish(await super._generate(this.#marked(messages), options, runManager));
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const chunks = super._streamResponseChunks(this.#marked(messages), options, runManager);
    for await (const chunk of untilFinished(chunks, options.signal)) {
      // The first figure of the output is part of the last one, to which LangChain adds it.
      const { message } = chunk;
      if (AIMessageChunk.isInstance(message) && message.usage_metadata && message.id) {
        const { input_tokens } = message.usage_metadata;
        const read = { output_tokens: 0, total_tokens: input_tokens };
        message.usage_metadata = { ...message.usage_metadata, ...read };
      }
      yield chunk;
    }
  }

  #marked(messages: BaseMessage[]): BaseMessage[] {
    const [first, ...others] = messages;
    if (!this.#caches || first?.type !== "system" || first.text === "") return messages;
    return [cachedMessage(first), ...others];
  }
}

const marked = new WeakMap<BaseMessage, SystemMessage>();

function cachedMessage(message: BaseMessage): SystemMessage {
  const known = marked.get(message);
  if (known !== undefined) return known;
  const cache_control = { type: "ephemeral" };
  const made = new SystemMessage({
    content: [{ type: "text", text: message.text, cache_control }],
  });
  marked.set(message, made);
  return made;
}

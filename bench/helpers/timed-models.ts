import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { ModelSource } from "../../src/index.ts";
import { fromChatModel } from "../../src/models/calls/from-chat-model.ts";

const time = () => `at ${(performance.timeOrigin + performance.now()).toFixed(3)} `;

/** Answers at once, with the time in milliseconds as the first token. */
class TimedModel extends BaseChatModel {
  _llmType(): string {
    return "timed";
  }

  async _generate(): Promise<ChatResult> {
    const message = new AIMessage(`${time()} done`);
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    _messages: unknown,
    _options: unknown,
    manager?: { handleLLMNewToken(token: string): Promise<void> },
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const text of [time(), "done"]) {
      const message = new AIMessageChunk({ content: text });
      yield new ChatGenerationChunk({ text, message });
      await manager?.handleLLMNewToken(text);
    }
  }
}

/** The source of the model, for every name. */
export const timedModels: ModelSource = {
  resolve: async () => fromChatModel(new TimedModel({}), { ref: "bench:timed" }),
};

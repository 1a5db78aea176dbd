import { ChatBedrockConverse } from "@langchain/aws";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { untilFinished, withFinish } from "./finished-replies.ts";

/** ChatBedrockConverse with finish reasons in the messages, and streams that have to end. */
export class FinishedBedrock extends ChatBedrockConverse {
  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ) {
    return withFinish(await super._generate(messages, options, runManager));
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const chunks = super._streamResponseChunks(messages, options, runManager);
    yield* untilFinished(chunks, options.signal);
  }
}

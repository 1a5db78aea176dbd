import { AIMessageChunk, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { BrokenStream } from "../failure.ts";
import { keepFinishWord } from "../replies/finish-reason.ts";

/** Returns a whole reply with its finish reason, in the provider's words, in `response_metadata.finish_reason`. */
export function withFinish(result: ChatResult): ChatResult {
  for (const generation of result.generations) keepFinishWord(generation);
  return result;
}

/**
 * The chunks of a streamed reply; the one with the finish reason has it in `response_metadata.finish_reason`, in the
 * provider's words. LangChain's packages leave it out of the message, or have names of their own for it.
 * @throws BrokenStream when the stream ends without a finish reason, since a connection that is closed politely in the
 * middle looks like the end of a reply; the signal's reason when it has aborted
 */
export async function* untilFinished(
  chunks: AsyncIterable<ChatGenerationChunk>,
  signal: AbortSignal | undefined,
): AsyncGenerator<ChatGenerationChunk> {
  let isBegun = false;
  let isFinished = false;
  for await (const chunk of chunks) {
    isBegun = true;
    isFinished = keepFinishWord(chunk) || isFinished;
    yield chunk;
  }
  signal?.throwIfAborted();
  if (isBegun && !isFinished) throw new BrokenStream("The stream ended before the reply was done");
}

/** Returns the last part of a stream whose package leaves its figures out, or counts them wrongly. */
export function usageChunk(usage_metadata: UsageMetadata): ChatGenerationChunk {
  return new ChatGenerationChunk({
    text: "",
    message: new AIMessageChunk({ content: "", usage_metadata }),
  });
}

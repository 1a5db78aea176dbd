import { ChatOpenAICompletions, type OpenAIClient } from "@langchain/openai";
import { BrokenStream } from "../failure.ts";

type Chunk = OpenAIClient.Chat.Completions.ChatCompletionChunk;
type Streaming = OpenAIClient.Chat.ChatCompletionCreateParamsStreaming;
type Whole = OpenAIClient.Chat.ChatCompletionCreateParamsNonStreaming;
type Completion = OpenAIClient.Chat.Completions.ChatCompletion;

/**
 * Chat completions whose streams have to end as the protocol says. A connection that is closed politely in the middle of
 * a stream looks like its end otherwise, and half an answer like a whole one.
 */
export class WholeCompletions extends ChatOpenAICompletions {
  override completionWithRetry(
    request: Streaming,
    options?: OpenAIClient.RequestOptions,
  ): Promise<AsyncIterable<Chunk>>;
  override completionWithRetry(
    request: Whole,
    options?: OpenAIClient.RequestOptions,
  ): Promise<Completion>;
  override async completionWithRetry(
    request: Streaming | Whole,
    options?: OpenAIClient.RequestOptions,
  ): Promise<AsyncIterable<Chunk> | Completion> {
    if (request.stream !== true) return super.completionWithRetry(request, options);
    return untilFinished(await super.completionWithRetry(request, options), options?.signal);
  }
}

/** @throws BrokenStream when the stream ends before any choice has a finish reason, unless the caller ended it */
async function* untilFinished(
  chunks: AsyncIterable<Chunk>,
  signal: AbortSignal | null | undefined,
): AsyncGenerator<Chunk> {
  let isBegun = false;
  let isFinished = false;
  for await (const chunk of chunks) {
    isBegun = true;
    isFinished ||= chunk.choices?.some((choice) => choice.finish_reason) || chunk.usage != null;
    yield chunk;
  }
  if (isBegun && !isFinished && signal?.aborted !== true) {
    throw new BrokenStream("The stream ended before the reply was finished");
  }
}

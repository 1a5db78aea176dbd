import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { untilFinished, usageChunk, withFinish } from "./finished-replies.ts";

/** The part of Google's client that is used. */
interface Client {
  generateContent(request: unknown, options: object): Promise<{ readonly response: Response }>;
  generateContentStream(
    request: unknown,
    options: object,
  ): Promise<{ readonly stream: AsyncIterable<Response>; readonly response: Promise<unknown> }>;
}

interface Response {
  readonly candidates?: readonly Candidate[];
  readonly promptFeedback?: { readonly blockReason?: string };
  readonly usageMetadata?: {
    readonly promptTokenCount?: number;
    readonly candidatesTokenCount?: number;
    readonly totalTokenCount?: number;
    readonly cachedContentTokenCount?: number;
    readonly thoughtsTokenCount?: number;
  };
}

interface Candidate {
  readonly content?: { readonly role?: string; readonly parts?: readonly unknown[] };
  readonly finishReason?: string;
}

/**
 * ChatGoogleGenerativeAI with finish reasons in the messages, usage as Google counts it, and streams that have to end. A
 * reply that was filtered, or whose request was, is a message without text, whose finish reason says why.
 */
export class FinishedGoogle extends ChatGoogleGenerativeAI {
  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ) {
    const { model, lastUsage } = this.#for(options.signal);
    const result = await super._generate.call(model, messages, options, runManager);
    const message = result.generations[0]?.message;
    const usage = lastUsage();
    if (AIMessage.isInstance(message) && usage !== null) message.usage_metadata = usage;
    return withFinish(result);
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { model, lastUsage } = this.#for(options.signal);
    const chunks = super._streamResponseChunks.call(model, messages, options, runManager);
    for await (const chunk of untilFinished(chunks, options.signal)) {
      // Every chunk repeats the figures so far, which LangChain adds up.
      if (AIMessageChunk.isInstance(chunk.message)) delete chunk.message.usage_metadata;
      yield chunk;
    }
    const usage = lastUsage();
    if (usage !== null) yield usageChunk(usage);
  }

  /** This model for one call: its requests end with the signal, and its responses are made readable. */
  #for(signal: AbortSignal | undefined) {
    const { client } = this as unknown as { readonly client: Client };
    let last: Response | undefined;
    const read = (response: Response): Response => {
      if (response.usageMetadata !== undefined) last = response;
      return readable(response);
    };
    const own: Client = {
      async generateContent(request) {
        const { response } = await client.generateContent(request, { signal });
        return { response: read(response) };
      },
      async generateContentStream(request) {
        const { stream, response } = await client.generateContentStream(request, { signal });
        // A second reader of the same stream, which fails with it.
        response.catch(() => undefined);
        return { stream: mapped(stream, read), response };
      },
    };
    const model = Object.assign(Object.create(this) as this, {
      client: Object.assign(Object.create(client) as Client, own),
    });
    return { model, lastUsage: () => (last === undefined ? null : usageOf(last)) };
  }
}

async function* mapped<T>(items: AsyncIterable<T>, map: (item: T) => T): AsyncGenerator<T> {
  for await (const item of items) yield map(item);
}

/** LangChain throws at candidates without content, or drops them, and with them their finish reason. */
function readable(response: Response): Response {
  const [candidate] = response.candidates ?? [];
  if (candidate?.content !== undefined) return response;
  const finishReason = candidate?.finishReason ?? response.promptFeedback?.blockReason;
  if (finishReason === undefined) return response;
  const content = { role: "model", parts: [] };
  return { ...response, candidates: [{ ...candidate, content, finishReason }] };
}

/** Thoughts are paid for as output, and not among the candidates' tokens. */
function usageOf({ usageMetadata = {} }: Response): UsageMetadata {
  const {
    promptTokenCount: input = 0,
    candidatesTokenCount: said = 0,
    thoughtsTokenCount: thought,
    cachedContentTokenCount: cached,
  } = usageMetadata;
  const output = said + (thought ?? 0);
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: usageMetadata.totalTokenCount ?? input + output,
    ...(cached !== undefined && { input_token_details: { cache_read: cached } }),
    ...(thought !== undefined && { output_token_details: { reasoning: thought } }),
  };
}

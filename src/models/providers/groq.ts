import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { ChatGroq, type ChatGroqInput } from "@langchain/groq";
import { untilFinished, usageChunk, withFinish } from "./finished-replies.ts";

/** What is read of a completion and of a chunk of one. */
interface Completion {
  readonly choices?: readonly {
    readonly message?: { readonly reasoning?: string | null };
    readonly delta?: { readonly reasoning?: string | null };
  }[];
  readonly usage?: CompletionUsage | null;
  readonly x_groq?: { readonly usage?: CompletionUsage } | null;
}

interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null;
}

/** What the last response, or part of one, says that ChatGroq leaves out. */
interface Left {
  reasoning: string;
  usage: UsageMetadata | null;
}

/**
 * ChatGroq with finish reasons and usage in the messages, reasoning in `additional_kwargs.reasoning_content`, a seed, and
 * streams that have to end.
 */
export class FinishedGroq extends ChatGroq {
  readonly seed: number | undefined;

  constructor(fields: ChatGroqInput & { readonly seed?: number }) {
    super(fields);
    this.seed = fields.seed;
  }

  override invocationParams(...[options, extra]: Parameters<ChatGroq["invocationParams"]>) {
    return super.invocationParams({ seed: this.seed, ...options }, extra);
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ) {
    const { model, left } = this.#forOneCall();
    const result = await super._generate.call(model, messages, options, runManager);
    const message = result.generations[0]?.message;
    if (AIMessage.isInstance(message)) {
      addReasoning(message, left.reasoning);
      if (left.usage !== null) message.usage_metadata = left.usage;
    }
    return withFinish(result);
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { model, left } = this.#forOneCall();
    const chunks = super._streamResponseChunks.call(model, messages, options, runManager);
    for await (const chunk of untilFinished(chunks, options.signal)) {
      addReasoning(chunk.message, left.reasoning);
      left.reasoning = "";
      yield chunk;
    }
    if (left.usage !== null) yield usageChunk(left.usage);
  }

  /** This model with requests that note what is left out. */
  #forOneCall() {
    const left: Left = { reasoning: "", usage: null };
    const note = (completion: Completion): void => {
      const [choice] = completion.choices ?? [];
      left.reasoning += choice?.message?.reasoning ?? choice?.delta?.reasoning ?? "";
      const usage = completion.usage ?? completion.x_groq?.usage;
      if (usage) left.usage = usageOf(usage);
    };
    const completionWithRetry = async (request: { stream?: unknown }, options?: object) => {
      const given: unknown = await this.completionWithRetry(request as never, options);
      if (request.stream === true) return noted(given as AsyncIterable<Completion>, note);
      note(given as Completion);
      return given;
    };
    const model = Object.assign(Object.create(this) as this, {
      completionWithRetry: completionWithRetry as this["completionWithRetry"],
    });
    return { model, left };
  }
}

async function* noted(chunks: AsyncIterable<Completion>, note: (chunk: Completion) => void) {
  for await (const chunk of chunks) {
    note(chunk);
    yield chunk;
  }
}

function addReasoning(message: BaseMessage, reasoning: string): void {
  if (reasoning === "") return;
  message.additional_kwargs = { ...message.additional_kwargs, reasoning_content: reasoning };
}

function usageOf(usage: CompletionUsage): UsageMetadata {
  const cached = usage.prompt_tokens_details?.cached_tokens;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: usage.prompt_tokens,
    output_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    ...(cached !== undefined && { input_token_details: { cache_read: cached } }),
    ...(reasoning !== undefined && { output_token_details: { reasoning } }),
  };
}

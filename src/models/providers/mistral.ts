import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { ChatMistralAI, type ChatMistralAIInput } from "@langchain/mistralai";
import { isRecord } from "../../values/json.ts";
import { untilFinished, withFinish } from "./finished-replies.ts";

type HttpClient = NonNullable<ChatMistralAIInput["httpClient"]>;

/**
 * ChatMistralAI whose requests end with the signal, and not after 30 seconds; with finish reasons in the messages,
 * reasoning in `additional_kwargs.reasoning_content`, and streams that have to end.
 */
export class FinishedMistral extends ChatMistralAI {
  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ) {
    const model = forOneCall(this, options.signal);
    const result = await super._generate.call(model, messages, options, runManager);
    for (const { message } of result.generations) moveReasoning(message);
    return withFinish(result);
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const model = forOneCall(this, options.signal);
    const chunks = super._streamResponseChunks.call(model, messages, options, runManager);
    for await (const chunk of untilFinished(chunks, options.signal)) {
      moveReasoning(chunk.message);
      // It holds the model's name in every chunk, which would be joined.
      delete chunk.generationInfo;
      yield chunk;
    }
  }
}

/** The model with an HTTP client for one call. */
function forOneCall(model: FinishedMistral, signal: AbortSignal | undefined): FinishedMistral {
  const httpClient = { request: (request: Request) => send(request, signal) };
  return Object.assign(Object.create(model) as FinishedMistral, {
    httpClient: httpClient as unknown as HttpClient,
  });
}

/** Headers at which Mistral's client reads the body as JSON of its own accord, and fails unhandled at streams. */
const deprecation = "x-model-deprecation-timestamp";

async function send(request: Request, signal: AbortSignal | undefined): Promise<Response> {
  const response = await fetch(request, { signal: signal ?? null });
  const { status, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  // What fails while the client reads a body would be an unhandled rejection too.
  const text = isStream ? "" : await response.text();
  if (!isStream && response.ok) JSON.parse(text);
  const kept = new Headers(headers);
  for (const name of [deprecation, "content-encoding", "content-length"]) kept.delete(name);
  return new Response(isStream ? response.body : text, { status, headers: kept });
}

/** Blocks of thinking cannot be sent back to Mistral. */
function moveReasoning(message: BaseMessage): void {
  const { content } = message;
  if (!Array.isArray(content)) return;
  const thoughts = content.flatMap((block) => (isThinking(block) ? block.thinking : []));
  const rest = content.filter((block) => !isThinking(block));
  if (thoughts.length > 0) {
    const said = thoughts.map((part) => (isRecord(part) ? part["text"] : "")).join("");
    message.additional_kwargs = { ...message.additional_kwargs, reasoning_content: said };
  }
  const isText = rest.every(({ type }) => type === "text");
  message.content = isText ? rest.map((block) => String(block["text"])).join("") : rest;
}

function isThinking(
  block: object,
): block is { readonly type: "thinking"; readonly thinking: readonly unknown[] } {
  const { type, thinking } = block as { type?: unknown; thinking?: unknown };
  return type === "thinking" && Array.isArray(thinking);
}

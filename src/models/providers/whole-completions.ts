import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatOpenAICompletions, type OpenAIClient } from "@langchain/openai";
import { errorMessage } from "../../errors.ts";
import { isRecord } from "../../values/json.ts";
import { BrokenStream } from "../failure.ts";
import { isJson } from "../replies/written-calls.ts";

type Chunk = OpenAIClient.Chat.Completions.ChatCompletionChunk;
type Streaming = OpenAIClient.Chat.ChatCompletionCreateParamsStreaming;
type Whole = OpenAIClient.Chat.ChatCompletionCreateParamsNonStreaming;
type Completion = OpenAIClient.Chat.Completions.ChatCompletion;
type Fields = Record<string, unknown>;

/** Reasoning to send back, by the id of the first call of its message. */
type ReasoningByCall = ReadonlyMap<string, string>;

interface RequestOptions extends OpenAIClient.RequestOptions {
  readonly sentReasoning?: ReasoningByCall;
}

/**
 * Chat completions of OpenAI and of servers that are not quite like it: replies without a role, text in parts, reasoning
 * under several names, calls without an index. Streams have to end as the protocol says; a connection that is closed
 * politely in the middle of a stream looks like its end otherwise, and half an answer like a whole one.
 */
export class WholeCompletions extends ChatOpenAICompletions {
  override completionWithRetry(
    request: Streaming,
    options?: RequestOptions,
  ): Promise<AsyncIterable<Chunk>>;
  override completionWithRetry(request: Whole, options?: RequestOptions): Promise<Completion>;
  override async completionWithRetry(
    request: Streaming | Whole,
    { sentReasoning, ...options }: RequestOptions = {},
  ): Promise<AsyncIterable<Chunk> | Completion> {
    const asked = sentReasoning === undefined ? request : withSent(request, sentReasoning);
    if (asked.stream !== true) {
      const completion = await super.completionWithRetry(asked, options);
      for (const { message } of completion.choices ?? []) normalise(message as unknown as Fields);
      return completion;
    }
    const chunks = await super.completionWithRetry(asked, options).catch((thrown: unknown) => {
      if (!/stream_options|include_usage/.test(errorMessage(thrown))) throw thrown;
      // Servers of an older protocol report no usage of streams, and refuse to be asked for it.
      this.streamUsage = false;
      const { stream_options: _refused, ...rest } = asked;
      return super.completionWithRetry(rest, options);
    });
    return untilFinished(chunks, options.signal);
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ) {
    const given = { ...options, sentReasoning: reasoningIn(messages) };
    yield* super._streamResponseChunks(messages, given, runManager);
  }

  protected override _convertCompletionsDeltaToBaseMessageChunk(
    ...given: Parameters<ChatOpenAICompletions["_convertCompletionsDeltaToBaseMessageChunk"]>
  ) {
    const chunk = super._convertCompletionsDeltaToBaseMessageChunk(...given);
    return AIMessageChunk.isInstance(chunk) ? withRefusal(chunk, given[0]) : chunk;
  }

  /**
   * LangChain prints an advertisement of its packages if no call of a message can be parsed. The original calls, which
   * cause it, are left out of such a message; its invalid calls have the same text.
   */
  protected override _convertCompletionsMessageToBaseMessage(
    message: Completion["choices"][number]["message"],
    response: Completion,
  ): BaseMessage {
    const fields = message as unknown as Fields;
    const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
    if (calls.length === 0 || calls.some((call) => isJson(call.function.arguments))) {
      const whole = super._convertCompletionsMessageToBaseMessage(message, response);
      return withRefusal(whole, fields);
    }
    const { tool_calls: _unreadable, ...others } = message;
    const made = super._convertCompletionsMessageToBaseMessage(others, response);
    if (AIMessage.isInstance(made)) {
      made.invalid_tool_calls = calls.map(({ id, function: { name, arguments: args } }) => ({
        type: "invalid_tool_call",
        id,
        name,
        args,
        error: "The arguments are not valid JSON.",
      }));
    }
    return withRefusal(made, fields);
  }
}

/** LangChain reads no refusals. */
function withRefusal<Message extends BaseMessage>(message: Message, { refusal }: Fields): Message {
  if (typeof refusal === "string" && refusal !== "") message.additional_kwargs["refusal"] = refusal;
  return message;
}

/** Servers that send `reasoning_content` with calls expect it back with their results, and some refuse it elsewhere. */
function reasoningIn(messages: readonly BaseMessage[]): ReasoningByCall {
  const found = new Map<string, string>();
  for (const message of messages) {
    if (!AIMessage.isInstance(message)) continue;
    const text: unknown = message.additional_kwargs["reasoning_content"];
    const id = message.tool_calls?.[0]?.id;
    if (typeof text === "string" && text !== "" && id !== undefined) found.set(id, text);
  }
  return found;
}

function withSent<Request extends Streaming | Whole>(
  request: Request,
  sent: ReasoningByCall,
): Request {
  if (sent.size === 0) return request;
  const messages = request.messages.map((message) => {
    const id = message.role === "assistant" ? message.tool_calls?.[0]?.id : undefined;
    const reasoning_content = id === undefined ? undefined : sent.get(id);
    return reasoning_content === undefined ? message : { ...message, reasoning_content };
  });
  return { ...request, messages };
}

/** @throws BrokenStream when the stream ends before any choice has a finish reason, unless the caller ended it */
async function* untilFinished(
  chunks: AsyncIterable<Chunk>,
  signal: AbortSignal | null | undefined,
): AsyncGenerator<Chunk> {
  const index = callIndexes();
  let isBegun = false;
  let isFinished = false;
  for await (const chunk of chunks) {
    isBegun = true;
    const choices = chunk.choices ?? [];
    // Some servers send figures with every chunk; alone they are the last one.
    const isLast = chunk.usage != null && choices.length === 0;
    isFinished ||= isLast || choices.some((choice) => choice.finish_reason);
    for (const { delta } of chunk.choices ?? []) {
      if (!isRecord(delta)) continue;
      normalise(delta);
      index(delta);
    }
    yield chunk;
  }
  if (isBegun && !isFinished && signal?.aborted !== true) {
    throw new BrokenStream("The stream ended before the reply was finished");
  }
}

/** Puts a message, or a part of one, in OpenAI's own form, in place. */
function normalise(message: Fields): void {
  const { content, reasoning } = message;
  // Replies have no other role; some servers leave it out, or have names of their own.
  message["role"] = "assistant";
  if (typeof message["reasoning_content"] !== "string") {
    delete message["reasoning_content"];
    if (typeof reasoning === "string") message["reasoning_content"] = reasoning;
  }
  if (!Array.isArray(content)) {
    if (content != null && typeof content !== "string") message["content"] = "";
    return;
  }
  const parts = content.filter(isRecord);
  message["content"] = parts.map(textIn).join("");
  const thought = parts.map(thoughtIn).join("");
  if (thought !== "") {
    message["reasoning_content"] =
      `${(message["reasoning_content"] as string | undefined) ?? ""}${thought}`;
  }
  const refusals = parts.flatMap(({ refusal }) => (typeof refusal === "string" ? [refusal] : []));
  if (refusals.length > 0) message["refusal"] = refusals.join("");
}

function textIn({ type, text }: Fields): string {
  const isText = type === undefined || type === "text" || type === "output_text";
  return isText && typeof text === "string" ? text : "";
}

/** Mistral's form. */
function thoughtIn({ type, thinking }: Fields): string {
  if (type !== "thinking") return "";
  if (typeof thinking === "string") return thinking;
  return Array.isArray(thinking) ? thinking.filter(isRecord).map(textIn).join("") : "";
}

/** Returns a function that numbers the calls of one stream where its server does not: each new id is a new call. */
function callIndexes(): (delta: Fields) => void {
  const known: string[] = [];
  return ({ tool_calls: calls }) => {
    if (!Array.isArray(calls)) return;
    for (const call of calls.filter(isRecord)) {
      const { id, index } = call;
      if (typeof index === "number") continue;
      if (typeof id === "string" && !known.includes(id)) known.push(id);
      call["index"] = typeof id === "string" ? known.indexOf(id) : Math.max(0, known.length - 1);
    }
  };
}

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import type { Reasoning } from "../../state/usage.ts";
import type { ModelRequest, ModelTool, StructuredAnswer } from "../agent-model.ts";
import { BadReply, classifyFailure, WithheldReply } from "../failure.ts";
import { readReplyEnd } from "../replies/finish-reason.ts";
import type { Price } from "../usage/prices.ts";
import { plainMessage } from "../replies/plain-message.ts";
import { replyOf } from "../replies/reply-events.ts";
import { readReasoning, withSentReasoning } from "../replies/reasoning.ts";
import type { RequestAdapter } from "../provider.ts";
import { type SilenceLimits, TokenWatch } from "./token-watch.ts";

/** One LangChain chat model under its name, without retries or fallback. */
export interface ChatModel {
  /** `provider:model`. */
  readonly ref: string;
  /** The provider and its server, which fail together. */
  readonly provider: string;
  readonly toolCalling: boolean;
  /** Null where it is not known. */
  readonly price: Price | null;
  readonly limits: SilenceLimits;
  /**
   * One request; the messages array is passed on as it is.
   * @throws whatever the model throws, BadReply, SilentModel, WithheldReply, or the signal's reason as soon as it aborts
   */
  ask(request: ModelRequest, config: RunnableConfig, watch: TokenWatch): Promise<ChatReply>;
  /** Watches a request: it is streamed where the model can, so that its silence is noticed. */
  watch(of: {
    readonly clock: Clock;
    readonly signal: AbortSignal | undefined;
    readonly limits: SilenceLimits;
    readonly onSlow: () => void;
  }): TokenWatch;
}

/** A reply as it came, read. */
export interface ChatReply {
  readonly message: AIMessage;
  readonly finish: "stop" | "length";
  readonly reasoning: Reasoning | null;
}

export interface ChatModelOptions {
  readonly ref: string;
  /** Default: the provider of `ref`. */
  readonly provider?: string;
  /** Default: whether the model has `bindTools`. Set it to false for a served model that does not take tools. */
  readonly toolCalling?: boolean;
  readonly price: Price | null;
  /** Default: no limits. */
  readonly limits?: SilenceLimits;
  /** Whether requests are streamed even if nothing reads their tokens. Default false. */
  readonly streams?: boolean;
  /** How requests are put in the provider's own words. */
  readonly adapter?: RequestAdapter | undefined;
}

const noLimits: SilenceLimits = { firstTokenMs: null, betweenTokensMs: null };

/** The part of a runnable that is used here. */
interface Invocable {
  invoke(input: BaseMessage[], config?: RunnableConfig): Promise<BaseMessage>;
}

export function chatModel(chat: BaseChatModel, options: ChatModelOptions): ChatModel {
  const { ref, adapter } = options;
  const bound = new WeakMap<object, Invocable>();
  const toolCalling = options.toolCalling ?? typeof chat.bindTools === "function";
  let forcesAnswers = toolCalling;

  function boundOnce(key: object, make: () => Invocable | undefined): Invocable {
    const known = bound.get(key);
    if (known !== undefined) return known;
    const made = make() ?? chat;
    bound.set(key, made);
    return made;
  }

  function withTools(tools: readonly ModelTool[] | undefined): Invocable {
    if (tools === undefined || tools.length === 0 || !toolCalling) return chat;
    return boundOnce(tools, () => chat.bindTools?.(tools.map(functionTool)));
  }

  /** Of one function "any" is this one, and more servers understand it than its name: LM Studio refuses that, llama.cpp ignores it. */
  function forcedTo(answer: StructuredAnswer): Invocable {
    return boundOnce(answer, () => {
      const { name, description, schema } = answer;
      const tool = functionTool({ name, description, input_schema: schema });
      return chat.bindTools?.([tool], { tool_choice: "any" });
    });
  }

  async function invoke(request: ModelRequest, config: RunnableConfig): Promise<BaseMessage> {
    const { answer } = request;
    // `invoke` reads the array and never writes to it; its type is wider than that.
    const messages = withSentReasoning(request.messages, request.reasoning, ref) as BaseMessage[];
    if (answer === undefined) {
      const asked = { ...config, ...adapter?.options(request) };
      try {
        return await withTools(request.tools).invoke(messages, asked);
      } catch (thrown) {
        // A server that refuses the form of an answer may still follow the prompt.
        if (request.format === undefined || adapter?.refused(thrown) !== true) throw thrown;
        return withTools(request.tools).invoke(messages, {
          ...config,
          ...adapter.options(request),
        });
      }
    }
    if (!forcesAnswers || !isObjectSchema(answer.schema)) return chat.invoke(messages, config);
    try {
      return await forcedTo(answer).invoke(messages, config);
    } catch (thrown) {
      if (!refusesFunctions(thrown)) throw thrown;
      const message = await chat.invoke(messages, config);
      forcesAnswers = false;
      return message;
    }
  }

  return {
    ref,
    provider: options.provider ?? ref.slice(0, ref.indexOf(":")),
    toolCalling,
    price: options.price,
    limits: options.limits ?? noLimits,
    watch: (of) => new TokenWatch({ ...of, streams: options.streams ?? false }),
    async ask(request, config, watch) {
      const message = await watch.watch(config, (watched) => invoke(request, watched));
      return readChatReply(message);
    },
  };
}

/** @throws BadReply, WithheldReply */
function readChatReply(received: BaseMessage | undefined): ChatReply {
  const message = plainMessage(replyOf(checkReply(received)));
  const { reason, refusal } = readReplyEnd(message);
  if (reason === "refusal" || reason === "content_filter") {
    throw new WithheldReply(reason, refusal, message);
  }
  return { message, finish: reason, reasoning: readReasoning(message) };
}

/** The form of a tool that every provider's `bindTools` takes. */
function functionTool(tool: ModelTool) {
  return {
    type: "function" as const,
    function: { name: tool.name, description: tool.description, parameters: tool.input_schema },
  };
}

function isObjectSchema(schema: StructuredAnswer["schema"]): boolean {
  return schema["type"] === "object";
}

/** Some served models take no tools, or none that they have to call, and only say so when they are asked. */
function refusesFunctions(thrown: unknown): boolean {
  return (
    classifyFailure(thrown).reason === "bad_request" && /tool|function/i.test(errorMessage(thrown))
  );
}

/** A message without text or calls is a reply like any other: what to make of it is the caller's business. */
function checkReply(message: BaseMessage | undefined): AIMessage {
  if (message?.type !== "ai") {
    throw new BadReply(`Expected an assistant message, got ${message?.type ?? "nothing"}`);
  }
  return message as AIMessage;
}

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { ModelRequest, ModelTool } from "./agent-model.ts";
import { BadReply } from "./failure.ts";
import type { Price } from "./prices.ts";

/** One LangChain chat model under its name, without retries or fallback. */
export interface ChatModel {
  /** `provider:model`. */
  readonly ref: string;
  readonly toolCalling: boolean;
  readonly price: Price;
  /**
   * One request; the messages array is passed on as it is.
   * @throws whatever the model throws, BadReply, or the signal's reason as soon as it aborts
   */
  ask(request: ModelRequest, config: RunnableConfig): Promise<AIMessage>;
}

export interface ChatModelOptions {
  readonly ref: string;
  /** Default: whether the model has `bindTools`. Set it to false for a served model that does not take tools. */
  readonly toolCalling?: boolean;
  readonly price: Price;
}

/** The part of a runnable that is used here. */
interface Invocable {
  invoke(input: BaseMessage[], config?: RunnableConfig): Promise<BaseMessage>;
}

export function chatModel(chat: BaseChatModel, options: ChatModelOptions): ChatModel {
  const bound = new WeakMap<readonly ModelTool[], Invocable>();
  const toolCalling = options.toolCalling ?? typeof chat.bindTools === "function";

  function withTools(tools: readonly ModelTool[] | undefined): Invocable {
    if (tools === undefined || tools.length === 0 || !toolCalling) return chat;
    const known = bound.get(tools);
    if (known !== undefined) return known;
    const made: Invocable = chat.bindTools?.(tools.map(functionTool)) ?? chat;
    bound.set(tools, made);
    return made;
  }

  return {
    ref: options.ref,
    toolCalling,
    price: options.price,
    async ask(request, config) {
      // `invoke` reads the array and never writes to it; its type is wider than that.
      const messages = request.messages as BaseMessage[];
      const asked = withTools(request.tools).invoke(messages, config);
      const message = await (config.signal === undefined
        ? asked
        : untilAborted(asked, config.signal));
      return checkReply(message);
    },
  };
}

/** The form of a tool that every provider's `bindTools` takes. */
function functionTool(tool: ModelTool) {
  return {
    type: "function" as const,
    function: { name: tool.name, description: tool.description, parameters: tool.input_schema },
  };
}

/** A message without text or calls is a reply like any other: what to make of it is the caller's business. */
function checkReply(message: BaseMessage | undefined): AIMessage {
  if (message?.type !== "ai") {
    throw new BadReply(`Expected an assistant message, got ${message?.type ?? "nothing"}`);
  }
  return message as AIMessage;
}

/** Not every model listens to its signal; the caller is let go at once either way. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

import { abortable } from "../async.ts";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { errorMessage } from "../errors.ts";
import type { ModelRequest, ModelTool, StructuredAnswer } from "./agent-model.ts";
import { BadReply, classifyFailure } from "./failure.ts";
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
    // `invoke` reads the array and never writes to it; its type is wider than that.
    const messages = request.messages as BaseMessage[];
    const { answer } = request;
    if (answer === undefined) return withTools(request.tools).invoke(messages, config);
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
    ref: options.ref,
    toolCalling,
    price: options.price,
    async ask(request, config) {
      const asked = invoke(request, config);
      const message = await (config.signal === undefined ? asked : abortable(asked, config.signal));
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

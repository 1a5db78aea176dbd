import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { Runnable } from "@langchain/core/runnables";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { AgentModel, ModelTool } from "../../../src/models/agent-model.ts";
import type { LlmConfig } from "../../../src/definition/schema/agent.ts";
import { createModels, type CreateModelsOptions } from "../../../src/models/create-models.ts";
import type { Env, ModelOptions } from "../../../src/models/provider.ts";
import { builtinProviders } from "../../../src/models/providers/index.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import type { DialectName, WireServer } from "../../helpers/wire/server.ts";

/** A model of each provider, and the variable that says where it is. */
const served: Readonly<
  Record<DialectName, { readonly model: string; readonly variable: string; readonly path?: string }>
> = {
  openai: { model: "gpt-4o-mini", variable: "OPENAI_BASE_URL", path: "/v1" },
  anthropic: { model: "claude-sonnet-4-5", variable: "ANTHROPIC_BASE_URL" },
  google: { model: "gemini-2.5-flash", variable: "GOOGLE_GEMINI_BASE_URL" },
  mistral: { model: "mistral-small-latest", variable: "MISTRAL_BASE_URL" },
  groq: { model: "openai/gpt-oss-120b", variable: "GROQ_BASE_URL" },
  ollama: { model: "qwen3", variable: "OLLAMA_BASE_URL" },
  bedrock: {
    model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    variable: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
  },
};

const keys = {
  OPENAI_API_KEY: "sk-test-0123456789abcdef",
  ANTHROPIC_API_KEY: "sk-ant-0123456789abcdef",
  GOOGLE_API_KEY: "AIza0123456789abcdef",
  MISTRAL_API_KEY: "mistral-0123456789abcdef",
  GROQ_API_KEY: "gsk_0123456789abcdef",
  AWS_ACCESS_KEY_ID: "AKIA0123456789ABCDEF",
  AWS_SECRET_ACCESS_KEY: "aws-0123456789abcdef",
  AWS_REGION: "us-east-1",
};

export const messages = [new HumanMessage("What is 6 * 7?")];

export const calculator: ModelTool = {
  name: "calculator",
  description: "Evaluates an expression.",
  input_schema: {
    type: "object",
    properties: { expression: { type: "string" } },
    required: ["expression"],
  },
};

export function refOf(provider: DialectName): string {
  return `${provider}:${served[provider].model}`;
}

/** The keys, and the address of every provider. */
export function envOn(server: WireServer): Env {
  const urls = Object.entries(served).map(([provider, { variable, path = "" }]) => [
    variable,
    `${server.url(provider as DialectName)}${path}`,
  ]);
  return { ...keys, ...Object.fromEntries(urls) };
}

/** The provider's chat model, as agents get it, without retries or a fallback. */
export function chatOn(
  provider: DialectName,
  server: WireServer,
  options: ModelOptions = {},
): Promise<BaseChatModel> {
  const { model } = served[provider];
  const env = envOn(server);
  const made = builtinProviders[provider]?.create({
    model,
    options,
    env,
    clock: new ManualClock(),
  });
  return made ?? Promise.reject(new Error(`There is no provider ${provider}`));
}

export function modelOn(
  provider: DialectName,
  server: WireServer,
  {
    config = {},
    clock = new ManualClock(),
    ...options
  }: Partial<CreateModelsOptions> & { readonly config?: LlmConfig } = {},
): Promise<AgentModel> {
  const models = createModels({ env: envOn(server), clock, maxRetries: 0, ...options });
  return models.resolve({ default_model: refOf(provider), ...config });
}

export function withTools(chat: BaseChatModel, tools: readonly ModelTool[]): Runnable {
  const bound = chat.bindTools?.(
    tools.map(({ name, description, input_schema: parameters }) => ({
      type: "function" as const,
      function: { name, description, parameters },
    })),
  );
  return bound ?? chat;
}

export const ways = ["whole", "streamed"] as const;
export type Way = (typeof ways)[number];

/** The reply, and the texts that were streamed before it. */
export async function ask(
  way: Way,
  chat: Runnable,
  asked: readonly BaseMessage[] = messages,
): Promise<{ readonly message: AIMessage; readonly tokens: readonly string[] }> {
  if (way === "whole") return { message: (await chat.invoke([...asked])) as AIMessage, tokens: [] };
  const graph = new StateGraph(Annotation.Root({ reply: Annotation<AIMessage> }))
    .addNode("reason", async (_, config) => ({
      reply: (await chat.invoke([...asked], config)) as AIMessage,
    }))
    .addEdge(START, "reason")
    .addEdge("reason", END)
    .compile();
  const tokens: string[] = [];
  let message = new AIMessage("");
  const stream = await graph.stream({}, { streamMode: ["messages", "values"] });
  for await (const [mode, chunk] of stream) {
    if (mode === "messages") tokens.push(chunk[0].text);
    else message = (chunk as { readonly reply: AIMessage }).reply;
  }
  return { message, tokens: tokens.filter((token) => token !== "") };
}

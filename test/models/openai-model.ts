import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { AgentModel, ModelTool, StructuredAnswer } from "../../src/models/agent-model.ts";
import { createModels } from "../../src/models/create-models.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import type { OpenAIServer } from "../helpers/openai-server.ts";

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
export const key = "sk-test-0123456789abcdef";

export function modelOn(
  server: OpenAIServer,
  options: { fallback?: string; maxRetries?: number; clock?: ManualClock } = {},
): Promise<AgentModel> {
  const clock = options.clock ?? new ManualClock();
  const models = createModels({
    env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url },
    clock,
    maxRetries: options.maxRetries ?? 0,
    random: () => 0.5,
  });
  return models.resolve({
    default_model: "openai:gpt-4o-mini",
    ...(options.fallback !== undefined && { fallback_model: options.fallback }),
  });
}

/** Runs the model inside a LangGraph graph whose messages are streamed, and gives the tokens. */
export async function streamed(
  model: AgentModel,
  tools?: readonly ModelTool[],
  answer?: StructuredAnswer,
) {
  const State = Annotation.Root({ reply: Annotation<unknown> });
  const graph = new StateGraph(State)
    .addNode("reason", async (_, config) => ({
      reply: await model.call(
        { messages, ...(tools && { tools }), ...(answer && { answer }) },
        config,
      ),
    }))
    .addEdge(START, "reason")
    .addEdge("reason", END)
    .compile();
  const tokens: string[] = [];
  let reply: unknown;
  const stream = await graph.stream({}, { streamMode: ["messages", "values"] });
  for await (const [mode, chunk] of stream) {
    if (mode === "messages") tokens.push(chunk[0].text);
    else reply = chunk.reply;
  }
  return { tokens: tokens.filter((token) => token !== ""), reply };
}

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  END,
  MessagesAnnotation,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { compileAgent, createRuntime, defineAgent, defineTool } from "../../src/index.ts";
import type { AgentSpecInput } from "../../src/definition/schema/agent.ts";
import { fromChatModel } from "../../src/models/calls/from-chat-model.ts";
import type { InstantModel } from "./instant-model.ts";

/** Where checkpoints go, and whether each is waited for. */
export interface Saving {
  readonly saver: BaseCheckpointSaver;
  readonly durability: "sync" | "async";
}

/** Makes an agent loop on a model; what it returns runs one turn, on a thread of its own where there is a saver. */
export type Loop = (model: InstantModel, saving?: Saving) => Promise<() => Promise<void>>;

const schema = z.object({ text: z.string() });
const unlimited = 1_000_000;
let threads = 0;

function config(saving: Saving | undefined) {
  threads += 1;
  return {
    recursionLimit: unlimited,
    ...(saving && {
      durability: saving.durability,
      configurable: { thread_id: `bench-${threads}-${process.pid}` },
    }),
  };
}

/** What one writes by hand: two nodes, a conditional edge, messages as the only state. */
export const rawLangGraph: Loop = async (model, saving) => {
  const echo = tool(({ text }) => text, { name: "echo", description: "Echoes.", schema });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("reason", async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addNode("tools", async (state) => {
      const last = state.messages.at(-1) as AIMessage;
      const messages = await Promise.all(
        (last.tool_calls ?? []).map(
          async (call) =>
            new ToolMessage({
              tool_call_id: call.id ?? "",
              content: await echo.invoke(call.args as { text: string }),
            }),
        ),
      );
      return { messages };
    })
    .addEdge(START, "reason")
    .addConditionalEdges(
      "reason",
      (state) => ((state.messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END),
      ["tools", END],
    )
    .addEdge("tools", "reason")
    .compile(saving ? { checkpointer: saving.saver } : {});
  return async () => {
    await graph.invoke({ messages: [new HumanMessage("go")] }, config(saving));
  };
};

export const langchainAgent: Loop = async (model, saving) => {
  const echo = tool(({ text }) => text, { name: "echo", description: "Echoes.", schema });
  const agent = createAgent({
    model,
    tools: [echo],
    ...(saving && { checkpointer: saving.saver }),
  });
  return async () => {
    await agent.invoke({ messages: [new HumanMessage("go")] }, config(saving));
  };
};

type Shape = Partial<Pick<AgentSpecInput, "workflow_graph" | "context_config">>;

export const stratagraph: Loop = (model, saving) => agentLoop(model, saving, {});

const workflow: Shape = {
  workflow_graph: {
    entry_point: "ask",
    nodes: [
      { name: "ask", type: "llm" },
      { name: "run", type: "tool" },
    ],
    edges: [
      { from: "ask", to: "run", condition: "size(last.tool_calls) > 0" },
      { from: "ask", to: "END" },
      { from: "run", to: "ask" },
    ],
  },
};

/** The same loop as a workflow graph: an llm node and a tool node that runs its calls. */
export const stratagraphWorkflow: Loop = (model, saving) => agentLoop(model, saving, workflow);

/** The two loops with contexts of at most so many tokens; Infinity for contexts that hold everything. */
export function withBudget(budget: number): Record<"loop" | "workflow", Loop> {
  const context_config = budget === Infinity ? { utilization: "full" as const } : { budget };
  const window = budget === Infinity ? 100_000_000 : undefined;
  return {
    loop: (model, saving) => agentLoop(model, saving, { context_config }, window),
    workflow: (model, saving) => agentLoop(model, saving, { ...workflow, context_config }, window),
  };
}

/** @param window tokens of the model's window; default 32,768, which is assumed of unknown models */
async function agentLoop(
  model: InstantModel,
  saving: Saving | undefined,
  shape: Shape,
  window?: number,
): Promise<() => Promise<void>> {
  const definition = defineAgent({
    ...shape,
    name: "bench",
    tools: [
      defineTool({
        name: "echo",
        description: "Echoes.",
        input_schema: schema,
        handler: ({ text }) => text,
      }),
    ],
    execution_config: { max_iterations: unlimited, timeout_seconds: 3600 },
  });
  const modelOptions = { ref: "bench:instant", ...(window !== undefined && { window }) };
  const runtime = await createRuntime({
    checkpointer: saving?.saver ?? false,
    models: { resolve: async () => fromChatModel(model, modelOptions) },
  });
  const graph = await compileAgent(definition, runtime);
  return async () => {
    await graph.invoke({ input: { message: "go" } }, config(saving) as never);
  };
}

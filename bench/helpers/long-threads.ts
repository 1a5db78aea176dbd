import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  MessagesAnnotation,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";

/** The members of a compiled graph that are measured. */
export interface MeasuredGraph {
  invoke(input: unknown, config: unknown): Promise<unknown>;
  getState(config: unknown): Promise<{ values: Record<string, unknown>; config: unknown }>;
  getStateHistory(config: unknown, options?: unknown): AsyncIterable<{ config: unknown }>;
  updateState(config: unknown, values: unknown, node?: string): Promise<unknown>;
}

/** A graph of one node that runs once a step. `stepAt` is told when each step begins. */
export type LongThread = (
  steps: number,
  saver: BaseCheckpointSaver | undefined,
  stepAt: (time: number) => void,
) => { readonly graph: MeasuredGraph; readonly input: unknown };

/** A kilobyte of text each, the same in every run: a linear congruential generator picks the letters. */
function kilobyte(seed: number, bytes = 1000): string {
  let state = (seed * 2_654_435_761) >>> 0;
  let text = "";
  while (text.length < bytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${state.toString(36)} `;
  }
  return text.slice(0, bytes);
}

function call(step: number): BaseMessage[] {
  const id = `call-${step}`;
  return [
    new AIMessage({
      id: `ai-${step}`,
      content: kilobyte(2 * step),
      tool_calls: [{ id, name: "search", args: { step } }],
    }),
    new ToolMessage({ id: `tool-${step}`, tool_call_id: id, content: kilobyte(2 * step + 1) }),
  ];
}

/** Counts steps outside the state: the graph is asked again and again whether it goes on. */
function loop(steps: number, stepAt: (time: number) => void) {
  let step = 0;
  return {
    next: (): number => {
      stepAt(performance.now());
      step += 1;
      return step;
    },
    route: () => (step < steps ? "work" : "__end__"),
  };
}

/** A message and a tool's result of a kilobyte each are added to the list of messages. */
export const messages: LongThread = (steps, saver, stepAt) => {
  const { next, route } = loop(steps, stepAt);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("work", () => ({ messages: call(next()) }))
    .addEdge(START, "work")
    .addConditionalEdges("work", route, ["work", "__end__"])
    .compile({ ...(saver && { checkpointer: saver }) });
  return { graph, input: { messages: [] } };
};

/** The same with LangGraph's delta channel. */
export const deltaMessages: LongThread = (steps, saver, stepAt) => {
  const { next, route } = loop(steps, stepAt);
  const graph = new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
    .addNode("work", () => ({ messages: call(next()) }))
    .addEdge(START, "work")
    .addConditionalEdges("work", route, ["work", "__end__"])
    .compile({ ...(saver && { checkpointer: saver }) });
  return { graph, input: { messages: [] } };
};

/** An object of a megabyte in a thousand keys, of which one small one changes. */
export const largeObject: LongThread = (steps, saver, stepAt) => {
  const { next, route } = loop(steps, stepAt);
  const keys = Array.from({ length: 1000 }, (_, key) => [`document-${key}`, kilobyte(key)]);
  const State = Annotation.Root({
    execution: Annotation<Record<string, unknown>>({
      reducer: (execution, patch) => ({ ...execution, ...patch }),
      default: () => ({}),
    }),
  });
  const graph = new StateGraph(State)
    .addNode("work", () => ({ execution: { count: next() } }))
    .addEdge(START, "work")
    .addConditionalEdges("work", route, ["work", "__end__"])
    .compile({ ...(saver && { checkpointer: saver }) });
  const input = { execution: { count: 0, ...Object.fromEntries(keys) } };
  return { graph, input };
};

/** The last of a hundred messages is replaced. */
export const replacedLast: LongThread = (steps, saver, stepAt) => {
  const { next, route } = loop(steps, stepAt);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("work", () => {
      const [message] = call(next());
      message!.id = "last";
      return { messages: [message!] };
    })
    .addEdge(START, "work")
    .addConditionalEdges("work", route, ["work", "__end__"])
    .compile({ ...(saver && { checkpointer: saver }) });
  const before = Array.from({ length: 50 }, (_, at) => call(100_000 + at)).flat();
  return { graph, input: { messages: before } };
};

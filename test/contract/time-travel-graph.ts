import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  END,
  START,
  StateGraph,
  type BaseCheckpointSaver,
  type StateSnapshot,
} from "@langchain/langgraph";
import { collect } from "../helpers/collect.ts";

const State = Annotation.Root({
  topic: Annotation<string>(),
  left: Annotation<number>(),
  lines: Annotation<string[]>({
    reducer: (lines, added) => [...lines, ...added],
    default: () => [],
  }),
  last: Annotation<string>(),
});

/** A loop that writes one line about the topic a step until none are left, and keeps the last line beside the list. */
export function loopGraph(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("write", ({ topic, left }) => ({
      lines: [`${topic} ${left}`],
      last: `${topic} ${left}`,
      left: left - 1,
    }))
    .addEdge(START, "write")
    .addConditionalEdges("write", ({ left }) => (left > 0 ? "write" : END))
    .compile({ checkpointer });
}

/** The newest state of a thread whose values pass. */
export async function stateWhere(
  graph: ReturnType<typeof loopGraph>,
  thread: RunnableConfig,
  passes: (values: typeof State.State) => boolean,
): Promise<StateSnapshot> {
  const found = (await collect(graph.getStateHistory(thread))).find((state) =>
    passes(state.values as typeof State.State),
  );
  if (!found) throw new Error("The thread has no such state.");
  return found;
}

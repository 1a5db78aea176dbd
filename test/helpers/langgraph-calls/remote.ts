import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import type { Call } from "./call.ts";
import { sum } from "./runs.ts";

const State = Annotation.Root({
  input: Annotation<{ readonly message: string }>,
  output: Annotation<unknown>,
});

export const remoteCalls: readonly Call[] = [
  {
    name: "RemoteGraph.invoke inside of a graph",
    same: "value",
    call: async (client) => {
      const remote = new RemoteGraph({ graphId: "clerk", client });
      const graph = new StateGraph(State)
        .addNode("clerk", remote)
        .addEdge(START, "clerk")
        .compile();
      const { output } = await graph.invoke(sum.input);
      return output;
    },
  },
  {
    name: "RemoteGraph.stream, getState and getStateHistory",
    same: "shape",
    call: async (client) => {
      const remote = new RemoteGraph({ graphId: "clerk", client });
      const { thread_id } = await client.threads.create();
      const config = { configurable: { thread_id } };
      const updates = [];
      for await (const update of await remote.stream(sum.input, {
        ...config,
        streamMode: "updates",
      }))
        updates.push(update);
      const { values, next } = await remote.getState(config);
      const history = [];
      for await (const state of remote.getStateHistory(config)) history.push(state.next);
      return { updates, values, next, history };
    },
  },
  {
    name: "RemoteGraph.getGraphAsync",
    same: "value",
    call: async (client) => {
      const remote = new RemoteGraph({ graphId: "office", client });
      const { edges } = await remote.getGraphAsync({ xray: true });
      return edges.map(({ source, target, conditional }) => [source, target, conditional]);
    },
  },
];

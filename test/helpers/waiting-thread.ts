import { Command, type BaseCheckpointSaver } from "@langchain/langgraph";
import { compileAgent, type AgentDefinition } from "../../src/index.ts";
import { cancellable } from "../../src/compile/run/run-config.ts";
import type { GraphState } from "../../src/state/channels.ts";
import type { HumanRequest, PendingRequest } from "../../src/state/human-request.ts";
import { testRuntime } from "./run-agent.ts";
import type { ScriptedReply } from "./scripted-model.ts";

/**
 * One thread of an agent that waits for people, driven through its plain graph, as inside of a graph that is not ours:
 * answers come to the nodes unchecked.
 */
export async function waitingThread<Input, Output, Exec, Attempt>(
  agent: AgentDefinition<Input, Output, Exec, Attempt>,
  script: readonly ScriptedReply[] = [],
  options: { checkpointer?: BaseCheckpointSaver } = {},
) {
  const test = await testRuntime(script, options);
  const graph = await compileAgent(agent, test.runtime);
  Reflect.deleteProperty(graph, "stream");
  const config = { configurable: { thread_id: "t" } };
  const state = async () => (await graph.getState(config)).values as GraphState;
  /** LangGraph keeps the interrupts of tasks that have been answered and have ended: those have written something. */
  const waiting = async (): Promise<PendingRequest[]> => {
    const tuple = await (graph.checkpointer as BaseCheckpointSaver).getTuple(config);
    const writes = tuple?.pendingWrites ?? [];
    const ended = new Set(
      writes.filter(([, channel]) => !isOfInterrupt(channel)).map(([task]) => task),
    );
    return writes.flatMap(([task, channel, value]) => {
      if (channel !== "__interrupt__" || ended.has(task)) return [];
      const interrupts = value as readonly { id: string; value: HumanRequest }[];
      return interrupts.map(({ id, value: request }) => ({ id, ...request }));
    });
  };
  /** Runs the graph until it stops, and gives the state that is stored then. */
  const run = async (input: unknown, over: object = config) => {
    await graph.invoke(input as never, over);
    return state();
  };
  return {
    ...test,
    state,
    waiting,
    /** The one request that waits. */
    async request() {
      const [request, ...others] = await waiting();
      if (request === undefined || others.length > 0) {
        throw new Error(`${others.length + (request ? 1 : 0)} requests wait.`);
      }
      return request;
    },
    start: (message = "go") => run({ input: { message } }),
    /** A bare answer. */
    answer: (answer: unknown) => run(new Command({ resume: answer })),
    /** Answers by the name of the node that waits. */
    async answerNodes(answers: Readonly<Record<string, unknown>>) {
      const requests = await waiting();
      const entries = requests
        .filter(({ node }) => Object.hasOwn(answers, node))
        .map(({ id, node }) => [id, answers[node]]);
      return run(new Command({ resume: Object.fromEntries(entries) as Record<string, unknown> }));
    },
    /** Runs it again without an answer. */
    again: () => run(null),
    cancel: () => run(null, cancellable(config, AbortSignal.abort())),
  };
}

function isOfInterrupt(channel: string): boolean {
  return channel === "__interrupt__" || channel === "__resume__";
}
